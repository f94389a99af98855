import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import mysql from 'mysql2/promise'
import { findFreePort } from '../../helpers/servers/free-port.js'
import { copyData, follow, type RunningMysql, runSql, startMysql } from '../../helpers/servers/start-mysql.js'
import { migrate } from '../harness/place.js'
import { createTcpProxy } from '../harness/tcp-proxy.js'
import { machineMs } from './history.js'
import { CLOSED_PORT, crashPrimary, freezePrimary, type StoreServers, type Target } from './servers.js'

// A server that was a standby has the whole binary log, so that any other can follow it from the beginning.
const SETTINGS = {
  'log-bin': 'log',
  'sync-binlog': '1',
  'loose-log-slave-updates': 'ON',
  // For a backup of a standby that is restored as a primary.
  'loose-skip-slave-start': 'ON',
  'loose-skip-replica-start': 'ON',
  // What MySQL needs and MariaDB does not know.
  'loose-gtid-mode': 'ON',
  'loose-enforce-gtid-consistency': 'ON',
}

/** A MariaDB, or a MySQL, with an asynchronous standby; after every loss the standby is built again. */
export async function startMysqlServers(): Promise<StoreServers> {
  let servers = 0
  const start = (): Promise<RunningMysql> => startMysql({ ...SETTINGS, 'server-id': String(++servers) })
  let primary = await start()
  const target: Target = { host: primary.host, port: primary.port }
  const replication = createTcpProxy(await findFreePort(), target)
  await replication.listen()
  const startStandby = async (): Promise<RunningMysql> => {
    const server = await start()
    await runSql(server.url, 'set global read_only = 1')
    await follow(server.url, replication.port)
    return server
  }
  await migrate({ client: 'mysql2', url: primary.url })
  await runSql(primary.url, 'create table marks (mark int primary key)')
  let standby = await startStandby()
  let pinging = createPool(primary.url)
  let rebuilding: Promise<void> = Promise.resolve()
  const stopping = new AbortController()

  // In the background: it is no part of the fault.
  const rebuildStandby = (): void => {
    const rebuild = async (): Promise<void> => {
      await standby.stop()
      standby = await startStandby()
    }
    rebuilding = rebuild()
  }
  // Everything that the primary has written by now is on the standby when this resolves.
  let marks = 0
  const synchronize = async (): Promise<void> => {
    const mark = ++marks
    await runSql(primary.url, `insert into marks values (${mark})`)
    while (!stopping.signal.aborted) {
      const found = await runSql(standby.url, `select mark from marks where mark = ${mark}`).catch(() => [])
      if (found.length > 0) return
      await sleep(20)
    }
  }

  return {
    client: 'mariadb',
    target,
    url: (port) => Object.assign(new URL(primary.url), { port: String(port) }).href,
    crash: (pauseMs) => crashPrimary(primary, target, () => sleep(pauseMs)),
    freeze: (pauseMs) => freezePrimary(primary, pauseMs),
    losses: {
      async failover(pauseMs) {
        await rebuilding
        const from = machineMs()
        await synchronize()
        await replication.refuse()
        await sleep(pauseMs)
        const t0 = machineMs()
        target.port = CLOSED_PORT
        await primary.kill('SIGKILL')
        await runSql(standby.url, 'stop replica')
        await runSql(standby.url, 'set global read_only = 0')
        ;[primary, standby] = [standby, primary]
        const pool = pinging
        pinging = createPool(primary.url)
        void pool.end().catch(() => undefined)
        const lost = { from, to: machineMs() }
        target.port = primary.port
        await replication.listen()
        rebuildStandby()
        return { t0, lost }
      },
      // Of the standby, as backups often are: a running server cannot be copied.
      async 'restored backup'(pauseMs) {
        await rebuilding
        const [data, backup, lostData] = ['data', 'backup', 'lost'].map((name) =>
          join(primary.folder, name),
        ) as [string, string, string]
        const from = machineMs()
        await synchronize()
        await standby.kill('SIGKILL')
        copyData(join(standby.folder, 'data'), backup)
        await sleep(pauseMs)
        const t0 = machineMs()
        await crashPrimary(primary, target, async () => {
          await rename(data, lostData)
          await rename(backup, data)
        })
        const lost = { from, to: machineMs() }
        await rm(lostData, { recursive: true })
        rebuildStandby()
        return { t0, lost }
      },
    },
    isolate: null,
    setClock: null,
    async ping() {
      await pinging.query('select 1')
    },
    async stop() {
      stopping.abort()
      await replication.refuse()
      await rebuilding.catch(() => undefined)
      await pinging.end().catch(() => undefined)
      await Promise.all([primary.stop(), standby.stop()])
    },
  }
}

function createPool(url: string): mysql.Pool {
  return mysql.createPool({ uri: url, connectionLimit: 1 })
}
