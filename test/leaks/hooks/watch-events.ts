import { subscribe } from 'node:diagnostics_channel'
import type { TokenEventName } from '../../../packages/tokenlib/src/kit.js'
import { current } from '../current-record.js'
import { textsOfObject } from '../shown-texts.js'

// Every event is here, or this does not compile.
const NAMES: Readonly<Record<TokenEventName, true>> = {
  issued: true,
  rejected: true,
  loggedIn: true,
  loginFailed: true,
  loggedOut: true,
  revoked: true,
  refreshed: true,
  refreshRepeated: true,
  reuseDetected: true,
  storeLostData: true,
  replicaStale: true,
  replicaFresh: true,
  replicaReset: true,
  keysLoaded: true,
  keysFailed: true,
  storeUnavailable: true,
}

/** Sees every event of every manager, on the channels that are there for it. */
export function watchEvents(): void {
  for (const name of Object.keys(NAMES)) {
    subscribe(`tokenlib:${name}`, (event) => {
      current.record?.show('events', (isThorough) =>
        textsOfObject(`token event "${name}"`, event as object, isThorough),
      )
    })
  }
}
