import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from '../../helpers/servers/free-port.js'
import type { RunningServer } from '../../helpers/servers/server-process.js'
import { migrate } from '../harness/place.js'
import { createTcpProxy } from '../harness/tcp-proxy.js'
import { machineMs } from './history.js'
import { CLOSED_PORT, crashPrimary, freezePrimary, type StoreServers, type Target } from './servers.js'

/** A database whose standby follows it a little later. */
export interface Engine {
  readonly client: 'pg' | 'mariadb'
  start(): Promise<RunningServer>
  /** Starts a standby of the primary, whose port is another one for it. */
  startStandby(primary: RunningServer, port: number): Promise<RunningServer>
  /** Marks what the primary has written by now; resolves with a question: whether a standby has that. */
  mark(primary: RunningServer): Promise<(standby: RunningServer) => Promise<boolean>>
  /** Makes a primary of a standby. */
  promote(standby: RunningServer): Promise<unknown>
  /** Copies the data of now to a path. The standby, which has it, may be lost. */
  backUp(primary: RunningServer, standby: RunningServer, path: string): Promise<unknown>
  connect(url: string): Pool
}

interface Pool {
  query(sql: string): Promise<unknown>
  end(): Promise<unknown>
}

/** A primary with a standby that is not synchronous; after every loss the standby is built again. */
export async function startWithStandby(engine: Engine): Promise<StoreServers> {
  let primary = await engine.start()
  const { client } = engine
  const { url } = primary
  await migrate({ client, url })
  const target: Target = { host: primary.host, port: primary.port }
  const replication = createTcpProxy(await findFreePort(), target)
  await replication.listen()
  let standby = await engine.startStandby(primary, replication.port)
  let pinging = engine.connect(url)
  let rebuilding: Promise<void> = Promise.resolve()
  const stopping = new AbortController()

  // In the background, and again when the primary crashes before it is done: it is no part of the fault.
  const rebuildStandby = (): void => {
    const rebuild = async (): Promise<void> => {
      await standby.stop()
      while (!stopping.signal.aborted) {
        try {
          standby = await engine.startStandby(primary, replication.port)
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
    const isOn = await engine.mark(primary)
    while (!stopping.signal.aborted && !(await isOn(standby))) await sleep(20)
  }

  return {
    client,
    target,
    url: (port) => Object.assign(new URL(url), { port: String(port) }).href,
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
        await engine.promote(standby)
        ;[primary, standby] = [standby, primary]
        const pool = pinging
        pinging = engine.connect(primary.url)
        pool.end().catch(() => undefined)
        const lost = { from, to: machineMs() }
        target.port = primary.port
        await replication.listen()
        rebuildStandby()
        return { t0, lost }
      },
      async 'restored backup'(pauseMs) {
        await rebuilding
        const [data, backup, old] = ['data', 'backup', 'lost'].map((name) => join(primary.folder, name)) as [
          string,
          string,
          string,
        ]
        const from = machineMs()
        await synchronize()
        await engine.backUp(primary, standby, backup)
        await sleep(pauseMs)
        const t0 = machineMs()
        await crashPrimary(primary, target, async () => {
          await rename(data, old)
          await rename(backup, data)
        })
        const lost = { from, to: machineMs() }
        await rm(old, { recursive: true })
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
      await pinging.end().catch(() => undefined)
      await Promise.all([primary.stop(), standby.stop()])
    },
  }
}
