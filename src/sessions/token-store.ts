import { ConfigurationError } from '../errors.js'
import type { RevocableToken } from '../revocation/check.js'
import type { Revoker } from '../revocation/revoker.js'
import type { RevocationStore } from '../revocation/store.js'
import type { ConnectionOptions } from './connection-options.js'
import type { Sessions } from './sessions.js'

/** A store that a manager can be given. */
export interface TokenStore extends RevocationStore {
  /** Always `connectStore`: what a manager needs to use a store comes with the store, and weighs nothing without one. */
  readonly connect: ConnectStore
}

/** Makes a store ready for one manager. */
export type ConnectStore = (store: RevocationStore, options: ConnectionOptions) => StoreConnection

/** What a manager uses of its store. */
export interface StoreConnection {
  /** Whether the store has revoked a token, at once where it can; `RevocationUnavailableError` when it cannot tell. */
  isRevoked(token: RevocableToken): boolean | Promise<boolean>
  readonly revoker: Revoker
  /** `null` where the store keeps none. */
  readonly sessions: Sessions | null
  /** Resolves once the store has been prepared; waits a few seconds for it, and then says why it is not fit for use. */
  ready(): Promise<void>
  /** Asks the store now, within the deadline; never rejects. */
  health(): Promise<StoreHealth>
  /** Lets the store know of a token that may live longer than any before; epoch seconds, `null` for one that never expires. */
  expect(expiresAt: number | null): void
}

/** Whether a store can be used at this moment. */
export interface StoreHealth {
  readonly status: 'up' | 'down'
  /** How long the store took to answer or fail, in milliseconds; `null` for a manager without a store. */
  readonly responseTimeMs: number | null
  /** What is wrong; `null` when the store answered. */
  readonly error: Error | null
}

/** Throws `ConfigurationError` unless a store has these methods. */
export function assertMethods(store: object, methods: readonly string[], prefix = ''): void {
  const missing = methods
    .filter((method) => typeof store[method as never] !== 'function')
    .map((method) => prefix + method)
  if (missing.length === 0) return
  throw new ConfigurationError(
    `revocation must be a store, such as createSqliteStore makes; it lacks ${missing.join(', ')}`,
  )
}
