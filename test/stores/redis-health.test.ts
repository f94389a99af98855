import { expect, test, vi } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { SECRET } from '../helpers/manager.js'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { start } from './redis-fixture.js'

describeWithOwnServer('redis', 'health of a real server', () => {
  test('is down while the server is stopped, and up when it goes on, whatever ready() says', async () => {
    const { server, client } = await start()
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
      store: createRedisStore(client),
    })
    await tokens.ready()
    expect((await tokens.health()).status).toBe('up')
    await server.kill('SIGSTOP')
    try {
      await tokens.ready()
      expect(await tokens.health()).toMatchObject({ status: 'down', error: expect.any(Error) as Error })
    } finally {
      await server.kill('SIGCONT')
    }
    await vi.waitFor(async () => expect((await tokens.health()).status).toBe('up'))
  })

  test('is degraded while a full server takes no writes', async () => {
    const { client } = await start()
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
      store: createRedisStore(client),
    })
    await tokens.ready()
    const before = await client.dbsize()
    expect((await tokens.health()).status).toBe('up')
    await client.config('SET', 'maxmemory', '1')
    await expect(tokens.sessions.open({ uid: 'ada' })).rejects.toThrow()
    const degraded = { status: 'degraded', canCheck: true, canWrite: false }
    expect(await tokens.health()).toMatchObject(degraded)
    await client.config('SET', 'maxmemory', '0')
    expect((await tokens.health()).status).toBe('up')
    expect(await client.dbsize()).toBe(before)
  })
})
