import {
  type ArgumentsHost,
  Catch,
  ConflictException,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  type MiddlewareConsumer,
  Module,
  Res,
  UseFilters,
  UseGuards,
} from '@nestjs/common'
import { APP_FILTER } from '@nestjs/core'
import { describe, expect, test, vi } from 'vitest'
import {
  enforce,
  TokenExceptionFilter,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { TokenExpiredError, toErrorResponse } from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'
import { PLATFORMS, serve, type ServeOptions } from '../helpers/nest.js'

const { tokens, clock } = createManager({ JWT_ERROR_MESSAGE_KEY: 'detail' })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1

@Controller()
class Routes {
  @Get()
  @UseGuards(enforce(tokens.accessTokenRequired))
  guarded() {
    return 'ran'
  }
  @Get('fails')
  fails() {
    throw new Error('a bug')
  }
  @Get('conflict')
  conflict() {
    throw new ConflictException('already there')
  }
  @Get('late')
  late(@Res() response: { raw?: LateResponse } & LateResponse) {
    ;(response.raw ?? response).write('begun')
    throw new TokenExpiredError(0)
  }
}

interface LateResponse {
  write(text: string): void
}

@Catch(HttpException)
class OwnFilter implements ExceptionFilter<HttpException> {
  catch(error: HttpException, host: ArgumentsHost) {
    const response = host.switchToHttp().getResponse<{ status(code: number): { send(body: object): void } }>()
    response.status(error.getStatus()).send({ own: true })
  }
}

const globally = (...filters: ExceptionFilter[]): ServeOptions => ({
  setUp: (app) => void app.useGlobalFilters(...filters),
})

describe.each(PLATFORMS)('on %s', (platform) => {
  test('without the filter a token error is the 500 of any other error', async () => {
    const { send } = await serve([Routes], { platform })
    const answers = [await send('/fails')]
    for (const init of [{}, { token: 'bad' }, { token: OLD }]) answers.push(await send('/', init))
    for (const response of answers) {
      expect(response.status).toBe(500)
      expect(response.headers.get('www-authenticate')).toBeNull()
      await expect(response.json()).resolves.toEqual({ statusCode: 500, message: 'Internal server error' })
    }
  })

  const ways: [way: string, options: ServeOptions][] = [
    ['useGlobalFilters', globally(new TokenExceptionFilter({ config: tokens.config }))],
    [
      'APP_FILTER, the configuration from the container',
      {
        imports: [TokenModule.forRoot({ tokens })],
        providers: [{ provide: APP_FILTER, useClass: TokenExceptionFilter }],
      },
    ],
  ]
  test.each(ways)('with %s it is the answer of toErrorResponse', async (_, options) => {
    const { send } = await serve([Routes], { ...options, platform })
    const response = await send('/', { token: OLD })
    const { status, headers, body } = toErrorResponse(new TokenExpiredError(0), { config: tokens.config })
    expect(response.status).toBe(status)
    for (const [name, value] of Object.entries(headers)) expect(response.headers.get(name)).toBe(value)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    await expect(response.text()).resolves.toBe(JSON.stringify(body))
    expect(body).toHaveProperty('detail')
    await expect((await send('/', { token: TOKEN })).text()).resolves.toBe('ran')
  })

  test('APP_FILTER works without a manager in the container, and with options of its own', async () => {
    const bare = await serve([Routes], {
      platform,
      providers: [{ provide: APP_FILTER, useClass: TokenExceptionFilter }],
    })
    await expect((await bare.send('/')).json()).resolves.toHaveProperty('message')
    const options = { realm: 'shop', messages: { TOKEN_MISSING: 'Log in first' } }
    const own = await serve([Routes], {
      platform,
      providers: [{ provide: APP_FILTER, useValue: new TokenExceptionFilter(options) }],
    })
    const response = await own.send('/')
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="shop"')
    await expect(response.json()).resolves.toMatchObject({ message: 'Log in first' })
  })

  test('can be given to one route alone', async () => {
    @Controller()
    class OneRoute extends Routes {
      @Get('one')
      @UseFilters(TokenExceptionFilter)
      @UseGuards(enforce(tokens.accessTokenRequired))
      one() {}
    }
    const { send } = await serve([OneRoute], { platform })
    expect([(await send('/one')).status, (await send('/')).status]).toEqual([401, 500])
  })

  test.each([
    ['before', [new OwnFilter(), new TokenExceptionFilter()]],
    ['after', [new TokenExceptionFilter(), new OwnFilter()]],
  ])("leaves other errors to the application's filters, registered %s it", async (_, filters) => {
    const { send } = await serve([Routes], { ...globally(...filters), platform })
    await expect((await send('/conflict')).json()).resolves.toEqual({ own: true })
    expect((await send('/')).status).toBe(401)
  })

  test('answers for middleware as well', async () => {
    @Module({ controllers: [Routes] })
    class GuardedModule {
      configure(consumer: MiddlewareConsumer) {
        const guard = async (request: { headers: object }, _: unknown, next: () => void) => {
          await tokens.accessTokenRequired(request as never)
          next()
        }
        consumer.apply(guard).forRoutes('fails')
      }
    }
    const { send } = await serve([], {
      ...globally(new TokenExceptionFilter()),
      imports: [GuardedModule],
      platform,
    })
    const response = await send('/fails')
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="api"')
    await expect(response.json()).resolves.toMatchObject({ code: 'TOKEN_MISSING' })
    expect((await send('/fails', { token: TOKEN })).status).toBe(500)
  })

  test('ends an answer that has begun, and fails at nothing', async () => {
    const error = vi.fn()
    const setUp: ServeOptions['setUp'] = (app) => {
      app.useLogger({ log() {}, warn() {}, error })
      app.useGlobalFilters(new TokenExceptionFilter())
    }
    const { send } = await serve([Routes], { setUp, platform })
    await expect((await send('/late')).text()).resolves.toBe('begun')
    expect(error).not.toHaveBeenCalled()
  })
})

test("Express' settings for JSON do not change the answer", async () => {
  const { send } = await serve([Routes], {
    setUp(app) {
      app.useGlobalFilters(new TokenExceptionFilter())
      const express = app.getHttpAdapter().getInstance() as { set(name: string, value: unknown): void }
      express.set('json spaces', 2)
    },
  })
  await expect((await send('/')).text()).resolves.toMatch(/^\{"message":"[^"]+","error_type"/)
})
