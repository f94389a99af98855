import { createRedisStore, type RedisClient } from 'tokenlib/redis'
import { closeInTime, type Driver, hidePassword, inTime, loadDriver } from './driver.js'
import type { OpenedStore, OpenStoreOptions } from './opened-store.js'

interface IoredisConnection {
  on(event: 'error', listener: () => void): unknown
  connect(): Promise<unknown>
  call(command: string, args: string[]): Promise<unknown>
  disconnect(): void
}

interface NodeRedisConnection {
  on(event: 'error', listener: () => void): unknown
  connect(): Promise<unknown>
  sendCommand(args: string[]): Promise<unknown>
  destroy(): void
}

interface Connection {
  readonly client: RedisClient
  connect(): Promise<unknown>
  command(name: string, ...args: string[]): Promise<unknown>
  close(): void
}

/** Opens a store in Redis or Valkey with `ioredis` or `redis`. */
export async function openRedis(url: string, options: OpenStoreOptions): Promise<OpenedStore> {
  const { timeoutMs } = options
  const namespace = options.namespace ?? 'tokenlib'
  const connection = connectWith(await loadDriver(['ioredis', 'redis'], options.drivers), url, timeoutMs)
  try {
    // Its settings are for `doctor` to judge: a revocation must reach also a server that may forget it.
    const store = createRedisStore(connection.client, { namespace, allowVolatile: true })
    await inTime(url, timeoutMs, connection.connect())
    return {
      kind: 'redis',
      url: hidePassword(url),
      namespace,
      store,
      client: {
        command: (name, ...args) => inTime(url, timeoutMs, connection.command(name, ...args)),
      },
      async close() {
        await store.close()
        await closeInTime(() => connection.close())
      },
    }
  } catch (error) {
    await closeInTime(() => connection.close())
    throw error
  }
}

function connectWith(driver: Driver, url: string, timeoutMs: number): Connection {
  return driver.name === 'ioredis'
    ? withIoredis(driver, url, timeoutMs)
    : withNodeRedis(driver, url, timeoutMs)
}

function withIoredis({ exports }: Driver, url: string, timeoutMs: number): Connection {
  const Redis = exports['Redis'] as new (url: string, options: object) => IoredisConnection
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: timeoutMs,
    maxRetriesPerRequest: 0,
    // A command line says what is wrong, and does not try again.
    retryStrategy: () => null,
  })
  // The reason, which `connect` does not always give.
  let reason: unknown
  client.on('error', ((error: unknown) => (reason ??= error)) as () => void)
  return {
    client,
    connect: () => client.connect().catch((error: unknown) => Promise.reject((reason ?? error) as Error)),
    command: (name, ...args) => client.call(name, args),
    close: () => client.disconnect(),
  }
}

function withNodeRedis({ exports }: Driver, url: string, timeoutMs: number): Connection {
  const createClient = exports['createClient'] as (options: object) => NodeRedisConnection
  const client = createClient({ url, socket: { connectTimeout: timeoutMs, reconnectStrategy: false } })
  client.on('error', () => undefined)
  return {
    client,
    connect: () => client.connect(),
    command: (name, ...args) => client.sendCommand([name, ...args]),
    close: () => client.destroy(),
  }
}
