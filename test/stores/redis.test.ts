import { Cluster, Redis } from 'ioredis'
import { createClient, createClientPool, createCluster, RESP_TYPES } from 'redis'
import { createRedisStore, type RedisClient } from 'tokenlib/redis'
import { storeContract } from '@tokenlib/contracts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeWithOwnServer, describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startRedis } from '../helpers/servers/start-redis.js'

interface Connection {
  readonly client: RedisClient
  /** Deletes the keys of a namespace behind the back of its stores. */
  wipe(namespace: string): Promise<unknown>
  close(): Promise<unknown> | void
}

function contract(name: string, connect: () => Promise<Connection>): void {
  let connection: Connection
  beforeAll(async () => void (connection = await connect()))
  afterAll(() => connection.close() as Promise<void>)
  storeContract(
    name,
    {
      open: (namespace, clock) => createRedisStore(connection.client, { namespace, clock }),
      isShared: true,
      limitsSessions: true,
      isReplicable: true,
      wipe: async (namespace) => void (await connection.wipe(namespace)),
      remove: async (namespace) => void (await connection.wipe(namespace)),
    },
    { afterAll, beforeAll, describe, test },
  )
}

// In one step, because the abandoned stores of a test could otherwise recover between two of them.
const WIPE = `
for _, key in ipairs(redis.call('KEYS', '{tokenlib:' .. ARGV[1] .. '}:*')) do redis.call('DEL', key) end`

function fromIoredis(client: Redis | Cluster): Connection {
  return {
    client,
    wipe: (namespace) => client.eval(WIPE, 1, `{tokenlib:${namespace}}:meta`, namespace),
    close: () => client.disconnect(),
  }
}

async function fromNodeRedis(
  client: ReturnType<typeof createClient | typeof createCluster>,
): Promise<Connection> {
  await client.connect()
  return {
    client,
    wipe: (namespace) =>
      client.eval(WIPE, { keys: [`{tokenlib:${namespace}}:meta`], arguments: [namespace] }),
    close: () => client.close(),
  }
}

describeWithRedis('Redis store', (url) => {
  describe('ioredis', () => contract('ioredis', async () => fromIoredis(new Redis(url))))
  describe('ioredis, with options that change replies', () =>
    contract('ioredis', async () =>
      fromIoredis(
        new Redis(url, {
          stringNumbers: true,
          showFriendlyErrorStack: true,
          enableAutoPipelining: true,
          protocol: 2,
        }),
      ),
    ))
  describe('redis', () => contract('redis', () => fromNodeRedis(createClient({ url }))))
  test('a pool is refused: what belongs together may reach two servers', () => {
    const pool = createClientPool({ url }) as unknown as RedisClient
    expect(() => createRedisStore(pool)).toThrow(/not a pool/)
  })
  describe('redis, with options that change replies', () =>
    contract('redis', () =>
      fromNodeRedis(
        createClient({
          url,
          RESP: 2,
          commandOptions: {
            typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.SIMPLE_STRING]: Buffer },
          },
        }) as unknown as ReturnType<typeof createClient>,
      ),
    ))
})

describeWithOwnServer('redis', 'Redis store in a cluster', () => {
  let server: RunningServer
  beforeAll(
    async () =>
      void (server = await startRedis({ 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' })),
  )
  afterAll(() => server.stop())

  describe('ioredis', () =>
    contract('ioredis', async () => fromIoredis(new Cluster([{ host: server.host, port: server.port }]))))
  describe('ioredis, with automatic pipelines', () =>
    contract('ioredis', async () =>
      fromIoredis(new Cluster([{ host: server.host, port: server.port }], { enableAutoPipelining: true })),
    ))
  describe('redis', () =>
    contract('redis', () =>
      fromNodeRedis(createCluster({ rootNodes: [{ url: server.url }], useReplicas: true })),
    ))
})
