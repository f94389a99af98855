import { statfsSync, type Stats, statSync } from 'node:fs'
import { ConfigurationError } from '../../errors.js'
import { monotonicNow } from '../../time.js'
import type { SqliteDatabase } from './database.js'

/** The path of a database, or `null` for one that lives in this process only. */
export function readPath(database: SqliteDatabase): string | null {
  const rows = database.prepare('PRAGMA database_list').all() as readonly { name: string; file: string }[]
  const path = rows.find(({ name }) => name === 'main')?.file
  return path === undefined || path === '' ? null : path
}

/** Refuses a file on a network: the index of its WAL is shared memory, which other hosts do not share. */
export function assertLocal(path: string): void {
  // The numbers are those of Linux; elsewhere SQLite's own check of WAL mode is all there is.
  if (process.platform !== 'linux' || !isNetworkFileSystem(statfsSync(path).type)) return
  throw new ConfigurationError(
    'The SQLite database is on a network file system, where processes would miss revocations. ' +
      'Keep the file on a local disk, or use the Redis or the Postgres store',
  )
}

/** Whether a type of file system, as `statfs(2)` on Linux numbers it, is NFS or SMB. */
export function isNetworkFileSystem(type: number): boolean {
  return [0x6969, 0x517b, 0xff534d42, 0xfe534d42].includes(type)
}

/** Throws when the files of a database are not the ones at their path any more. */
export interface FileCheck {
  assertInPlace(): void
  /** The same for reads, which are many: it looks at most once in a millisecond. */
  assertInPlaceLately(): void
}

/** For a database that has no file. */
export const NO_FILE: FileCheck = { assertInPlace() {}, assertInPlaceLately() {} }

/**
 * Remembers the files of a database in WAL mode.
 *
 * A handle goes on reading and writing a file that was removed or replaced, and would never see a revocation again.
 * The WAL counts as much as the database: where a process reads the database file by other means, the kernel drops
 * SQLite's locks on it, and an older SQLite that is the next to close the file removes the WAL under this process.
 */
export function createFileCheck(path: string): FileCheck {
  const files = [path, `${path}-wal`, `${path}-shm`].map((name) => ({ name, known: read(name) }))
  assertOneName(files.map(({ known }) => known))
  let seenAt = Number.NEGATIVE_INFINITY

  const assertInPlace = (): void => {
    for (const { name, known } of files) {
      const found = read(name)
      // While a file is open, no other one of its device gets its number.
      if (found === undefined || found.ino !== known?.ino || found.dev !== known.dev) throw gone()
    }
  }

  return {
    assertInPlace,
    assertInPlaceLately() {
      const now = monotonicNow()
      // To open another file, set it up and revoke something in it takes several commits, and longer than this.
      if (now - seenAt < 1) return
      assertInPlace()
      seenAt = now
    },
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

function gone(): Error {
  return new Error(
    'The SQLite database file was replaced or removed while it was open; restart this process to open the new one',
  )
}
