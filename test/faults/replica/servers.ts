import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningServer } from '../../helpers/servers/server-process.js'
import type { ClientName } from '../harness/place.js'
import type { Fault } from './history.js'

/** Where the primary is now; proxies read it for every connection. */
export interface Target {
  readonly host: string
  port: number
}

/** What a store lost, and when it began to be visible. */
export type Loss = Required<Pick<Fault, 't0' | 'lost'>>

/** A primary that is cut off from its standby, and from everybody but one process. */
export interface Isolation extends Loss {
  readonly promotedAt: number
  /** When the old primary must have noticed, and refuses to answer. */
  readonly refusesAt: number
  /** Ends the old primary, and starts it as the standby of the new one. */
  heal(): Promise<void>
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
  /** Faults that take away what was acknowledged, by name. Each resolves when the store answers again. */
  readonly losses: Readonly<Record<string, (pauseMs: number) => Promise<Loss>>>
  /**
   * Cuts replication, waits, and promotes the standby while the old primary goes on. Everybody is led to the new one
   * from then on: connections that are open have to be cut. `null` where an old primary would not notice.
   */
  readonly isolate: ((pauseMs: number) => Promise<Isolation>) | null
  /** Sets the clock of the servers so many seconds ahead or back; `null` where that cannot be done. */
  readonly setClock: ((seconds: number) => void) | null
  /** Resolves when the primary answers. */
  ping(): Promise<void>
  stop(): Promise<void>
}

/**
 * Kills a primary with -9, and starts it again with its data.
 *
 * A client that connects while a server is loading its data may wait for a second or more before it tries again, though
 * the server is ready by then. That is the client's property: nobody is led to the server before it answers.
 */
export async function crashPrimary(
  primary: RunningServer,
  target: Target,
  whileDown: () => Promise<unknown>,
): Promise<void> {
  target.port = CLOSED_PORT
  await primary.kill('SIGKILL')
  await whileDown()
  await primary.restart()
  target.port = primary.port
}

/** Reserved, so nobody listens there. */
export const CLOSED_PORT = 1

/** Stops a primary with all its processes for a while. */
export async function freezePrimary(primary: RunningServer, pauseMs: number): Promise<void> {
  await primary.kill('SIGSTOP')
  await sleep(pauseMs)
  await primary.kill('SIGCONT')
}
