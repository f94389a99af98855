import { type Application, createApplication } from './application.js'
import type { Recorder } from './history.js'
import type { IdentityProvider } from './identity-provider.js'
import type { KeyRing } from './key-ring.js'
import type { Machine } from './machine.js'
import { type Conditions, createLink, type Link, type Peer } from './network.js'
import type { Random } from './random.js'
import { createRemoteStore } from './remote-store.js'
import type { Settings } from './settings.js'
import type { StoreServer } from './store-server.js'
import type { Timeline } from './timeline.js'

/** An application of a world, on its machine; it may be down. */
export interface Host {
  readonly name: string
  readonly machine: Machine
  application: Application | null
  /** To the store. */
  storeLink: Link | null
  start(): void
  kill(): void
}

/** What every host of a world shares with the others. */
export interface HostSurroundings {
  readonly timeline: Timeline
  readonly server: StoreServer
  readonly peer: Peer
  readonly isFull: () => boolean
  readonly conditions: Conditions
  readonly keys: KeyRing
  readonly provider: IdentityProvider
  readonly settings: Settings
  readonly recorder: Recorder
}

/** A host whose application has not been started. */
export function createHost(
  machine: Machine,
  own: Random,
  { timeline, server, peer, isFull, conditions, keys, provider, settings, recorder }: HostSurroundings,
): Host {
  const { name } = machine
  const quiet: StoreServer = { ...server, watch: () => () => {} }
  let life = 0
  const host: Host = {
    name,
    machine,
    application: null,
    storeLink: null,
    start() {
      if (host.application !== null) return
      const process = machine.startProcess()
      const link = createLink(timeline, own.fork(`link ${life}`), process, peer, conditions)
      const application = createApplication({
        place: { application: name, life: life++ },
        process,
        store: createRemoteStore(settings.wakesReplicas ? server : quiet, link, isFull),
        keys: keys.list(),
        provider,
        random: own.fork(`ids ${life}`),
        settings,
        recorder,
        worldNow: timeline.now,
      })
      host.application = application
      host.storeLink = link
      application.ready().catch(() => undefined)
    },
    kill() {
      host.application?.process.kill()
      host.application = null
      host.storeLink = null
    },
  }
  return host
}
