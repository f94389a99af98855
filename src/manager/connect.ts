import type { RandomBytes } from '../claims/ids.js'
import type { TokenEmitter } from '../events.js'
import { FOREVER } from '../revocation/revocation.js'
import { assertMethods, type StoreConnection, type TokenStore } from '../sessions/token-store.js'
import type { Clock } from '../time.js'
import type { Settings } from './settings.js'

/** The connection of a manager to its store, or `ConfigurationError` for what is none. */
export function connect(
  store: TokenStore,
  settings: Settings,
  now: Clock,
  random: RandomBytes,
  { emit }: TokenEmitter,
): StoreConnection {
  // Clients of databases have a `connect` too. The other methods are checked by the one that is called here.
  assertMethods(store, ['connect', 'lookup'])
  const { idle } = settings.creation.refresh
  return store.connect(store, {
    now,
    random,
    emit,
    timeoutMs: settings.revocationTimeoutMs,
    longestLifetime: settings.longestLifetime,
    retentionMs: settings.retentionMs,
    graceMs: settings.refreshGraceMs,
    idleMs: idle === null ? FOREVER : idle * 1000,
  })
}
