import type { RedisClient } from './client.js'

/** A connection of its own for messages, as `ioredis` makes it. */
interface IoredisSubscriber {
  subscribe(channel: string): Promise<unknown>
  on(event: 'message' | 'error' | 'ready', listener: (...given: never[]) => void): unknown
  disconnect(): void
}

/** A connection of its own for messages, as `redis` (node-redis) makes it. */
interface NodeRedisSubscriber {
  connect(): Promise<unknown>
  subscribe(channel: string, listener: () => void): Promise<unknown>
  on(event: 'error', listener: () => void): unknown
  destroy(): void
}

/** A connection of its own for messages, as Bun makes it. */
interface BunSubscriber {
  connect(): Promise<unknown>
  subscribe(channel: string, listener: () => void): Promise<unknown>
  close(): void
}

/**
 * Calls a listener whenever something is published on a channel; returns a function that ends that.
 *
 * On a connection of its own, which the client is asked for: one that waits for messages can do nothing else. Each
 * subscribes again after it was cut off. A client that cannot be duplicated is not watched, and whatever goes
 * wrong here is left to those who poll as well.
 */
export function watchChannel(client: RedisClient, channel: string, listener: () => void): () => void {
  const { duplicate } = client as { readonly duplicate?: () => unknown }
  if (typeof duplicate !== 'function') return () => undefined
  try {
    const connection = duplicate.call(client)
    if ('call' in client) return watchWithIoredis(connection as IoredisSubscriber, channel, listener)
    return 'sendCommand' in client
      ? watchWithNodeRedis(connection as NodeRedisSubscriber, channel, listener)
      : watchWithBun(connection as Promise<BunSubscriber>, channel, listener)
  } catch {
    return () => undefined
  }
}

function watchWithIoredis(connection: IoredisSubscriber, channel: string, listener: () => void): () => void {
  // Without a listener, an error would end the process. It connects again by itself.
  connection.on('error', () => undefined)
  connection.on('message', () => listener())
  const subscribe = (): void => void connection.subscribe(channel).catch(() => undefined)
  // Now, for a client that connects with its first command; and for one that takes none before it is connected.
  connection.on('ready', subscribe)
  subscribe()
  return () => connection.disconnect()
}

function watchWithNodeRedis(
  connection: NodeRedisSubscriber,
  channel: string,
  listener: () => void,
): () => void {
  const start = async (): Promise<void> => {
    await connection.connect()
    await connection.subscribe(channel, listener)
  }
  connection.on('error', () => undefined)
  start().catch(() => undefined)
  return () => connection.destroy()
}

function watchWithBun(duplicated: Promise<BunSubscriber>, channel: string, listener: () => void): () => void {
  let isEnded = false
  const start = async (): Promise<void> => {
    const connection = await duplicated
    if (isEnded) return
    const subscribe = (): void => void connection.subscribe(channel, listener).catch(() => undefined)
    // It connects again by itself, but does not subscribe again; and it may be connected already.
    Object.assign(connection, { onconnect: subscribe })
    await connection.connect()
    subscribe()
  }
  start().catch(() => undefined)
  return () => {
    isEnded = true
    duplicated.then(
      (connection) => connection.close(),
      () => undefined,
    )
  }
}
