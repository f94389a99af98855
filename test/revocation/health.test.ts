import { describe, expect, onTestFinished, test } from 'vitest'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { startKms } from '../helpers/kms.js'
import { createManager, SECRET } from '../helpers/manager.js'
import { createRevocable } from '../helpers/revocable.js'

test('a manager without a store is up', async () => {
  expect(await createManager().tokens.health()).toEqual({
    status: 'up',
    canCheck: true,
    canWrite: true,
    responseTimeMs: null,
    error: null,
    replica: null,
  })
})

test('a store that answers is up', async () => {
  const { tokens } = createRevocable()
  expect(await tokens.health()).toEqual({
    status: 'up',
    canCheck: true,
    canWrite: true,
    responseTimeMs: expect.any(Number) as number,
    replica: null,
    error: null,
  })
})

describe('a store that does not answer is down, and the error says why', () => {
  const failing = (lookup: () => never) =>
    createRevocable({ JWT_REVOCATION_TIMEOUT: '20ms' }, { store: { ...createMemoryStore(), lookup } })

  test('it fails', async () => {
    const fault = new Error('ECONNREFUSED')
    const { tokens } = failing(() => {
      throw fault
    })
    expect(await tokens.health()).toMatchObject({ status: 'down', error: fault })
  })

  test('it never answers', async () => {
    const { tokens } = failing(() => new Promise(() => undefined) as never)
    expect(await tokens.health()).toMatchObject({
      status: 'down',
      error: { message: expect.stringContaining('20 ms') as string },
    })
  })

  test('it throws something that is no error', async () => {
    const { tokens } = failing(() => {
      throw 'gone' as never
    })
    expect(await tokens.health()).toMatchObject({ status: 'down', error: { code: 'REVOCATION_UNAVAILABLE' } })
  })
})

test('a store that answers and takes no writes is degraded', async () => {
  const fault = new Error('READONLY')
  const revoke = async (): Promise<never> => {
    throw fault
  }
  const { tokens } = createRevocable({}, { store: { ...createMemoryStore(), revoke } })
  const expected = { status: 'degraded', canCheck: true, canWrite: false, error: fault }
  expect(await tokens.health()).toMatchObject(expected)
})

test('a store that keeps no sessions is asked as well', async () => {
  const { sessions: _, ...store } = createMemoryStore()
  const { tokens } = createRevocable({}, { store })
  expect(await tokens.health()).toMatchObject({ status: 'up', canCheck: true, canWrite: true })
  await store.close()
  expect(await tokens.health()).toMatchObject({ status: 'down', canCheck: false, canWrite: false })
})

test('it revokes nothing, and tells nobody', async () => {
  const { tokens, store } = createRevocable()
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
  const events: string[] = []
  tokens.on('revoked', ({ kind }) => void events.push(kind))
  await tokens.health()
  await tokens.verify(accessToken)
  expect((await store.feed(null, { waitMs: 0 })).entries).toEqual([])
  expect(events).toEqual([])
})

test('a signer that failed keeps users from logging in, until it works again', async () => {
  const kms = await startKms()
  onTestFinished(() => kms.close())
  const keys = [{ algorithm: 'ES256' as const, kid: 'kms', publicKey: kms.publicKey, sign: kms.sign }]
  const tokens = new TokenManager({ config: new TokenConfig({}), keys, store: createMemoryStore() })
  expect(await tokens.health()).toMatchObject({ status: 'up' })
  kms.behave('fail')
  await expect(tokens.sessions.open({ uid: 'ada' })).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
  expect(await tokens.health()).toMatchObject({
    status: 'degraded',
    canCheck: true,
    canWrite: false,
    error: { message: expect.stringContaining('AccessDenied') as string },
  })
  kms.behave('der')
  expect(await tokens.health()).toMatchObject({ status: 'up', canWrite: true, error: null })
})

describe('ready and health tell different things', () => {
  test('after it was ready, a store that is gone is down', async () => {
    const { tokens, store } = createRevocable()
    await tokens.ready()
    await store.close()
    await tokens.ready()
    expect((await tokens.health()).status).toBe('down')
  })
})

test('a store that is not fit for use is down with the reason', async () => {
  const client = { call: async () => 'role:slave' }
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
    store: createRedisStore(client),
  })
  expect(await tokens.health()).toMatchObject({ status: 'down', error: { code: 'CONFIGURATION_INVALID' } })
})
