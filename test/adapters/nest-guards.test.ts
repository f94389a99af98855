import { Controller, Get, Param, Post, Req, UseGuards } from '@nestjs/common'
import { describe, expect, test, vi } from 'vitest'
import {
  AccessTokenGuard,
  CurrentSubject,
  Depends,
  enforce,
  FreshTokenGuard,
  Payload,
  RefreshTokenGuard,
  RequireScopes,
  Token,
  TokenExceptionFilter,
  TokenModule,
} from '../../src/adapters/nest/index.js'
import { type Dependency, MissingTokenError, type RequestToken, type TokenPayload } from '../../src/index.js'
import { createManager } from '../helpers/manager.js'
import { PLATFORMS, serve } from '../helpers/nest.js'
import { createRevocable } from '../helpers/revocable.js'

const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 }, { scopes: ['read'] })
const FRESH = tokens.createAccessToken({ uid: 'ada' }, { fresh: true, scopes: ['read', 'write'] })
const REFRESH = tokens.createRefreshToken({ uid: 'ada' })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1
tokens.setSubjectGetter((uid) => (uid === 'ada' ? { name: 'Ada' } : null))

const imports = [TokenModule.forRoot({ tokens })]
const handled = {
  setUp: (app) => void app.useGlobalFilters(new TokenExceptionFilter()),
} satisfies Parameters<typeof serve>[1]

/** Counts how often the revocation callback runs. */
function countChecks(): () => number {
  const isRevoked = vi.fn(async () => false)
  tokens.setCallbackTokenBlocklist(isRevoked)
  return () => isRevoked.mock.calls.length
}

describe.each(PLATFORMS)('on %s', (platform) => {
  test('enforce and @Depends refuse before the route runs', async () => {
    const route = vi.fn(() => 'ran')
    @Controller()
    class Routes {
      @Get('enforce')
      @UseGuards(enforce(tokens.accessTokenRequired))
      enforced() {
        return route()
      }
      @Get('depends')
      depends(@Depends(tokens.accessTokenRequired) _payload: TokenPayload) {
        return route()
      }
    }
    const { send } = await serve([Routes], { platform })
    for (const path of ['/enforce', '/depends']) {
      for (const token of [undefined, 'bad', OLD, REFRESH])
        expect((await send(path, token === undefined ? {} : { token })).status).toBe(500)
      expect(route).not.toHaveBeenCalled()
      await expect((await send(path, { token: TOKEN })).text()).resolves.toBe('ran')
      route.mockClear()
    }
  })

  test('RefreshTokenGuard refuses a refresh token that was used before, and its session ends', async () => {
    @Controller()
    class Routes {
      @Get('refresh')
      @UseGuards(RefreshTokenGuard)
      refresh() {
        return 'ran'
      }
    }
    const { tokens: kept } = createRevocable({ JWT_REFRESH_GRACE: 0 })
    const { send } = await serve([Routes], {
      platform,
      ...handled,
      imports: [TokenModule.forRoot({ tokens: kept })],
    })
    const first = await kept.createTokenPair({ uid: 'ada' })
    expect((await send('/refresh', { token: first.refreshToken })).status).toBe(200)
    const next = await kept.refresh(first.refreshToken)
    const refused = await send('/refresh', { token: first.refreshToken })
    expect([refused.status, await refused.json()]).toMatchObject([401, { code: 'REFRESH_TOKEN_REUSED' }])
    expect((await send('/refresh', { token: next.refreshToken })).status).toBe(401)
  })

  test('enforce runs its dependencies in order, and stops at the first that throws', async () => {
    const log: string[] = []
    const note =
      (name: string, error?: Error): Dependency<string> =>
      async () => {
        await Promise.resolve()
        log.push(name)
        if (error !== undefined) throw error
        return name
      }
    @Controller()
    class Routes {
      @Get()
      @UseGuards(enforce(note('a'), note('b', new MissingTokenError()), note('c')))
      route() {}
    }
    await (await serve([Routes], { platform })).send('/')
    expect(log).toEqual(['a', 'b'])
  })

  test("@Depends gives the value of any dependency, the application's own included, beside Nest's parameters", async () => {
    const now: Dependency<number> = () => 7
    @Controller()
    class Routes {
      @Get('users/:id')
      route(
        @Depends(tokens.accessTokenRequired) payload: TokenPayload,
        @Param('id') id: string,
        @Depends(tokens.getTokenFromRequest) token: RequestToken | null,
        @Depends(now) time: number,
      ) {
        return [payload.sub, payload.age, id, token?.location, time]
      }
    }
    const { send } = await serve([Routes], { platform })
    const response = await send('/users/5', { token: TOKEN })
    await expect(response.json()).resolves.toEqual(['ada', 36, '5', 'headers', 7])
  })

  test('an optional dependency gives null without a token, and refuses a bad one', async () => {
    @Controller()
    class Routes {
      @Get()
      route(@Depends(tokens.accessTokenOptional) payload: TokenPayload | null) {
        return { payload }
      }
    }
    const { send } = await serve([Routes], { ...handled, platform })
    await expect((await send('/')).json()).resolves.toEqual({ payload: null })
    expect((await send('/', { token: 'bad' })).status).toBe(401)
  })

  test('guards, parameters and a call by hand on one route verify once per request', async () => {
    @Controller()
    @UseGuards(AccessTokenGuard)
    class Routes {
      @Get()
      @UseGuards(enforce(tokens.accessTokenRequired))
      async route(
        @Depends(tokens.accessTokenRequired) depends: TokenPayload,
        @Payload() payload: TokenPayload,
        @CurrentSubject() subject: { name: string },
        @Token() token: RequestToken,
        @Req() request: { headers: Record<string, string>; raw?: { headers: Record<string, string> } },
      ) {
        const byHand = await tokens.accessTokenRequired(request)
        const raw = await tokens.accessTokenRequired(request.raw ?? request)
        const isOne = [payload, byHand, raw].every((other) => other === depends)
        return [isOne, subject.name, token.token === TOKEN]
      }
    }
    const checks = countChecks()
    const { send } = await serve([Routes], { imports, platform })
    await expect((await send('/', { token: TOKEN })).json()).resolves.toEqual([true, 'Ada', true])
    expect(checks()).toBe(1)
    await send('/', { token: TOKEN })
    expect(checks()).toBe(2)
  })

  test('@Payload() and @Token() are those that the guard of the route verified', async () => {
    @Controller()
    class Routes {
      @Post('refresh')
      @UseGuards(RefreshTokenGuard)
      refresh(@Payload() payload: TokenPayload, @Token() token: RequestToken) {
        return [payload.type, token.type, token.location]
      }
      @Get('fresh')
      @UseGuards(FreshTokenGuard)
      fresh(@Payload() payload: TokenPayload) {
        return [payload.fresh]
      }
      @Get('none')
      none(@Payload() payload: TokenPayload, @Token() token: RequestToken) {
        return [payload.type, token.type]
      }
    }
    const checks = countChecks()
    const { send } = await serve([Routes], { imports, platform, ...handled })
    const refreshed = await send('/refresh', { method: 'POST', token: REFRESH })
    await expect(refreshed.json()).resolves.toEqual(['refresh', 'refresh', 'headers'])
    await expect((await send('/fresh', { token: FRESH })).json()).resolves.toEqual([true])
    expect(checks()).toBe(2)
    await expect((await send('/none', { token: TOKEN })).json()).resolves.toEqual(['access', 'access'])
    const refusals: [string, RequestInit & { token?: string }, string][] = [
      ['/refresh', { method: 'POST', token: TOKEN }, 'REFRESH_TOKEN_REQUIRED'],
      ['/fresh', { token: TOKEN }, 'FRESH_TOKEN_REQUIRED'],
      ['/none', { token: REFRESH }, 'ACCESS_TOKEN_REQUIRED'],
      ['/none', {}, 'TOKEN_MISSING'],
    ]
    for (const [path, init, code] of refusals)
      await expect((await send(path, init)).json()).resolves.toMatchObject({ code })
  })

  test('@RequireScopes() at the controller and at the route are both needed', async () => {
    @Controller()
    @RequireScopes('read')
    class Routes {
      @Get('read')
      read(@Payload() payload: TokenPayload) {
        return payload.scopes
      }
      @Get('write')
      @RequireScopes('write')
      write() {
        return 'ran'
      }
    }
    const { send } = await serve([Routes], { imports, platform, ...handled })
    await expect((await send('/read', { token: TOKEN })).json()).resolves.toEqual(['read'])
    expect((await send('/write', { token: FRESH })).status).toBe(200)
    const refused = await send('/write', { token: TOKEN })
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toContain('scope="write"')
    expect((await send('/read')).status).toBe(401)
  })

  test('@CurrentSubject() refuses a subject that is not found', async () => {
    @Controller()
    class Routes {
      @Get()
      route(@CurrentSubject() subject: object) {
        return subject
      }
    }
    const { send } = await serve([Routes], { imports, platform, ...handled })
    await expect((await send('/', { token: TOKEN })).json()).resolves.toEqual({ name: 'Ada' })
    const unknown = await send('/', { token: tokens.createAccessToken({ uid: 'eve' }) })
    await expect(unknown.json()).resolves.toMatchObject({ code: 'SUBJECT_NOT_FOUND' })
  })
})

test('what is no dependency is refused when the route is made', async () => {
  expect(() => enforce()).toThrow(TypeError)
  expect(() => enforce(undefined as never)).toThrow(TypeError)
  expect(() => Depends('text' as never)).toThrow(TypeError)
  expect(() => RequireScopes()).toThrow(TypeError)
})

test('a function that returns a dependency instead of running it lets nothing through', async () => {
  const slip = () => tokens.accessTokenRequired
  @Controller()
  class Routes {
    @Get('enforce')
    @UseGuards(enforce(slip))
    enforced() {}
    @Get('depends')
    depends(@Depends(slip) _value: unknown) {}
  }
  const { send } = await serve([Routes], {})
  for (const path of ['/enforce', '/depends']) expect((await send(path, { token: TOKEN })).status).toBe(500)
})
