import { ConfigurationError } from '../../errors.js'
import { FOREVER } from '../../revocation/revocation.js'
import type { SqliteDatabase } from './database.js'
import { BUSY_TIMEOUT } from './transaction.js'

/** Sets up a handle so that what it commits survives a power cut, and readers and writers do not wait for each other. */
export function configure(database: SqliteDatabase, isFile: boolean): void {
  assertPlainNumbers(database)
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`)
  const { journal_mode: mode } = database.prepare('PRAGMA journal_mode = WAL').get() as {
    journal_mode: string
  }
  if (isFile && mode !== 'wal') {
    throw new ConfigurationError(
      `The SQLite store needs WAL mode, but this database stays in "${mode}" mode. ` +
        'Keep the file on a local disk, and open it for writing',
    )
  }
  // With less, a power cut may take the last commits with it.
  database.exec('PRAGMA synchronous = FULL')
}

function assertPlainNumbers(database: SqliteDatabase): void {
  const row = database.prepare(`SELECT ${FOREVER} AS probe`).get() as { readonly probe?: unknown }
  if (row.probe === FOREVER) return
  throw new ConfigurationError(
    'The SQLite store needs rows as objects and integers as numbers: ' +
      'open its database without readBigInts, returnArrays or defaultSafeIntegers',
  )
}
