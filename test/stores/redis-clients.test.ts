import { Cluster, Redis } from 'ioredis'
import { createClient, createClientPool, createCluster, RESP_TYPES } from 'redis'
import { createRedisStore, type RedisClient } from 'tokenlib/redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWithOwnServer, describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startRedis } from '../helpers/servers/start-redis.js'
import { CLIENT_CONTRACT } from './contract-parts.js'
import { type Connection, describeRedis, fromIoredis, fromNodeRedis } from './redis-contract.js'

const describeClient = (name: string, connect: () => Promise<Connection>): void =>
  describeRedis(name, connect, CLIENT_CONTRACT)

describeWithRedis('Redis store', (url) => {
  describeRedis('redis', () => fromNodeRedis(createClient({ url })))

  describeClient('ioredis, with options that change replies', async () =>
    fromIoredis(
      new Redis(url, {
        stringNumbers: true,
        showFriendlyErrorStack: true,
        enableAutoPipelining: true,
        protocol: 2,
      }),
    ),
  )

  describeClient('redis, with options that change replies', () =>
    fromNodeRedis(
      createClient({
        url,
        RESP: 2,
        commandOptions: {
          typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.SIMPLE_STRING]: Buffer },
        },
      }) as unknown as ReturnType<typeof createClient>,
    ),
  )

  test('a pool is refused: what belongs together may reach two servers', () => {
    const pool = createClientPool({ url }) as unknown as RedisClient
    expect(() => createRedisStore(pool)).toThrow(/not a pool/)
  })
})

describeWithOwnServer('redis', 'Redis store in a cluster', () => {
  let server: RunningServer
  beforeAll(
    async () =>
      void (server = await startRedis({ 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' })),
  )
  afterAll(() => server.stop())
  const connect = (options = {}) =>
    fromIoredis(new Cluster([{ host: server.host, port: server.port }], options))

  describeClient('ioredis', async () => connect())
  describeClient('ioredis, with automatic pipelines', async () => connect({ enableAutoPipelining: true }))
  describeClient('redis', () =>
    fromNodeRedis(createCluster({ rootNodes: [{ url: server.url }], useReplicas: true })),
  )
})
