import type { Application } from './application.js'
import type { Host } from './host.js'
import { createMachine } from './machine.js'
import { type Conditions, createLink, type Link } from './network.js'
import type { Random } from './random.js'
import type { Timeline } from './timeline.js'

/** An application, and the way to it. */
export interface Reached {
  readonly application: Application
  readonly send: Link['send']
}

/** The ways from outside to the applications. */
export interface Ways {
  /** A host whose application is running; `null` if there is none. */
  readonly findHost: () => Host | null
  /** An application that is running; `null` if there is none. */
  readonly findApplication: () => Reached | null
}

/** The ways to the applications of some hosts. */
export function createWays(
  timeline: Timeline,
  random: Random,
  hosts: readonly Host[],
  conditions: Conditions,
): Ways {
  const findHost = (): Host | null => {
    const areAllUp = hosts.every(({ application }) => application !== null)
    const running = areAllUp ? hosts : hosts.filter(({ application }) => application !== null)
    return running.length === 0 ? null : random.pick(running)
  }
  const outside = createMachine(timeline, 'outside', { drift: 0, leadMs: 0 }).startProcess()
  const links = new WeakMap<Application, Link>()
  const findApplication: Ways['findApplication'] = () => {
    const host = findHost()
    if (host?.application == null) return null
    const { application, name } = host
    const { process } = application
    // To the process that answers now.
    const link =
      links.get(application) ??
      createLink(
        timeline,
        random.fork(`way ${name} ${application.life}`),
        outside,
        { isUp: process.isRunning, readSlownessMs: () => 0 },
        { ...conditions, delayMs: 20 },
      )
    links.set(application, link)
    return {
      application,
      send: <Value>(run: () => Promise<Value>) => link.send(() => runIn(application, run)),
    }
  }
  return { findHost, findApplication }
}

/** Runs something in the process of an application. What arrives at one that stands still waits there. */
export function runIn<Value>({ process }: Application, run: () => Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => process.deliver(() => void run().then(resolve, reject)))
}
