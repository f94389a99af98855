import { DatabaseSync, type DatabaseSyncInstance, type DatabaseSyncOptions } from '@photostructure/sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteStore, type SqliteStoreOptions } from 'tokenlib/sqlite'
import { FOREVER, type Revocation } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { ListOptions } from '../../packages/tokenlib/src/revocation/session-store.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { DATABASE_PARENT } from '../helpers/servers/database-parent.js'

/** How every client of the `node:sqlite` kind is opened. */
export type OpenDatabase = (path: string, options?: DatabaseSyncOptions) => DatabaseSyncInstance

/** A temporary folder with databases. */
export interface DatabaseFolder {
  path(name: string): string
  /** Opens a handle, which is closed with the folder. */
  open(name: string, options?: DatabaseSyncOptions): DatabaseSyncInstance
  openInMemory(): DatabaseSyncInstance
  /** A store that is prepared, on a handle of its own or on a given one. */
  openStore(
    name: string,
    database?: DatabaseSyncInstance,
    options?: SqliteStoreOptions,
  ): Promise<RevocationStore>
  remove(): void
}

export const HOUR = 3_600_000
/** A moment that no token of a test outlives. */
export const LATER = 4_102_444_800_000

/** The first page of a user's sessions. */
export const LIST: ListOptions = { limit: 1000, before: null, idleMs: FOREVER }

/** Every client of the `node:sqlite` kind that this Node has. */
export const CLIENTS: Readonly<Record<string, OpenDatabase>> = {
  '@photostructure/sqlite': (path, options = {}) => new DatabaseSync(path, options),
  ...readBuiltIn(),
}

/** A folder whose databases are opened by one client. */
export function createFolder(
  openDatabase: OpenDatabase = CLIENTS['@photostructure/sqlite']!,
): DatabaseFolder {
  const folder = mkdtempSync(join(DATABASE_PARENT, 'tokenlib-sqlite-'))
  const handles: DatabaseSyncInstance[] = []
  const databases: DatabaseFolder = {
    path: (name) => join(folder, name),
    open(name, options) {
      const database = openDatabase(databases.path(name), options)
      handles.push(database)
      return database
    },
    openInMemory() {
      const database = openDatabase(':memory:')
      handles.push(database)
      return database
    },
    async openStore(name, database = databases.open(name), options = {}) {
      const store = createSqliteStore(database, options)
      await store.prepare({ longestLifetime: HOUR })
      return store
    },
    remove() {
      for (const handle of handles) if (handle.isOpen) handle.close()
      rmSync(folder, { recursive: true })
    },
  }
  return databases
}

/** The revocation of one token. */
export function token(id: string): Revocation {
  return { kind: 'token', id, notBefore: FOREVER, until: LATER }
}

/** Whether each of these tokens is revoked, at once. */
export function isRevoked(store: RevocationStore, ...ids: readonly string[]): readonly boolean[] {
  return ids.map((id) => store.isRevokedNow?.([token(id)], 0) ?? false)
}

// Node 22.13 and later.
function readBuiltIn(): Record<string, OpenDatabase> {
  const builtIn = process.getBuiltinModule('node:sqlite') as { DatabaseSync: typeof DatabaseSync } | undefined
  if (builtIn === undefined) return {}
  return { 'node:sqlite': (path, options = {}) => new builtIn.DatabaseSync(path, options) }
}
