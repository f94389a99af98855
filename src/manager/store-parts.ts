import type { RandomBytes } from '../claims/ids.js'
import { ConfigurationError } from '../errors.js'
import { createEmitter } from '../events.js'
import { FOREVER } from '../revocation/revocation.js'
import { createRevoker } from '../revocation/revoker.js'
import type { RevocationStore } from '../revocation/store.js'
import { createStoreGuard } from '../revocation/store-guard.js'
import { createSessions } from '../sessions/sessions.js'
import type { Clock } from '../time.js'
import type { RevocableParts } from './revocable-tokens.js'
import type { Settings } from './settings.js'

/** What a manager needs of its store, and the events with or without one. */
export function createStoreParts(
  store: RevocationStore | null,
  settings: Settings,
  now: Clock,
  random: RandomBytes,
): RevocableParts {
  const emitter = createEmitter()
  if (store === null) return { emitter, store: null, revoker: null, sessions: null }
  assertStore(store)
  const { longestLifetime, refreshGraceMs, revocationTimeoutMs } = settings
  const { emit } = emitter
  const guard = createStoreGuard(store, { timeoutMs: revocationTimeoutMs, longestLifetime, emit })
  const leeway = settings.claims.leeway * 1000
  const { idle } = settings.creation.refresh
  return {
    emitter,
    store: guard,
    revoker: createRevoker({ store: guard, now, leeway, emit }),
    sessions:
      store.sessions === undefined
        ? null
        : createSessions({
            store: guard,
            now,
            random,
            emit,
            leeway,
            grace: refreshGraceMs,
            idle: idle === null ? FOREVER : idle * 1000,
          }),
  }
}

const METHODS = ['prepare', 'revoke', 'lookup', 'feed', 'prune', 'close'] as const

function assertStore(store: RevocationStore): void {
  const missing = METHODS.filter(
    (method) => typeof (store as Partial<RevocationStore>)?.[method] !== 'function',
  )
  if (missing.length === 0) return
  throw new ConfigurationError(
    `revocation must be a store, such as createSqliteStore makes; it lacks ${missing.join(', ')}`,
  )
}
