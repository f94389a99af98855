import { createRedisStore } from 'tokenlib/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { HOUR, start, token } from './redis-fixture.js'
import { bundleReplicaChild, startReplicaChild } from './redis-replica-process.js'

describeWithOwnServer('redis', 'A process with a replica of a Redis store', () => {
  let program: { readonly path: string; remove(): void }
  beforeAll(async () => void (program = await bundleReplicaChild()))
  afterAll(() => program.remove())

  describe.each(['ioredis', 'redis'])('%s', (name) => {
    test('sees what another one revokes, and ends by itself once it is closed', async () => {
      const { server, client } = await start()
      const child = startReplicaChild(program.path, name, server.url)
      await child.says('ready')
      const other = createRedisStore(client)
      await other.prepare({ longestLifetime: HOUR })
      await other.revoke([token('a')])
      await child.says('refused')
      child.send('close')
      expect(await child.ended).toEqual([0, null])
      expect(child.errors()).toBe('')
      const countClients = async () => /^connected_clients:(\d+)/m.exec(await client.info('clients'))?.[1]
      await expect.poll(countClients).toBe('1')
    })

    test('refuses and goes on, when the server is gone for good', async () => {
      const { server } = await start()
      const child = startReplicaChild(program.path, name, server.url)
      await child.says('ready')
      await server.kill()
      await child.says('stale')
      child.send('close')
      expect(await child.ended).toEqual([0, null])
      expect(child.errors()).toBe('')
    })

    test('starts without a server, and ends by itself once it is closed', async () => {
      const { server } = await start()
      await server.kill()
      const child = startReplicaChild(program.path, name, server.url)
      await child.says('not ready')
      child.send('close')
      expect(await child.ended).toEqual([0, null])
      expect(child.errors()).toBe('')
    })
  })
})
