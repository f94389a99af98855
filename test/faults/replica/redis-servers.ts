import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from '../../helpers/servers/free-port.js'
import { redisCommand } from '../../helpers/servers/redis-command.js'
import type { RunningServer } from '../../helpers/servers/server-process.js'
import { startRedis } from '../../helpers/servers/start-redis.js'
import { createTcpProxy } from '../harness/tcp-proxy.js'
import { machineMs } from './history.js'
import { CLOSED_PORT, crashPrimary, freezePrimary, type StoreServers, type Target } from './servers.js'
import { createServerClock } from './server-clock.js'

/** A primary that has its standby no longer refuses after this, and looks once per second. */
const MAX_LAG_SECONDS = 1

/** A Redis with an asynchronous standby. */
export async function startRedisServers(): Promise<StoreServers> {
  // With `no` it writes before it acknowledges, and leaves the rest to the system, which these faults do not kill: as
  // durable here as `always`, without waiting for the disk.
  const settings = { appendfsync: 'no', 'repl-diskless-sync-delay': '0', 'repl-timeout': '5' }
  const clock = createServerClock()
  const start = (): Promise<RunningServer> => startRedis(settings, clock?.environment)
  let [primary, standby] = await Promise.all([start(), start()])
  const target: Target = { host: primary.host, port: primary.port }
  const replication = createTcpProxy(await findFreePort(), target)
  await replication.listen()
  const follow = (server: RunningServer): Promise<unknown> =>
    redisCommand(server.url, 'REPLICAOF', '127.0.0.1', String(replication.port))
  await follow(standby)

  const isFollowing = async (): Promise<boolean> =>
    ((await redisCommand(standby.url, 'INFO', 'replication')) ?? '').includes('master_link_status:up')
  // Everything that the primary has acknowledged by `from` is on the standby when this resolves.
  const synchronize = async (): Promise<number> => {
    while (!(await isFollowing())) await sleep(20)
    const from = machineMs()
    const wanted = await readOffset(primary, 'master_repl_offset')
    while ((await readOffset(standby, 'slave_repl_offset')) < wanted) await sleep(5)
    return from
  }
  const promote = async (): Promise<void> => {
    await redisCommand(standby.url, 'REPLICAOF', 'NO', 'ONE')
    ;[primary, standby] = [standby, primary]
    target.port = primary.port
  }
  const startStandby = async (): Promise<void> => {
    await replication.listen()
    await standby.restart()
    await follow(standby)
  }

  return {
    client: 'ioredis',
    target,
    url: (port) => `redis://127.0.0.1:${port}`,
    crash: (pauseMs) => crashPrimary(primary, target, () => sleep(pauseMs)),
    freeze: (pauseMs) => freezePrimary(primary, pauseMs),
    losses: {
      async flush() {
        const t0 = machineMs()
        await redisCommand(primary.url, 'FLUSHALL')
        return { t0, lost: { from: 0, to: machineMs() } }
      },
      async failover(pauseMs) {
        const from = await synchronize()
        await replication.refuse()
        await sleep(pauseMs)
        const t0 = machineMs()
        target.port = CLOSED_PORT
        await primary.kill('SIGKILL')
        await promote()
        const to = machineMs()
        await startStandby()
        return { t0, lost: { from, to } }
      },
    },
    async isolate(pauseMs) {
      const from = await synchronize()
      // As on every server of such a deployment; the new primary would need one more standby for it.
      const [old, limits] = [primary, { 'min-replicas-to-write': 1, 'min-replicas-max-lag': MAX_LAG_SECONDS }]
      for (const [name, value] of Object.entries(limits))
        await redisCommand(old.url, 'CONFIG', 'SET', name, String(value))
      const t0 = machineMs()
      // Without a word to either side: a connection that is reset tells the primary immediately.
      replication.setMode({ kind: 'hold' })
      await sleep(pauseMs)
      const promotedAt = machineMs()
      await promote()
      return {
        t0,
        lost: { from, to: machineMs() },
        promotedAt,
        // The lag is counted in whole seconds, and looked at once a second.
        refusesAt: t0 + MAX_LAG_SECONDS * 1000 + 2000,
        async heal() {
          await replication.refuse()
          replication.setMode({ kind: 'pass' })
          await startStandby()
        },
      }
    },
    setClock: clock === null ? null : clock.set,
    async ping() {
      await redisCommand(primary.url, 'PING')
    },
    async stop() {
      await replication.refuse()
      await Promise.all([primary.stop(), standby.stop()])
      clock?.remove()
    },
  }
}

async function readOffset(server: RunningServer, name: string): Promise<number> {
  const text = (await redisCommand(server.url, 'INFO', 'replication')) ?? ''
  return Number(new RegExp(`${name}:(\\d+)`).exec(text)?.[1] ?? 0)
}
