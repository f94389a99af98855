import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicNow } from '../../time.js'
import { isBusy, type SqliteDatabase } from './database.js'

/** How long a statement waits for another process, in milliseconds; nothing else runs in this one meanwhile. */
export const BUSY_TIMEOUT = 200

/** How long a write goes on trying while other processes write, in milliseconds; this one works on meanwhile. */
const PATIENCE = 2000

/** The longest pause between two tries, in milliseconds. */
const LONGEST_PAUSE = 8

/** What to do while another process writes: wait and let nothing else run in this one, or throw at once. */
export type WhenBusy = 'wait' | 'throw'

/** Runs `work` in a transaction that may write: all of what it does is durable afterwards, or nothing is done. */
export function transact<T>(database: SqliteDatabase, whenBusy: WhenBusy, work: () => T): T {
  // Outside of the block, which must not roll back what it has not begun.
  begin(database, whenBusy)
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    rollBack(database)
    throw error
  }
}

/** Tries again while other processes are in the way; a call that finds none of them is done at once. */
export async function untilFree<T>(attempt: () => T): Promise<T> {
  const deadline = monotonicNow() + PATIENCE
  for (;;) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || monotonicNow() >= deadline) throw error
    }
    // SQLite keeps no queue of those who wait: pauses of different lengths keep them from meeting again and again.
    await sleep(Math.ceil(Math.random() * LONGEST_PAUSE))
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
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`)
  }
}

function rollBack(database: SqliteDatabase): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // SQLite has rolled back by itself, as it may when a disk is full.
  }
}
