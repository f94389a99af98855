import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { findFreePort } from '../../helpers/servers/free-port.js'
import { backUpPostgres, runSql, startPostgres } from '../../helpers/servers/start-postgres.js'
import { migrate } from '../harness/place.js'
import { createTcpProxy } from '../harness/tcp-proxy.js'
import { machineMs } from './history.js'
import { CLOSED_PORT, crashPrimary, freezePrimary, type StoreServers, type Target } from './servers.js'

/** A PostgreSQL with a standby that is not synchronous; after every loss the standby is built again. */
export async function startPostgresServers(): Promise<StoreServers> {
  let primary = await startPostgres()
  const { url } = primary
  await migrate({ client: 'pg', url })
  const target: Target = { host: primary.host, port: primary.port }
  const replication = createTcpProxy(await findFreePort(), target)
  await replication.listen()
  const onPort = (port: number): string => Object.assign(new URL(url), { port: String(port) }).href
  const startStandby = () => startPostgres({}, onPort(replication.port))
  let standby = await startStandby()
  let pinging = createPool(primary.url)
  let rebuilding: Promise<void> = Promise.resolve()
  const stopping = new AbortController()

  // In the background, and again when the primary crashes meanwhile: it is no part of the fault.
  const rebuildStandby = (): void => {
    const rebuild = async (): Promise<void> => {
      await standby.stop()
      while (!stopping.signal.aborted) {
        try {
          standby = await startStandby()
          return
        } catch {
          await sleep(200)
        }
      }
    }
    rebuilding = rebuild()
  }
  // Everything that the primary has written by now is on the standby when this resolves.
  const synchronize = async (): Promise<void> => {
    const wanted = await runSql(primary.url, 'select pg_current_wal_lsn()')
    while (!stopping.signal.aborted) {
      const sql = `select pg_last_wal_replay_lsn() >= '${wanted}'`
      if ((await runSql(standby.url, sql)) === 't') return
      await sleep(20)
    }
  }

  return {
    client: 'pg',
    target,
    url: onPort,
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
        // It waits until the standby has become a primary.
        await runSql(standby.url, 'select pg_promote()')
        ;[primary, standby] = [standby, primary]
        const pool = pinging
        pinging = createPool(primary.url)
        void pool.end()
        const lost = { from, to: machineMs() }
        target.port = primary.port
        await replication.listen()
        rebuildStandby()
        return { t0, lost }
      },
      async 'restored backup'(pauseMs) {
        await rebuilding
        const from = machineMs()
        const [data, backup] = ['data', 'backup'].map((name) => join(primary.folder, name)) as [
          string,
          string,
        ]
        await backUpPostgres(primary.url, backup)
        await sleep(pauseMs)
        const t0 = machineMs()
        await crashPrimary(primary, target, async () => {
          await rename(data, join(primary.folder, 'lost'))
          await rename(backup, data)
        })
        const lost = { from, to: machineMs() }
        await rm(join(primary.folder, 'lost'), { recursive: true })
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
      await rebuilding
      await pinging.end()
      await Promise.all([primary.stop(), standby.stop()])
    },
  }
}

function createPool(connectionString: string): pg.Pool {
  return new pg.Pool({ connectionString, max: 1 }).on('error', () => undefined)
}
