import { statSync } from 'node:fs'
import { createSqliteStore, type SqliteDatabase } from 'tokenlib/sqlite'
import { loadDriver, unavailable } from './driver.js'
import type { OpenedStore, OpenStoreOptions } from './opened-store.js'

interface DatabaseSync extends SqliteDatabase {
  close(): void
}

/** Opens a store in an existing SQLite file, with `node:sqlite` or `@photostructure/sqlite`. */
export async function openSqlite(url: string, options: OpenStoreOptions): Promise<OpenedStore> {
  const path = url.replace(/^sqlite:(?:\/\/)?/, '')
  // SQLite would create a new file for a misspelled path, and nothing would be revoked in the real one.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
    throw unavailable(url, new Error('there is no such file'))
  }
  const { exports } = await loadDriver(['node:sqlite', '@photostructure/sqlite'], options.drivers)
  const Database = exports['DatabaseSync'] as new (path: string) => DatabaseSync
  const database = open(() => new Database(path), url)
  const namespace = options.namespace ?? 'tokenlib_'
  const store = createSqliteStore(database, { prefix: namespace })
  return {
    kind: 'sqlite',
    url,
    namespace,
    store,
    client: { all: (sql) => database.prepare(sql).all() as readonly Record<string, unknown>[] },
    async close() {
      await store.close()
      database.close()
    },
  }
}

function open(create: () => DatabaseSync, url: string): DatabaseSync {
  try {
    return create()
  } catch (cause) {
    throw unavailable(url, cause)
  }
}
