import { describe, expect, test } from 'vitest'
import { createRedisStore } from '../../src/stores/redis.js'
import { TokenConfig, TokenManager } from '../../src/index.js'
import { createMemoryStore } from '../../src/stores/memory.js'
import { createManager, SECRET } from '../helpers/manager.js'
import { createRevocable } from '../helpers/revocable.js'

test('a manager without a store is up', async () => {
  expect(await createManager().tokens.health()).toEqual({
    status: 'up',
    responseTimeMs: null,
    error: null,
    replica: null,
  })
})

test('a store that answers is up', async () => {
  const { tokens } = createRevocable()
  expect(await tokens.health()).toEqual({
    status: 'up',
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
  const client = { call: async () => ['known', 'role:slave'] }
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
    revocation: createRedisStore(client),
  })
  expect(await tokens.health()).toMatchObject({ status: 'down', error: { code: 'CONFIGURATION_INVALID' } })
})
