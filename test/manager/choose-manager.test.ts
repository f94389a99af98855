import { expect, test, vi } from 'vitest'
import {
  chooseManager,
  TokenConfig,
  TokenIssuerError,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { createClock, createManager, SECRET, withBearer } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'

const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada' }, { scopes: ['a'] })

test('the dependencies are those of the chosen manager', async () => {
  const tenant = chooseManager(() => tokens)
  const refresh = tokens.createRefreshToken({ uid: 'ada' })
  const fresh = tokens.createAccessToken({ uid: 'ada' }, { fresh: true })
  expect((await tenant.accessTokenRequired(withBearer(TOKEN))).sub).toBe('ada')
  expect((await tenant.refreshTokenRequired(withBearer(refresh))).type).toBe('refresh')
  expect((await tenant.tokenRequired(withBearer(refresh))).type).toBe('refresh')
  expect((await tenant.freshTokenRequired(withBearer(fresh))).fresh).toBe(true)
  expect((await tenant.require({ scopes: ['a'] })(withBearer(TOKEN))).sub).toBe('ada')
  expect((await tenant.require({ withHeader: true })(withBearer(TOKEN))).header.alg).toBe('HS256')
  expect((await tenant.getTokenFromRequest(withBearer(TOKEN)))?.token).toBe(TOKEN)
  expect(await tenant.accessTokenOptional(new Request('http://localhost/'))).toBeNull()
  for (const [dependency, token, code] of [
    [tenant.accessTokenRequired, refresh, 'ACCESS_TOKEN_REQUIRED'],
    [tenant.refreshTokenRequired, TOKEN, 'REFRESH_TOKEN_REQUIRED'],
    [tenant.freshTokenRequired, TOKEN, 'FRESH_TOKEN_REQUIRED'],
    [tenant.require({ anyScope: ['b', 'c'] }), TOKEN, 'INSUFFICIENT_SCOPE'],
    [tenant.accessTokenOptional, 'bad', 'TOKEN_INVALID'],
  ] as const) {
    await expect(dependency(withBearer(token))).rejects.toMatchObject({ code })
  }
})

test('the subject is found by the getter of the chosen manager', async () => {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
  const subjectGetter = (uid: string) => ({ name: uid.toUpperCase() })
  const own = new TokenManager({ config, clock: createClock(), subjectGetter })
  expect((await chooseManager(() => own).getCurrentSubject(withBearer(TOKEN))).name).toBe('ADA')
})

test('a manager is chosen once for a request, also for dependencies that run at the same time', async () => {
  const select = vi.fn(async () => tokens)
  const tenant = chooseManager(select)
  const request = withBearer(TOKEN)
  await Promise.all([tenant.accessTokenRequired(request), tenant.require({ scopes: ['a'] })(request)])
  await tenant.getTokenFromRequest(request)
  expect(select).toHaveBeenCalledTimes(1)
  await tenant.accessTokenRequired(withBearer(TOKEN))
  expect(select).toHaveBeenCalledTimes(2)
})

test('two choices at one request do not share what they chose', async () => {
  const other = createManager({ JWT_SECRET_KEY: `${SECRET}-of-another` }).tokens
  const request = withBearer(TOKEN)
  expect((await chooseManager(() => tokens).accessTokenRequired(request)).sub).toBe('ada')
  await expect(chooseManager(() => other).accessTokenRequired(request)).rejects.toMatchObject({
    code: 'TOKEN_SIGNATURE_INVALID',
  })
})

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a configuration', tokens.config],
  ['a promise of nothing', Promise.resolve()],
  ['a flag', true],
])('%s instead of a manager is a TypeError, also where a token is optional', async (_what, value) => {
  const tenant = chooseManager(() => value as TokenManager)
  const request = () => new Request('http://localhost/')
  for (const ask of [
    tenant.accessTokenRequired,
    tenant.accessTokenOptional,
    tenant.require({ optional: true }),
    tenant.getTokenFromRequest,
  ]) {
    await expect(ask(request())).rejects.toThrow(naming('TypeError', 'chooseManager'))
  }
})

test('what the function throws refuses the request, and is asked for once', async () => {
  const select = vi.fn((): TokenManager => {
    throw new TokenIssuerError()
  })
  const tenant = chooseManager(select)
  const request = withBearer(TOKEN)
  for (const ask of [tenant.accessTokenRequired, tenant.accessTokenOptional, tenant.getTokenFromRequest]) {
    await expect(ask(request)).rejects.toMatchObject({ code: 'TOKEN_ISSUER_INVALID' })
  }
  expect(select).toHaveBeenCalledTimes(1)
})

test('a policy is checked when the dependency is made', async () => {
  const tenant = chooseManager(() => tokens)
  expect(() => tenant.require({ scope: ['a'] } as never)).toThrow(naming('TypeError', 'scopes'))
  expect(() => tenant.require({ fresh: 'yes' } as never)).toThrow(TypeError)
  expect(() => tenant.require({ scopes: [] })).toThrow(TypeError)
  expect(() => tenant.require({ anyScope: [] })).toThrow(TypeError)
  await expect(tenant.getTokenFromRequest(withBearer(TOKEN), { location: 'json' } as never)).rejects.toThrow(
    naming('TypeError', 'locations'),
  )
  expect(() => chooseManager(tokens as never)).toThrow(naming('TypeError', 'chooseManager'))
})

test('the choice cannot be changed', () => {
  expect(Object.isFrozen(chooseManager(() => tokens))).toBe(true)
})
