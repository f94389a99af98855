import { expect, test } from 'vitest'
import { z } from 'zod'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createEnforcer, createInjector } from '../../packages/tokenlib/src/requests/dependencies.js'
import { fetchRequestReader } from '../../packages/tokenlib/src/http/request-source.js'
import { createManager, SECRET, withBearer } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { createRevocable } from '../helpers/revocable.js'

const { tokens } = createManager()
const create = () => tokens.createAccessToken({ uid: 'ada' }, { headers: { purpose: { of: 'test' } } })
const EXPECTED = { payload: { sub: 'ada' }, header: { alg: 'HS256', typ: 'JWT', purpose: { of: 'test' } } }

test('a dependency with the header gives both, frozen', async () => {
  const value = await tokens.require({ withHeader: true })(withBearer(create()))
  expect(value).toMatchObject(EXPECTED)
  expect(Object.keys(value)).toEqual(['payload', 'header'])
  for (const part of [value, value.payload, value.header, value.header['purpose']]) {
    expect(Object.isFrozen(part)).toBe(true)
  }
})

test('without it, or with false, the value is the payload', async () => {
  const policy: object = { withHeader: false }
  expect((await tokens.require(policy)(withBearer(create())))?.sub).toBe('ada')
  expect((await tokens.verify(create(), policy)).sub).toBe('ada')
})

test('where the token is optional, its absence is null, and a bad one is refused', async () => {
  const dependency = tokens.require({ withHeader: true, optional: true })
  expect(await dependency(new Request('http://localhost/'))).toBeNull()
  expect(await dependency(withBearer(create()))).toMatchObject(EXPECTED)
  await expect(dependency(withBearer('bad'))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
})

test('verify gives both too, also for a token that it remembers', async () => {
  const token = create()
  for (let times = 0; times < 3; times++) {
    expect(await tokens.verify(token, { withHeader: true })).toMatchObject(EXPECTED)
  }
  const revocable = createRevocable().tokens
  const refused = await revocable.sessions.open({ uid: 'ada' })
  await revocable.revoke.user('ada')
  await expect(revocable.verify(refused.accessToken, { withHeader: true })).rejects.toMatchObject({
    code: 'TOKEN_REVOKED',
  })
})

test('the fast lane gives the same value as the recipe', async () => {
  const token = create()
  const dependencies = { both: tokens.require({ withHeader: true }), payload: tokens.accessTokenRequired }
  const injector = createInjector(dependencies, fetchRequestReader)
  const fast = injector.resolveNow(withBearer(token))
  expect(fast).toEqual(await injector.resolve(withBearer(token)))
  expect(fast).toMatchObject({ both: EXPECTED, payload: { sub: 'ada' } })
  expect(Object.isFrozen(fast?.both)).toBe(true)
  const enforcer = createEnforcer(Object.values(dependencies), fetchRequestReader)
  expect(enforcer.passesNow(withBearer(token))).toBe(true)
})

test('the payload is what the schema makes of the claims', async () => {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
  const typed = new TokenManager({ config, claims: z.object({ age: z.number() }) })
  const { payload, header } = await typed.verify(typed.createAccessToken({ uid: 'ada', age: 36 }), {
    withHeader: true,
  })
  expect([payload.age, header.alg]).toEqual([36, 'HS256'])
})

test('another value is refused, and so is the field where there is no header to give', async () => {
  expect(() => tokens.require({ withHeader: 'yes' } as never)).toThrow(naming('TypeError', 'withHeader'))
  await expect(tokens.verify(create(), { withHeader: 1 } as never)).rejects.toThrow(
    naming('TypeError', 'withHeader'),
  )
  const upgrade = tokens.sockets.authenticate(withBearer(create()), { withHeader: true } as never)
  await expect(upgrade).rejects.toThrow(naming('TypeError', 'withHeader'))
  await expect(
    tokens.getTokenFromRequest(withBearer(create()), { withHeader: true } as never),
  ).rejects.toThrow(naming('TypeError', 'withHeader'))
})
