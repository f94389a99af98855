import { Controller, Get, UseGuards } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { describe, expect, test, vi } from 'vitest'
import {
  AccessTokenGuard,
  CurrentSubject,
  ManagerGuard,
  OptionalAuth,
  Public,
  Token,
  TokenClaims,
  TokenExceptionFilter,
  TokenGuard,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import type {
  RequestToken,
  TokenDependency,
  TokenManager,
  TokenPayload,
} from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'
import { PLATFORMS, serve, type ServeOptions } from '../helpers/nest.js'

const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const REFRESH = tokens.createRefreshToken({ uid: 'ada' })
tokens.setSubjectGetter((uid) => ({ name: uid }))

const guarded: ServeOptions = {
  imports: [TokenModule.forRoot({ tokens })],
  providers: [{ provide: APP_GUARD, useClass: TokenGuard }],
  setUp: (app) => void app.useGlobalFilters(new TokenExceptionFilter()),
}

@Controller('plain')
class PlainController {
  @Get('required')
  required(@TokenClaims() payload: TokenPayload) {
    return [payload.sub]
  }
  @Get('public')
  @Public()
  open() {
    return ['open']
  }
  @Get('optional')
  @OptionalAuth()
  optional(
    @TokenClaims() payload: TokenPayload | null,
    @Token() token: RequestToken | null,
    @CurrentSubject() subject: { name: string } | null,
  ) {
    return [payload?.sub ?? null, token?.location ?? null, subject?.name ?? null]
  }
  @Get('contradiction')
  @Public()
  contradiction(@TokenClaims() payload: TokenPayload) {
    return [payload.sub]
  }
}

@Controller('public')
@Public()
class PublicController {
  @Get()
  open() {
    return ['open']
  }
  @Get('optional')
  @OptionalAuth()
  optional(@TokenClaims() payload: TokenPayload | null) {
    return [payload?.sub ?? null]
  }
  @Get('guarded')
  @UseGuards(AccessTokenGuard)
  guarded() {
    return ['guarded']
  }
}

@Controller('optional')
@OptionalAuth()
class OptionalController {
  @Get()
  optional(@TokenClaims() payload: TokenPayload | null) {
    return [payload?.sub ?? null]
  }
  @Get('public')
  @Public()
  open() {
    return ['open']
  }
}

// What is written at a class opens the routes of that class, not those of a class that extends it.
@Controller('derived')
class DerivedController extends PublicController {
  @Get('secret')
  secret() {
    return ['secret']
  }
}

// What a request without a token, with a good one and with a bad one gets; a text is the code of a refusal.
const ROWS: readonly [path: string, none: unknown, good: unknown, bad: unknown][] = [
  ['/plain/required', 'TOKEN_MISSING', ['ada'], 'TOKEN_INVALID'],
  ['/plain/public', ['open'], ['open'], ['open']],
  ['/plain/optional', [null, null, null], ['ada', 'headers', 'ada'], 'TOKEN_INVALID'],
  // A parameter that needs a token refuses by itself: failing closed.
  ['/plain/contradiction', 'TOKEN_MISSING', ['ada'], 'TOKEN_INVALID'],
  ['/public', ['open'], ['open'], ['open']],
  ['/public/optional', [null], ['ada'], 'TOKEN_INVALID'],
  ['/public/guarded', 'TOKEN_MISSING', ['guarded'], 'TOKEN_INVALID'],
  ['/derived/secret', 'TOKEN_MISSING', ['secret'], 'TOKEN_INVALID'],
  ['/derived', 'TOKEN_MISSING', ['open'], 'TOKEN_INVALID'],
  ['/optional', [null], ['ada'], 'TOKEN_INVALID'],
  ['/optional/public', ['open'], ['open'], ['open']],
]

describe.each(PLATFORMS)('on %s', (platform) => {
  test('@Public() and @OptionalAuth() loosen TokenGuard, those at the route before those at the controller', async () => {
    const { send } = await serve([PlainController, PublicController, OptionalController, DerivedController], {
      ...guarded,
      platform,
    })
    for (const [path, ...expected] of ROWS) {
      const answers = []
      for (const token of [undefined, TOKEN, 'bad']) {
        const response = await send(path, token === undefined ? {} : { token })
        const body = (await response.json()) as { code?: string }
        answers.push(response.status === 401 ? body.code : body)
      }
      expect([path, ...answers]).toEqual([path, ...expected])
    }
  })

  test('TokenGuard asks the revocation callback once, and not at all for a public route', async () => {
    const { tokens } = createManager()
    const isRevoked = vi.fn(() => false)
    tokens.setCallbackTokenBlocklist(isRevoked)
    const { send } = await serve([PlainController], {
      ...guarded,
      imports: [TokenModule.forRoot({ tokens })],
      platform,
    })
    await send('/plain/required', { token: TOKEN })
    expect(isRevoked).toHaveBeenCalledTimes(1)
    await send('/plain/public', { token: TOKEN })
    expect(isRevoked).toHaveBeenCalledTimes(1)
  })

  test('behind TokenGuard a path without a route stays a 404', async () => {
    const { send } = await serve([PlainController], { ...guarded, platform })
    expect((await send('/nothing')).status).toBe(404)
  })

  test('TokenGuard can be given to useGlobalGuards, or to one controller', async () => {
    @Controller('local')
    @UseGuards(TokenGuard)
    class LocalController extends PlainController {}
    const { imports = [] } = guarded
    const local = await serve([LocalController], { imports, platform })
    expect((await local.send('/local/required')).status).toBe(500)
    expect((await local.send('/local/public')).status).toBe(200)

    const everywhere = await serve([PlainController], {
      imports,
      platform,
      setUp: (app) => void app.useGlobalGuards(new TokenGuard(tokens)),
    })
    expect((await everywhere.send('/plain/required')).status).toBe(500)
    expect((await everywhere.send('/plain/public')).status).toBe(200)
  })

  test('a CORS pre-flight is answered before TokenGuard', async () => {
    const { send } = await serve([PlainController], {
      ...guarded,
      platform,
      setUp: (app) => {
        app.enableCors({ origin: 'https://app.example' })
        app.useGlobalFilters(new TokenExceptionFilter())
      },
    })
    const origin = { origin: 'https://app.example' }
    const preflight = await send('/plain/required', {
      method: 'OPTIONS',
      headers: { ...origin, 'access-control-request-method': 'GET' },
    })
    expect(preflight.status).toBe(204)
    const refused = await send('/plain/required', { headers: origin })
    expect(refused.status).toBe(401)
    expect(refused.headers.get('access-control-allow-origin')).toBe('https://app.example')
  })

  test('a guard of the application extends ManagerGuard', async () => {
    class AnyTokenGuard extends ManagerGuard {
      protected override choose(manager: TokenManager): TokenDependency<TokenPayload> {
        return manager.tokenRequired
      }
    }
    @Controller()
    class Routes {
      @Get()
      @UseGuards(AnyTokenGuard)
      route(@TokenClaims() payload: TokenPayload) {
        return payload.type
      }
    }
    const { send } = await serve([Routes], { imports: guarded.imports ?? [], platform })
    for (const [token, type] of [
      [TOKEN, 'access'],
      [REFRESH, 'refresh'],
    ] as const)
      await expect((await send('/', { token })).text()).resolves.toBe(type)
    expect((await send('/')).status).toBe(500)
  })
})
