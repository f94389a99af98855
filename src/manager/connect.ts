import type { RandomBytes } from '../claims/ids.js'
import { ConfigurationError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import { FOREVER } from '../revocation/revocation.js'
import type { StoreConnection, TokenStore } from '../sessions/token-store.js'
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
  const missing = METHODS.filter((method) => typeof (store as Partial<TokenStore>)?.[method] !== 'function')
  if (missing.length > 0) {
    throw new ConfigurationError(
      `revocation must be a store, such as createSqliteStore makes; it lacks ${missing.join(', ')}`,
    )
  }
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

const METHODS = ['connect', 'prepare', 'revoke', 'lookup', 'feed', 'prune', 'close'] as const
