import { statfsSync, type Stats, statSync } from 'node:fs'
import { sleep } from '../../runtime.js'
import { ConfigurationError } from '../../errors.js'
import { FOREVER } from '../../revocation/revocation.js'
import type { Scheduler } from '../../time.js'
import {
  type Connection,
  SCHEMA_VERSION,
  type SqliteStatement,
  type Tables,
  toTables,
  type WhenBusy,
} from './tables.js'

/** An open handle: a `DatabaseSync` of `node:sqlite` or of `@photostructure/sqlite`, or one of `better-sqlite3`. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  /** Whether a transaction is open, as `node:sqlite` calls it. */
  readonly isTransaction?: boolean
  /** Whether a transaction is open, as `better-sqlite3` calls it. */
  readonly inTransaction?: boolean
}

// By the text of SQLite itself: every client passes it on, and each has its own codes.

function isBusy(error: unknown): boolean {
  return error instanceof Error && /database (table |schema )?is locked/.test(error.message)
}

/** Whether the handle, the file or its folder may only be read. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof Error && error.message.includes('readonly database')
}

/** How long a statement waits for another process, in milliseconds; it blocks this one. */
export const BUSY_TIMEOUT_MS = 200

// How long a write is retried while other processes write. The retries do not block this process.
const BUSY_RETRY_MS = 2000
const MAX_PAUSE_MS = 8

/** The connection of a handle that is set up; `path` is the file that it has open, if its files are to be checked. */
export function createConnection(
  database: SqliteDatabase,
  path: string | null,
  scheduler: Scheduler,
): Connection {
  const assertFiles = path === null ? () => undefined : createFileCheck(path)
  let seenAt = Number.NEGATIVE_INFINITY

  const assertNoTransaction = (): void => {
    // Within somebody else's transaction every read would show the moment when that began.
    if (database.isTransaction === true || database.inTransaction === true) {
      throw new Error('The SQLite store found a transaction open on its handle: it needs a handle of its own')
    }
  }

  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) => database.prepare(sql),
    transact: (whenBusy, work) => transact(database, whenBusy, work),
    retryWhileBusy: (attempt) => retryWhileBusy(attempt, scheduler),
    assertInPlace() {
      assertNoTransaction()
      assertFiles()
    },
    assertInPlaceLately() {
      assertNoTransaction()
      const now = scheduler.monotonicNow()
      // To open another file, set it up and revoke something in it takes several commits, and longer than this.
      if (now - seenAt < 1) return
      assertFiles()
      seenAt = now
    },
  }
}

function transact<T>(database: SqliteDatabase, whenBusy: WhenBusy, work: () => T): T {
  // Outside of the block, which must not roll back what it has not begun.
  begin(database, whenBusy)
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    try {
      database.exec('ROLLBACK')
    } catch {
      // SQLite has rolled back by itself, as it may when a disk is full.
    }
    throw error
  }
}

/** Tries again while other processes are in the way. The first attempt is synchronous. */
export async function retryWhileBusy<T>(attempt: () => T, scheduler: Scheduler): Promise<T> {
  const { monotonicNow } = scheduler
  const deadline = monotonicNow() + BUSY_RETRY_MS
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || monotonicNow() >= deadline) throw error
    }
    // SQLite keeps no queue of those who wait: pauses of different lengths keep them from meeting again and again.
    await sleep(scheduler, Math.ceil(Math.random() * MAX_PAUSE_MS))
  }
}

function begin(database: SqliteDatabase, whenBusy: WhenBusy): void {
  if (whenBusy === 'wait') {
    database.exec('BEGIN IMMEDIATE')
    return
  }
  database.exec('PRAGMA busy_timeout = 0')
  try {
    database.exec('BEGIN IMMEDIATE')
  } finally {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

/** Sets up a handle so that what it commits survives a power cut, and readers and writers do not wait for each other. */
export function configure(database: SqliteDatabase, isFile: boolean): void {
  const row = database.prepare(`SELECT ${FOREVER} AS probe`).get() as { readonly probe?: unknown }
  if (row.probe !== FOREVER) {
    throw new ConfigurationError(
      'The SQLite store needs rows as objects and integers as numbers: ' +
        'open its database without readBigInts, returnArrays or defaultSafeIntegers',
    )
  }
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
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

/** The path of a database, or `null` for one that lives in this process only. */
export function readPath(database: SqliteDatabase): string | null {
  const rows = database.prepare('PRAGMA database_list').all() as readonly { name: string; file: string }[]
  const path = rows.find(({ name }) => name === 'main')?.file
  return path === undefined || path === '' ? null : path
}

/** Refuses a file on a network: the index of its WAL is shared memory, which other hosts do not share. */
export function assertLocal(path: string): void {
  if (!isOnNetwork(path)) return
  throw new ConfigurationError(
    'The SQLite database is on a network file system, where processes would miss revocations. ' +
      'Keep the file on a local disk, or use the Redis or the Postgres store',
  )
}

// The numbers are Linux's; elsewhere SQLite's own check of WAL mode is all there is.
function isOnNetwork(path: string): boolean {
  return process.platform === 'linux' && isNetworkFileSystem(statfsSync(path).type)
}

/** Whether a type of file system, as `statfs(2)` on Linux numbers it, is NFS or SMB. */
export function isNetworkFileSystem(type: number): boolean {
  return [0x6969, 0x517b, 0xff534d42, 0xfe534d42].includes(type)
}

/** What tools need to inspect a database file. */
export interface SqliteInspection {
  readonly tables: Tables
  /** The version of the tables that this release makes. */
  readonly version: number
  /** Whether other machines may use the file, which do not share the index of its WAL. */
  readonly isOnNetwork: boolean
}

/** Tells where a store has its data in a file. */
export function inspectSqlite(path: string, prefix = 'tokenlib_'): SqliteInspection {
  return { tables: toTables(prefix), version: SCHEMA_VERSION, isOnNetwork: isOnNetwork(path) }
}

/**
 * Remembers the files of a database in WAL mode, and returns a function that throws once they were moved or removed.
 *
 * A handle goes on reading and writing a file that was removed or replaced, and would never see a revocation again.
 * The WAL counts as much as the database: where a process reads the database file by other means, the kernel drops
 * SQLite's locks on it, and an older SQLite that is the next to close the file removes the WAL under this process.
 */
function createFileCheck(path: string): () => void {
  const files = [path, `${path}-wal`, `${path}-shm`].map((name) => ({ name, known: read(name) }))
  assertOneName(files.map(({ known }) => known))
  return () => {
    for (const { name, known } of files) {
      const found = read(name)
      // While a file is open, no other one of its device gets its number.
      if (found?.ino === known?.ino && found?.dev === known?.dev && found !== undefined) continue
      throw new Error(
        'The SQLite database file was replaced or removed while it was open; restart this process to open the new one',
      )
    }
  }
}

// Through another name of the file (a hard link, a file that was mounted by itself) other processes have another WAL.
function assertOneName([database, ...beside]: readonly (Stats | undefined)[]): void {
  const isOneDevice = beside.every((file) => file === undefined || file.dev === database?.dev)
  if (database !== undefined && database.nlink === 1 && isOneDevice) return
  throw new ConfigurationError(
    'The SQLite database file has another name, or is mounted by itself: processes would miss revocations. ' +
      'Use one path for it, and mount its folder instead of the file',
  )
}

function read(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}
