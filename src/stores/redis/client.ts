import { ConfigurationError } from '../../errors.js'

/** A client or a cluster of `ioredis`, or of a package with the same interface. */
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

/** A client of Redis or Valkey that belongs to the application; the store never connects or closes it. */
export type RedisClient = IoredisClient | NodeRedisClient | NodeRedisCluster | NodeRedisSentinel

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
  const given = client as Partial<IoredisClient & NodeRedisClient> | null | undefined
  // First, because an ioredis client has a `sendCommand` too, which takes something else.
  if (typeof given?.call === 'function') {
    assertReadsFromPrimary(client)
    return (_key, [command = '', ...args]) => (client as IoredisClient).call(command, args)
  }
  if (typeof given?.sendCommand !== 'function') {
    throw new ConfigurationError(
      'createRedisStore needs a client of ioredis (new Redis(), new Cluster()) or of redis (createClient(), createCluster())',
    )
  }
  assertOneConnection(client)
  if ('slots' in client) return (key, args) => client.sendCommand(key, false, args)
  if ('getSentinelNode' in client) return (_key, args) => client.sendCommand(false, args)
  return (_key, args) => (client as NodeRedisClient).sendCommand(args)
}

/** Two commands that belong together may go over two connections of a pool, to two servers after a failover. */
function assertOneConnection(client: object): void {
  if (!('totalClients' in client)) return
  throw new ConfigurationError('The Redis store needs a client of its own: pass createClient(), not a pool')
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
