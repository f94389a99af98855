import type { Cluster, Redis } from 'ioredis'
import type { createClient, createCluster } from 'redis'
import { createRedisStore, type RedisClient } from 'tokenlib/redis'
import { storeContract } from '@tokenlib/contracts'
import { afterAll, beforeAll, describe } from 'vitest'
import { WHOLE_CONTRACT } from './contract-parts.js'

/** A connected client, and what a test does behind the back of its stores. */
export interface Connection {
  readonly client: RedisClient
  /** Deletes the keys of a namespace. */
  wipe(namespace: string): Promise<unknown>
  close(): Promise<unknown> | void
}

/** Runs the contract of stores on Redis, through one kind of client. */
export function describeRedis(
  name: string,
  connect: () => Promise<Connection>,
  runner = WHOLE_CONTRACT,
): void {
  describe(name, () => {
    let connection: Connection
    beforeAll(async () => void (connection = await connect()))
    afterAll(() => connection.close() as Promise<void>)
    storeContract(
      name,
      {
        open: (namespace, clock) => createRedisStore(connection.client, { namespace, clock }),
        isShared: true,
        limitsSessions: true,
        keepsData: true,
        spends: true,
        isReplicable: true,
        wipe: async (namespace) => void (await connection.wipe(namespace)),
        remove: async (namespace) => void (await connection.wipe(namespace)),
      },
      runner,
    )
  })
}

// In one step, because the abandoned stores of a test could otherwise recover between two of them.
const WIPE = `
for _, key in ipairs(redis.call('KEYS', '{tokenlib:' .. ARGV[1] .. '}:*')) do redis.call('DEL', key) end`

export function fromIoredis(client: Redis | Cluster): Connection {
  return {
    client,
    wipe: (namespace) => client.eval(WIPE, 1, `{tokenlib:${namespace}}:meta`, namespace),
    close: () => client.disconnect(),
  }
}

export async function fromNodeRedis(
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
