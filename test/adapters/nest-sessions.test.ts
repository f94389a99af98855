import {
  Controller,
  Get,
  Inject,
  Injectable,
  type INestApplication,
  Module,
  type NestInterceptor,
  RequestMethod,
  SetMetadata,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
  Version,
  VersioningType,
} from '@nestjs/common'
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, Reflector, RouterModule } from '@nestjs/core'
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger'
import { map, of, tap } from 'rxjs'
import { describe, expect, test } from 'vitest'
import {
  SessionController,
  SessionModule,
  TokenExceptionFilter,
  TokenGuard,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { createRevocable } from '../helpers/revocable.js'
import { PLATFORMS, serve, type ServeOptions } from '../helpers/nest.js'

const BEARER = { JWT_TOKEN_LOCATION: 'headers' } as const
const COOKIES = { JWT_TOKEN_LOCATION: ['cookies', 'headers'], JWT_COOKIE_SECURE: false } as const

/** Everybody's password is `secret`. */
const logIn: Options['logIn'] = ({ name, password }) =>
  typeof name === 'string' && password === 'secret' ? { uid: name } : null

type Options = Parameters<typeof SessionModule.forRoot>[0]
interface Setup extends Omit<ServeOptions, 'imports'> {
  readonly config?: TokenConfigOptions
  readonly options?: Partial<Options>
  readonly imports?: NonNullable<ServeOptions['imports']>
}

async function serveSessions({ config = BEARER, options = {}, imports = [], ...rest }: Setup = {}) {
  const { tokens } = createRevocable(config)
  const modules = [TokenModule.forRoot({ tokens }), SessionModule.forRoot({ logIn, ...options }), ...imports]
  const { send } = await serve([], { imports: modules, ...rest })
  const post = (path: string, body?: object, token?: string): Promise<Response> =>
    send(path, {
      method: 'POST',
      ...(token !== undefined && { token }),
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    })
  return { tokens, send, post, logIn: () => post('/auth/login', { name: 'ada', password: 'secret' }) }
}

interface TokenAnswer {
  readonly session: { readonly id: string; readonly sub: string }
  readonly accessToken: string
  readonly refreshToken: string
}
/** The status and the code of an answer. */
const outcome = async (response: Response): Promise<[status: number, code: string | undefined]> => [
  response.status,
  ((await response.json()) as { code?: string }).code,
]
const readAnswer = async (response: Response): Promise<TokenAnswer> => (await response.json()) as TokenAnswer

describe.each(PLATFORMS)('SessionModule on %s', (platform) => {
  test.each([
    ['', {}],
    [
      ' behind TokenGuard, with TokenExceptionFilter',
      {
        providers: [
          { provide: APP_GUARD, useClass: TokenGuard },
          { provide: APP_FILTER, useClass: TokenExceptionFilter },
        ],
      },
    ],
  ])('serves every route%s', async (_, more) => {
    const { send, post, logIn } = await serveSessions({ platform, ...more })
    const response = await logIn()
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
    const first = await readAnswer(response)
    const { accessToken: token, refreshToken } = await readAnswer(
      await post('/auth/refresh', undefined, first.refreshToken),
    )
    const own = await send('/auth/session', { token })
    await expect(own.json()).resolves.toMatchObject({ session: { id: first.session.id, sub: 'ada' } })
    const second = await readAnswer(await logIn())
    const third = await readAnswer(await logIn())
    const { sessions } = (await (await send('/auth/sessions?limit=9', { token })).json()) as {
      sessions: { id: string }[]
    }
    const opened = [first, second, third].map(({ session }) => session.id)
    expect(new Set(sessions.map(({ id }) => id))).toEqual(new Set(opened))
    const one = await send(`/auth/sessions/${third.session.id}`, { method: 'DELETE', token })
    expect([one.status, await one.text()]).toEqual([204, ''])
    const others = await send('/auth/sessions', { method: 'DELETE', token })
    await expect(others.json()).resolves.toEqual({ ended: 1 })
    const stepUp = await post('/auth/step-up', { name: 'ada', password: 'secret' }, refreshToken)
    await expect(stepUp.json()).resolves.toMatchObject({ session: { fresh: true } })
    expect((await post('/auth/logout', undefined, token)).status).toBe(204)
    await expect(outcome(await send('/auth/session', { token }))).resolves.toEqual([401, 'TOKEN_REVOKED'])
    const { accessToken: last } = await readAnswer(await logIn())
    expect((await post('/auth/logout-everywhere', undefined, last)).status).toBe(204)
    await expect(outcome(await send('/auth/session'))).resolves.toEqual([401, 'TOKEN_MISSING'])
  })

  test('answers other methods, and takes a path with a slash at its end for another', async () => {
    const { send, logIn } = await serveSessions({
      platform,
      providers: [{ provide: APP_GUARD, useClass: TokenGuard }],
    })
    const { accessToken: token } = await readAnswer(await logIn())
    const other = await readAnswer(await logIn())
    for (const [method, path, allow] of [
      ['GET', 'login', 'POST'],
      ['PUT', 'sessions', 'GET, HEAD, DELETE'],
      ['PUT', 'sessions/x', 'DELETE, PATCH'],
      ['POST', 'session', 'GET, HEAD'],
      ['DELETE', 'logout', 'POST'],
    ] as const) {
      const response = await send(`/auth/${path}`, { method, token })
      expect([method, path, response.headers.get('allow')]).toEqual([method, path, allow])
      await expect(outcome(response)).resolves.toEqual([405, 'METHOD_NOT_ALLOWED'])
    }
    for (const path of ['/auth/sessions/', '/auth/sessions/?x', '/auth/sessions//']) {
      expect([path, (await send(path, { method: 'DELETE', token })).status]).toEqual([path, 404])
    }
    expect((await send('/auth/session', { token: other.accessToken })).status).toBe(200)
  })

  test.each([
    ['the global prefix', (app: INestApplication) => void app.setGlobalPrefix('api'), '/api/auth', []],
    [
      'a global prefix that excludes them',
      (app: INestApplication) =>
        void app.setGlobalPrefix('api', { exclude: [{ path: 'auth/*path', method: RequestMethod.ALL }] }),
      '/auth',
      [],
    ],
    [
      'versions, which they do not have',
      (app: INestApplication) => void app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' }),
      '/auth',
      [],
    ],
    [
      'a prefix of RouterModule',
      (app: INestApplication) => void app.setGlobalPrefix('/api/'),
      '/api/users/auth',
      [RouterModule.register([{ path: 'users', module: SessionModule }])],
    ],
  ])('follows %s, and so must the cookie', async (_, setUp, path, imports) => {
    const cookie = (at: string) => ({ ...COOKIES, JWT_REFRESH_COOKIE_PATH: at })
    const { post } = await serveSessions({ platform, config: cookie(path), setUp, imports })
    const response = await post(`${path}/login`, { name: 'ada', password: 'secret' })
    expect(response.status).toBe(200)
    expect(response.headers.getSetCookie()).toContainEqual(expect.stringContaining(`Path=${path}`))
    await expect(
      serveSessions({ platform, config: cookie(`${path}/other`), setUp, imports }),
    ).rejects.toMatchObject({ name: 'ConfigurationError' })
  })

  test('has no routes for devices', async () => {
    const options = { logIn, deviceBound: true }
    const { tokens } = createRevocable(COOKIES)
    const imports = [TokenModule.forRoot({ tokens }), SessionModule.forRoot(options)]
    await expect(serve([], { platform, imports })).rejects.toMatchObject({ name: 'ConfigurationError' })
  })

  test.each([
    ['', false],
    [', as it came', true],
  ])('reads the body that Nest has parsed%s', async (_, rawBody) => {
    const { tokens } = createRevocable(BEARER)
    const { send } = await serve([], {
      platform,
      rawBody,
      imports: [TokenModule.forRoot({ tokens }), SessionModule.forRoot({ logIn })],
    })
    const headers = { 'content-type': 'application/json' }
    const post = (body: string, more: object = {}) =>
      send('/auth/login', { method: 'POST', body, headers: { ...headers, ...more } })
    expect((await post('{"name":"ada","password":"secret"}')).status).toBe(200)
    expect((await post('{')).status).toBe(400)
    expect((await post('[]')).status).toBe(400)
    expect((await post('name=ada&password=secret', { 'content-type': 'text/plain' })).status).toBe(415)
    const twice = await post('{"name":"eve","password":"secret","name":"ada"}')
    expect(twice.status).toBe(rawBody ? 400 : 200)
  })

  test('has a controller that can be extended', async () => {
    const seen: unknown[] = []

    @Injectable()
    class Mails {
      readonly sent: string[] = []
    }
    @Module({ providers: [Mails], exports: [Mails] })
    class MailModule {}

    const Marked = SetMetadata('marked', true)
    @Injectable()
    class MarkedGuard {
      readonly #reflector: Reflector
      constructor(@Inject(Reflector) reflector: Reflector) {
        this.#reflector = reflector
      }
      canActivate(context: { getHandler(): () => unknown }) {
        if (this.#reflector.get('marked', context.getHandler()) === true) throw new UnauthorizedException()
        return true
      }
    }
    const watch: NestInterceptor = {
      intercept: (_context, next) => next.handle().pipe(tap((value) => seen.push(value))),
    }
    const addHeader: NestInterceptor = {
      intercept: (_context, next) =>
        next.handle().pipe(tap((value: Response) => value.headers.set('x-seen', '1'))),
    }

    @UseGuards(MarkedGuard)
    @UseInterceptors(watch)
    class AuthController extends SessionController {
      readonly #mails: Mails
      constructor(@Inject(Mails) mails: Mails) {
        super()
        this.#mails = mails
      }

      @UseInterceptors(addHeader)
      override async login(request: Request): Promise<Response> {
        const response = await super.login(request)
        const { session } = await readAnswer(response.clone())
        this.#mails.sent.push(session.sub)
        response.headers.append('set-cookie', 'theme=dark')
        return response
      }

      @Marked
      override logoutEverywhere(request: Request): Promise<Response> {
        return super.logoutEverywhere(request)
      }

      @Get('mails')
      mails() {
        return this.#mails.sent
      }
    }

    const { send, post, logIn } = await serveSessions({
      platform,
      options: { controller: AuthController, imports: [MailModule] },
      providers: [
        { provide: APP_GUARD, useClass: TokenGuard },
        { provide: APP_FILTER, useClass: TokenExceptionFilter },
        // What many applications have: it must not reach the responses of the routes.
        {
          provide: APP_INTERCEPTOR,
          useValue: { intercept: (_: unknown, next: never) => wrap(next) } satisfies NestInterceptor,
        },
      ],
    })
    const response = await logIn()
    expect([response.status, response.headers.get('x-seen')]).toEqual([200, '1'])
    expect(response.headers.getSetCookie()).toEqual(['theme=dark'])
    const { accessToken: token } = await readAnswer(response)
    expect(seen).toEqual([expect.any(Response)])
    expect((await post('/auth/logout-everywhere', undefined, token)).status).toBe(401)
    // A route of its own is Nest's: guarded, and answered with what it returns.
    expect((await send('/auth/mails')).status).toBe(401)
    await expect((await send('/auth/mails', { token })).json()).resolves.toEqual({ data: ['ada'] })
    expect((await send('/auth/session', { token })).status).toBe(200)
  })

  test('a method that returns no Response is a 500, and no request that waits', async () => {
    class Wrong extends SessionController {
      override login(): Promise<Response> {
        return Promise.resolve({ status: 200 } as Response)
      }
    }
    class Empty extends SessionController {}
    UseInterceptors({ intercept: () => of() } satisfies NestInterceptor)(Empty)
    for (const controller of [Wrong, Empty]) {
      const { logIn } = await serveSessions({ platform, options: { controller } })
      expect((await logIn()).status).toBe(500)
    }
  })

  test('options may inherit: a limit of another module applies', async () => {
    const options = Object.assign(Object.create({ maxSessions: 1, whenFull: 'refuse' }) as object, { logIn })
    const { tokens } = createRevocable(BEARER)
    const { send } = await serve([], {
      imports: [TokenModule.forRoot({ tokens }), SessionModule.forRoot(options)],
    })
    const post = (): Promise<Response> =>
      send('/auth/login', {
        method: 'POST',
        body: JSON.stringify({ name: 'ada', password: 'secret' }),
        headers: { 'content-type': 'application/json' },
      })
    expect([(await post()).status, (await post()).status]).toEqual([200, 403])
  })

  test('forRootAsync injects what knows the users; each manager has routes of its own', async () => {
    @Injectable()
    class Users {
      find(name: unknown, password: unknown) {
        return password === 'secret' ? { uid: String(name) } : null
      }
    }
    @Module({ providers: [Users], exports: [Users] })
    class UsersModule {}
    const { tokens } = createRevocable(BEARER)
    const { tokens: admins } = createRevocable(BEARER)
    const { send } = await serve([], {
      platform,
      imports: [
        TokenModule.forRoot({ tokens }),
        TokenModule.forRoot({ tokens: admins, name: 'admin' }),
        SessionModule.forRootAsync({
          imports: [UsersModule],
          inject: [Users],
          useFactory: (users: Users) => ({ logIn: ({ name, password }) => users.find(name, password) }),
        }),
        SessionModule.forRoot({ name: 'admin', path: '/admin/auth', logIn: () => ({ uid: 'root' }) }),
      ],
    })
    const init = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const body = JSON.stringify({ name: 'ada', password: 'secret' })
    const user = await readAnswer(await send('/auth/login', { ...init, body }))
    const admin = await readAnswer(await send('/admin/auth/login', { ...init, body }))
    expect([user.session.sub, admin.session.sub]).toEqual(['ada', 'root'])
    expect((await send('/auth/session', { token: user.accessToken })).status).toBe(200)
    expect((await send('/admin/auth/session', { token: admin.accessToken })).status).toBe(200)
    expect((await tokens.sessions.list('root')).length).toBe(0)
    const wrong = await send('/auth/login', { ...init, body: '{"name":"ada","password":"x"}' })
    await expect(outcome(wrong)).resolves.toEqual([401, 'CREDENTIALS_INVALID'])
  })
})

describe('SessionModule refuses', () => {
  class Versioned extends SessionController {
    override login(request: Request): Promise<Response> {
      return super.login(request)
    }
  }
  Version('1')(
    Versioned.prototype,
    'login',
    Object.getOwnPropertyDescriptor(Versioned.prototype, 'login') as never,
  )
  @Controller('elsewhere')
  class Elsewhere extends SessionController {}

  test.each<[string, object]>([
    ['an unknown option', { logIn, login: logIn }],
    ['no logIn', {}],
    ['a path without a slash', { logIn, path: 'auth' }],
    ['a class that is no SessionController', { logIn, controller: class {} }],
    ['a controller with a path of its own', { logIn, controller: Elsewhere }],
    ['a controller with a version', { logIn, controller: Versioned }],
  ])('%s', (_, options) => {
    expect(() => SessionModule.forRoot(options as Options)).toThrow(TypeError)
  })

  test('an option of the manager, which is told where it goes', () => {
    expect(() => SessionModule.forRoot({ logIn, clientIp: () => null } as Options)).toThrow(
      'did you mean "TokenModule.forRoot({ clientIp })"?',
    )
  })

  test('a path, or an unknown option, that a factory returns', async () => {
    for (const more of [{ path: '/auth' }, { login: logIn }]) {
      const useFactory = () => ({ logIn, ...more })
      const { tokens } = createRevocable(BEARER)
      const imports = [TokenModule.forRoot({ tokens }), SessionModule.forRootAsync({ useFactory })]
      await expect(serve([], { imports })).rejects.toThrow(TypeError)
    }
    expect(() => SessionModule.forRootAsync({ useFactory: () => ({ logIn }), useClass: 1 } as never)).toThrow(
      TypeError,
    )
  })

  test.each<[string, Setup]>([
    [
      'a path that repeats the global prefix',
      { options: { path: '/api/auth' }, setUp: (app) => void app.setGlobalPrefix('api') },
    ],
    [
      'a global prefix that excludes some of the routes',
      { setUp: (app) => void app.setGlobalPrefix('api', { exclude: ['auth/login'] }) },
    ],
  ])('%s', async (_, setup) => {
    await expect(serveSessions(setup)).rejects.toMatchObject({ name: 'ConfigurationError' })
  })

  test('nothing about a class that repeats the path', () => {
    @Controller('auth')
    class Same extends SessionController {}
    expect(() => SessionModule.forRoot({ logIn, controller: Same })).not.toThrow()
  })
})

test('OpenAPI has the routes, and none of the refusals', async () => {
  let paths: Record<string, object> = {}
  await serveSessions({
    setUp: (app) => {
      paths = SwaggerModule.createDocument(app, new DocumentBuilder().build()).paths
    },
  })
  expect(Object.entries(paths).map(([path, methods]) => [path, Object.keys(methods)])).toEqual([
    ['/auth/login', ['post']],
    ['/auth/refresh', ['post']],
    ['/auth/logout', ['post']],
    ['/auth/logout-everywhere', ['post']],
    ['/auth/session', ['get']],
    ['/auth/sessions', ['get', 'delete']],
    ['/auth/sessions/{id}', ['delete', 'patch']],
    ['/auth/step-up', ['post']],
  ])
})

function wrap(next: Parameters<NestInterceptor['intercept']>[1]) {
  return next.handle().pipe(map((data: unknown) => ({ data })))
}
