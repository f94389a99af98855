import type { RevocationStore } from '../revocation/store.js'

/** What a store was created from, for `tokenlib doctor`, which looks at the server behind it. */
export interface StoreOrigin {
  readonly kind: 'redis' | 'postgres' | 'mysql' | 'sqlite'
  /** The client that the application passed in. */
  readonly client: object
  /** The namespace, or the prefix of the tables in SQLite. */
  readonly namespace: string
  /** Where PostgreSQL (`schema`) or MySQL (`database`) has the tables. */
  readonly tables?:
    | { readonly schema?: string; readonly database?: string; readonly prefix?: string }
    | undefined
  /** The store itself, also where a replica is in front of it. */
  readonly store: RevocationStore
}

// Shared by every copy of this package in a process: the command line may be another one than the application uses.
const ORIGIN = Symbol.for('tokenlib.store-origin')

/** Notes the origin of a store on the store. Not enumerable: a client has passwords, and stores end up in logs. */
export function withOrigin<Store extends RevocationStore>(
  store: Store,
  origin: Omit<StoreOrigin, 'store'> | StoreOrigin | null,
): Store {
  if (origin === null) return store
  return Object.defineProperty(store, ORIGIN, { value: { store, ...origin }, enumerable: false })
}

/** The origin of a store, or `null` for a custom or wrapped store. */
export function readOrigin(store: object): StoreOrigin | null {
  return (store as { readonly [ORIGIN]?: StoreOrigin })[ORIGIN] ?? null
}
