import { Controller, type ExecutionContext, Get, Param, Post, Req, UseGuards } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { describe, expect, test, vi } from 'vitest'
import {
  AccessTokenGuard,
  CurrentSubject,
  Depends,
  enforce,
  FreshTokenGuard,
  FreshWithin,
  RefreshTokenGuard,
  RequireAnyScope,
  RequireScopes,
  Token,
  TokenClaims,
  TokenExceptionFilter,
  TokenGuard,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { type Dependency, type RequestToken, type TokenPayload } from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'
import { PLATFORMS, serve } from '../helpers/nest.js'
import { createRevocable, toPair } from '../helpers/revocable.js'

const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 }, { scopes: ['read'] })
const FRESH = tokens.createAccessToken({ uid: 'ada' }, { fresh: true, scopes: ['read', 'write'] })
const REFRESH = tokens.createRefreshToken({ uid: 'ada' })
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

test('a guard takes the request from switchToHttp, as the context of a unit test has it', async () => {
  const request = {
    method: 'GET',
    url: '/',
    headers: { authorization: `Bearer ${TOKEN}` },
    rawHeaders: ['authorization', `Bearer ${TOKEN}`],
  }
  const contextOf = (given: object) =>
    ({
      getType: () => 'http',
      getHandler: () => contextOf,
      getClass: () => Object,
      switchToHttp: () => ({ getRequest: () => given }),
    }) as unknown as ExecutionContext
  const guard = new AccessTokenGuard(tokens)
  // The second and third time from the fast lane.
  for (let times = 0; times < 3; times++) {
    await expect(guard.canActivate(contextOf({ ...request }))).resolves.toBe(true)
  }
  await expect(
    guard.canActivate(contextOf({ ...request, headers: {}, rawHeaders: [] })),
  ).rejects.toMatchObject({
    code: 'TOKEN_MISSING',
  })
})

describe.each(PLATFORMS)('on %s', (platform) => {
  test('the first guard names the scopes that the others of the route demand', async () => {
    @Controller('scoped')
    @RequireScopes('read')
    class Scoped {
      @Get('any')
      @RequireAnyScope('write', 'admin')
      any() {
        return 'ran'
      }

      @Get('own')
      @UseGuards(enforce(tokens.require({ scopes: ['own'] })))
      own() {
        return 'ran'
      }
    }
    @Controller('plain')
    class Plain {
      @Get()
      get() {
        return 'ran'
      }
    }
    const guards = [
      { provide: APP_GUARD, useClass: TokenGuard },
      { provide: APP_GUARD, useValue: enforce(tokens.accessTokenRequired) },
    ]
    for (const guard of guards) {
      const { send } = await serve([Scoped, Plain], { platform, ...handled, imports, providers: [guard] })
      const readScope = async (path: string, token?: string): Promise<string | undefined> => {
        const response = await send(path, token === undefined ? {} : { token })
        expect(response.status).toBe(401)
        return /, scope="([^"]*)"/.exec(response.headers.get('www-authenticate') ?? '')?.[1]
      }
      for (const token of [undefined, 'bad', REFRESH]) {
        expect((await readScope('/scoped/any', token))?.split(' ').toSorted()).toEqual([
          'admin',
          'read',
          'write',
        ])
        expect((await readScope('/scoped/own', token))?.split(' ').toSorted()).toEqual(['own', 'read'])
        expect(await readScope('/plain', token)).toBeUndefined()
      }
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
    const first = await kept.sessions.open({ uid: 'ada' })
    expect((await send('/refresh', { token: first.refreshToken })).status).toBe(200)
    const second = toPair(await kept.sessions.refresh(first.refreshToken))
    const next = toPair(await kept.sessions.refresh(second.refreshToken))
    const refused = await send('/refresh', { token: first.refreshToken })
    expect([refused.status, await refused.json()]).toMatchObject([401, { code: 'REFRESH_TOKEN_REUSED' }])
    expect((await send('/refresh', { token: next.refreshToken })).status).toBe(401)
  })

  test("@Depends gives the value of any dependency, the application's own included, next to Nest's parameters", async () => {
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

  test('guards, parameters and a call by hand on one route verify once per request', async () => {
    @Controller()
    @UseGuards(AccessTokenGuard)
    class Routes {
      @Get()
      @UseGuards(enforce(tokens.accessTokenRequired))
      async route(
        @Depends(tokens.accessTokenRequired) depends: TokenPayload,
        @TokenClaims() payload: TokenPayload,
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

  test('@TokenClaims() and @Token() are those that the guard of the route verified', async () => {
    @Controller()
    class Routes {
      @Post('refresh')
      @UseGuards(RefreshTokenGuard)
      refresh(@TokenClaims() payload: TokenPayload, @Token() token: RequestToken) {
        return [payload.type, token.type, token.location]
      }
      @Get('fresh')
      @UseGuards(FreshTokenGuard)
      fresh(@TokenClaims() payload: TokenPayload) {
        return [payload.fresh]
      }
      @Get('none')
      none(@TokenClaims() payload: TokenPayload, @Token() token: RequestToken) {
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
      read(@TokenClaims() payload: TokenPayload) {
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
    expect(refused.headers.get('www-authenticate')).toContain('scope="write read"')
    expect((await send('/read')).status).toBe(401)
  })

  test('@RequireAnyScope() needs one of its scopes, and the challenge names them all', async () => {
    @Controller()
    class Routes {
      @Get('some')
      @RequireAnyScope('write', 'read')
      some(@TokenClaims() payload: TokenPayload) {
        return payload.scopes
      }
      @Get('none')
      @RequireAnyScope('write', 'admin')
      none() {
        return 'ran'
      }
    }
    const { send } = await serve([Routes], { imports, platform, ...handled })
    await expect((await send('/some', { token: TOKEN })).json()).resolves.toEqual(['read'])
    const refused = await send('/none', { token: TOKEN })
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toContain('scope="write admin"')
    expect((await send('/some')).status).toBe(401)
    expect(() => RequireAnyScope()).toThrow(TypeError)
    expect(() => RequireAnyScope('a b')).toThrow(TypeError)
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

test.each(PLATFORMS)('@FreshWithin() asks for a recent login, on %s', async (platform) => {
  const { tokens: manager, clock } = createRevocable()
  @Controller()
  @FreshWithin('1h')
  class MoneyController {
    @Get('balance')
    balance() {
      return 'balance'
    }

    @Post('transfer')
    @FreshWithin('2m')
    transfer() {
      return 'sent'
    }
  }
  const { send } = await serve([MoneyController], {
    imports: [TokenModule.forRoot({ tokens: manager })],
    platform,
    ...handled,
  })
  const token = manager.createAccessToken({ uid: 'ada' }, { fresh: true, expiresIn: '1d' })
  const statuses = async () => [
    (await send('/balance', { token })).status,
    (await send('/transfer', { method: 'POST', token })).status,
  ]
  expect(await statuses()).toEqual([200, 201])
  clock.seconds += 120
  expect(await statuses()).toEqual([200, 401])
  clock.seconds += 3600
  expect(await statuses()).toEqual([401, 401])
})

test.each([undefined, true, 0, 'soon'])('@FreshWithin(%o) is refused', (age) => {
  expect(() => FreshWithin(age as number)).toThrow(TypeError)
})
