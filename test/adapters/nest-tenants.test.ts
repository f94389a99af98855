import { Controller, Get } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { describe, expect, test, vi } from 'vitest'
import {
  CurrentSubject,
  OptionalAuth,
  Public,
  RequireAnyScope,
  RequireScopes,
  SessionModule,
  Token,
  TokenClaims,
  TokenExceptionFilter,
  TokenGuard,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import {
  chooseManager,
  type RequestToken,
  TokenIssuerError,
  type TokenManager,
  type TokenPayload,
} from '../../packages/tokenlib/src/index.js'
import { createManager, SECRET } from '../helpers/manager.js'
import { PLATFORMS, serve, type ServeOptions, start } from '../helpers/nest.js'

const north = createManager({ JWT_SECRET_KEY: `${SECRET}-of-the-north` }).tokens
const south = createManager({ JWT_SECRET_KEY: `${SECRET}-of-the-south` }).tokens
north.setSubjectGetter((uid) => ({ name: uid }))
const MANAGERS = new Map<string | null, TokenManager>([
  ['north', north],
  ['south', south],
])
const select = vi.fn((name: string | null): TokenManager => {
  const manager = MANAGERS.get(name)
  if (manager === undefined) throw new TokenIssuerError()
  return manager
})
const tenant = chooseManager((request) => select(request.header('x-tenant')))

const guarded: ServeOptions = {
  imports: [TokenModule.forRoot({ tokens: tenant })],
  providers: [{ provide: APP_GUARD, useClass: TokenGuard }],
  setUp: (app) => void app.useGlobalFilters(new TokenExceptionFilter()),
}

@Controller()
class Routes {
  @Get('me')
  me(
    @TokenClaims() payload: TokenPayload,
    @Token() token: RequestToken | null,
    @CurrentSubject() subject: { name: string },
  ) {
    return [payload.sub, token?.location, subject.name]
  }
  @Get('scoped')
  @RequireScopes('a')
  @RequireAnyScope('b', 'c')
  scoped() {
    return ['scoped']
  }
  @Get('optional')
  @OptionalAuth()
  optional(@TokenClaims() payload: TokenPayload | null) {
    return [payload?.sub ?? null]
  }
  @Get('open')
  @Public()
  open() {
    return ['open']
  }
}

describe.each(PLATFORMS)('Nest on %s', (_name, platform) => {
  test('the global guard, parameters and scopes use the manager of each request', async () => {
    const { send } = await serve([Routes], { ...guarded, platform })
    const ask = async (path: string, name: string, token?: string): Promise<unknown> => {
      const response = await send(path, {
        headers: { 'x-tenant': name },
        ...(token !== undefined && { token }),
      })
      const body = (await response.json()) as { code?: string }
      return response.status === 200 ? body : [response.status, body.code]
    }
    const northern = north.createAccessToken({ uid: 'ada' }, { scopes: ['a', 'b'] })
    select.mockClear()
    expect(await ask('/me', 'north', northern)).toEqual(['ada', 'headers', 'ada'])
    expect(select).toHaveBeenCalledTimes(1)
    expect(await ask('/me', 'south', northern)).toEqual([401, 'TOKEN_SIGNATURE_INVALID'])
    expect(await ask('/me', 'west', northern)).toEqual([401, 'TOKEN_ISSUER_INVALID'])
    expect(await ask('/me', 'north')).toEqual([401, 'TOKEN_MISSING'])
    expect(await ask('/scoped', 'north', northern)).toEqual(['scoped'])
    expect(await ask('/scoped', 'south', south.createAccessToken({ uid: 'eve' }, { scopes: ['a'] }))).toEqual(
      [403, 'INSUFFICIENT_SCOPE'],
    )
    expect(await ask('/optional', 'south')).toEqual([null])
    expect(await ask('/optional', 'south', northern)).toEqual([401, 'TOKEN_SIGNATURE_INVALID'])
    expect(await ask('/optional', 'west')).toEqual([401, 'TOKEN_ISSUER_INVALID'])
    expect(await ask('/open', 'west')).toEqual(['open'])
  })
})

test('session routes need one manager, and say so', async () => {
  const sessions = SessionModule.forRoot({ logIn: () => null })
  const imports = [TokenModule.forRoot({ tokens: tenant }), sessions]
  await expect(start([], { imports })).rejects.toThrow('takes a TokenManager')
})
