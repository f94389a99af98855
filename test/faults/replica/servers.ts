import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from '../../helpers/servers/free-port.js'
import { redisCommand } from '../../helpers/servers/redis-command.js'
import type { RunningServer } from '../../helpers/servers/server-process.js'
import { startPostgres } from '../../helpers/servers/start-postgres.js'
import { startRedis } from '../../helpers/servers/start-redis.js'
import { migrate, type ClientName } from '../harness/place.js'
import { createTcpProxy } from '../harness/tcp-proxy.js'
import { machineMs } from './history.js'

/** The stores that a run can have. */
export type StoreKind = 'redis' | 'postgres'

/** Where the primary is now; proxies read it for every connection. */
export interface Target {
  readonly host: string
  port: number
}

/** What a store lost, and when. */
export interface Loss {
  readonly from: number
  readonly to: number
}

/** The servers of a run. */
export interface StoreServers {
  readonly client: ClientName
  readonly target: Target
  /** The URL of the store through a proxy. */
  url(port: number): string
  /** Kills the primary with -9, waits, and starts it again with its data. */
  crash(pauseMs: number): Promise<void>
  freeze(pauseMs: number): Promise<void>
  /** Removes all data; `null` where that is not a fault that happens. */
  readonly flush: (() => Promise<Loss>) | null
  /**
   * Stops replication, waits, kills the primary and promotes the standby: what was acknowledged meanwhile is lost.
   * `onPromoted` has to lead everybody to the new primary. `null` without a standby.
   */
  readonly failOver: ((pauseMs: number, onPromoted: () => void) => Promise<Loss>) | null
  /** Resolves when the primary answers. */
  ping(): Promise<void>
  stop(): Promise<void>
}

/** Starts the servers of a run. */
export function startServers(kind: StoreKind): Promise<StoreServers> {
  return kind === 'redis' ? startRedisServers() : startPostgresServers()
}

async function startRedisServers(): Promise<StoreServers> {
  // With `no` it writes before it acknowledges, and leaves the rest to the system, which these faults do not kill: as
  // durable here as `always`, without waiting for the disk.
  const settings = { appendfsync: 'no', 'repl-diskless-sync-delay': '0', 'repl-timeout': '5' }
  let [primary, standby] = await Promise.all([startRedis(settings), startRedis(settings)])
  const target: Target = { host: primary.host, port: primary.port }
  const replication = createTcpProxy(await findFreePort(), target)
  await replication.listen()
  const follow = (server: RunningServer): Promise<unknown> =>
    redisCommand(server.url, 'REPLICAOF', '127.0.0.1', String(replication.port))
  await follow(standby)

  // Everything that the primary has acknowledged by now is on the standby when this resolves.
  const synchronize = async (): Promise<void> => {
    const wanted = await readOffset(primary, 'master_repl_offset')
    while ((await readOffset(standby, 'slave_repl_offset')) < wanted) await sleep(5)
  }
  const isSynchronized = async (): Promise<boolean> =>
    ((await redisCommand(standby.url, 'INFO', 'replication')) ?? '').includes('master_link_status:up')

  return {
    client: 'ioredis',
    target,
    url: (port) => `redis://127.0.0.1:${port}`,
    crash: (pauseMs) => crash(primary, target, pauseMs),
    async freeze(pauseMs) {
      await primary.kill('SIGSTOP')
      await sleep(pauseMs)
      await primary.kill('SIGCONT')
    },
    async flush() {
      await redisCommand(primary.url, 'FLUSHALL')
      return { from: 0, to: machineMs() }
    },
    async failOver(pauseMs, onPromoted) {
      while (!(await isSynchronized())) await sleep(20)
      const from = machineMs()
      await synchronize()
      await replication.refuse()
      await sleep(pauseMs)
      await primary.kill('SIGKILL')
      await redisCommand(standby.url, 'REPLICAOF', 'NO', 'ONE')
      ;[primary, standby] = [standby, primary]
      target.port = primary.port
      onPromoted()
      const to = machineMs()
      await replication.listen()
      await standby.restart()
      await follow(standby)
      return { from, to }
    },
    async ping() {
      await redisCommand(primary.url, 'PING')
    },
    async stop() {
      await replication.refuse()
      await Promise.all([primary.stop(), standby.stop()])
    },
  }
}

/**
 * A client that connects while a server is loading its data may wait for a second or more before it tries again, though
 * the server is ready by then. That is the client's property: nobody is led to the server before it answers.
 */
async function crash(primary: RunningServer, target: Target, pauseMs: number): Promise<void> {
  target.port = CLOSED_PORT
  await primary.kill('SIGKILL')
  await sleep(pauseMs)
  await primary.restart()
  target.port = primary.port
}

/** Reserved, so nobody listens there. */
const CLOSED_PORT = 1

async function readOffset(server: RunningServer, name: string): Promise<number> {
  const text = (await redisCommand(server.url, 'INFO', 'replication')) ?? ''
  return Number(new RegExp(`${name}:(\\d+)`).exec(text)?.[1] ?? 0)
}

async function startPostgresServers(): Promise<StoreServers> {
  const primary = await startPostgres()
  await migrate({ client: 'pg', url: primary.url })
  const target: Target = { host: primary.host, port: primary.port }
  return {
    client: 'pg',
    target,
    url: (port) => {
      const url = new URL(primary.url)
      url.port = String(port)
      return url.href
    },
    crash: (pauseMs) => crash(primary, target, pauseMs),
    async freeze(pauseMs) {
      await primary.kill('SIGSTOP')
      await sleep(pauseMs)
      await primary.kill('SIGCONT')
    },
    flush: null,
    failOver: null,
    ping: async () => undefined,
    stop: () => primary.stop(),
  }
}
