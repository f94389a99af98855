import { createHash } from 'node:crypto'
import { ConfigurationError } from '../../errors.js'

/** A client or a cluster of `ioredis`. */
export interface IoredisClient {
  call(command: string, args: string[]): Promise<unknown>
}

/** A client of `redis` (node-redis). */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>
}

/** A cluster of `redis` (node-redis). */
export interface NodeRedisCluster {
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>
  readonly slots: unknown
}

/** A group of servers behind Sentinel, by `redis` (node-redis). */
export interface NodeRedisSentinel {
  sendCommand(isReadonly: boolean, args: string[]): Promise<unknown>
  readonly getSentinelNode: unknown
}

/** A `RedisClient` of Bun. */
export interface BunRedisClient {
  send(command: string, args: string[]): Promise<unknown>
}

/** A client of Redis or Valkey that belongs to the application; the store never connects or closes it. */
export type RedisClient =
  | IoredisClient
  | NodeRedisClient
  | NodeRedisCluster
  | NodeRedisSentinel
  | BunRedisClient

/** What a script answers, whatever the client makes of numbers and bytes. */
export type Reply = string | null | readonly Reply[]

/** Sends a command to the primary that holds a key. */
export type Send = (key: string, args: string[]) => Promise<Reply>

/** One way to send commands through any of the clients. */
export function createSend(client: RedisClient): Send {
  const send = findSend(client)
  return async (key, args) => toReply(await send(key, args))
}

function findSend(client: RedisClient): (key: string, args: string[]) => Promise<unknown> {
  const methods = client as Partial<IoredisClient & NodeRedisClient & BunRedisClient> | null | undefined
  // First, because an ioredis client has a `sendCommand` too, which takes something else.
  if (typeof methods?.call === 'function') {
    assertReadsFromPrimary(client)
    return (_key, [command = '', ...args]) => (client as IoredisClient).call(command, args)
  }
  if (typeof methods?.sendCommand !== 'function') {
    if (typeof methods?.send !== 'function') {
      throw new ConfigurationError(
        'createRedisStore needs a client of ioredis (new Redis(), new Cluster()), of redis (createClient(), ' +
          'createCluster()) or of Bun (new RedisClient())',
      )
    }
    return (_key, [command = '', ...args]) => (client as BunRedisClient).send(command, args)
  }
  // A pool may send two related commands over two connections, and so to two servers after a failover.
  if ('totalClients' in client) {
    throw new ConfigurationError('The Redis store needs a client of its own: pass createClient(), not a pool')
  }
  if ('slots' in client) return (key, args) => client.sendCommand(key, false, args)
  if ('getSentinelNode' in client) return (_key, args) => client.sendCommand(false, args)
  return (_key, args) => (client as NodeRedisClient).sendCommand(args)
}

/** What a replica does not know yet, it would call not revoked. */
function assertReadsFromPrimary(client: { readonly options?: unknown } | RedisClient): void {
  const { scaleReads = 'master' } = ('options' in client ? client.options : {}) as { scaleReads?: unknown }
  if (scaleReads === 'master') return
  throw new ConfigurationError(
    "The Redis store reads from primaries only: pass a cluster with scaleReads 'master', such as " +
      "cluster.duplicate([], { scaleReads: 'master' })",
  )
}

function toReply(value: unknown): Reply {
  if (Array.isArray(value)) return value.map(toReply)
  if (value === null || value === undefined) return null
  // A node-redis client can be told to give bytes, an ioredis client to give numbers as texts.
  const single = value as Buffer | string | number
  return String(single)
}

/** A Lua script and the name that a server knows it by. */
export interface Script {
  readonly source: string
  readonly digest: string
}

/** The script of some Lua source. */
export function createScript(...parts: readonly string[]): Script {
  const source = parts.join('')
  return { source, digest: createHash('sha1').update(source).digest('hex') }
}

/** Runs a script in one atomic step, on the primary that holds its keys. */
export async function runScript(
  send: Send,
  { source, digest }: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<Reply> {
  const [key = ''] = keys
  const rest = [String(keys.length), ...keys, ...args]
  try {
    return await send(key, ['EVALSHA', digest, ...rest])
  } catch (error) {
    // A server forgets scripts when it restarts, fails over or is told to.
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
    return send(key, ['EVAL', source, ...rest])
  }
}

/** Runs a script, given the names of its keys and its own arguments. */
export type Run = (
  script: Script,
  names: readonly string[],
  args: readonly string[],
) => Promise<readonly Reply[]>

interface IoredisSubscriber {
  subscribe(channel: string): Promise<unknown>
  on(event: 'message' | 'error' | 'ready', listener: (...given: never[]) => void): unknown
  disconnect(): void
}

interface NodeRedisSubscriber {
  connect(): Promise<unknown>
  subscribe(channel: string, listener: () => void): Promise<unknown>
  on(event: 'error', listener: () => void): unknown
  destroy(): void
}

interface BunSubscriber {
  connect(): Promise<unknown>
  subscribe(channel: string, listener: () => void): Promise<unknown>
  close(): void
}

/**
 * Calls a listener whenever something is published on a channel. Returns an unsubscribe function.
 *
 * Uses a separate connection, because one that waits for messages can do nothing else. A client that cannot be duplicated
 * is not watched. Errors are ignored, because readers poll as well.
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
