import type { ConnectionOptions } from '../sessions/connection-options.js'
import { assertMethods, type StoreConnection, type TokenStore } from '../sessions/token-store.js'
import type { Settings } from './settings.js'

/** The connection of a manager to its store, or `ConfigurationError` for what is none. */
export function connect(
  store: TokenStore,
  settings: Settings,
  parts: Pick<ConnectionOptions, 'now' | 'random' | 'emit'>,
): StoreConnection {
  // Clients of databases have a `connect` too. The other methods are checked by the one that is called here.
  assertMethods(store, ['connect', 'lookup'])
  const { access, refresh } = settings.creation
  return store.connect(store, {
    ...parts,
    timeoutMs: settings.revocationTimeoutMs,
    lifetimes: [access.expires, refresh.expires],
    leeway: settings.claims.leeway,
    grace: settings.refreshGrace,
    idle: settings.refreshIdle,
  })
}
