import type { Leak, LeakRecord } from './leak-record.js'
import type { SecretText } from './secret-texts.js'

/** Where everything that is watched goes. */
export interface Current {
  /** The record of the test file; none before the watch begins. */
  record: LeakRecord | null
  /** Secrets of earlier test files in this thread, whose modules may still hold them. */
  inherited: readonly SecretText[]
  /** Gets every error as it is made, before its own fields are set. */
  seeError: (error: Error, isPlain: boolean) => void
}

const KEY = Symbol.for('tokenlib: search for leaks')
const place = globalThis as { [KEY]?: Current }

/** One for the thread, however often this module is loaded. */
export const current: Current = (place[KEY] ??= { record: null, inherited: [], seeError: () => {} })

/** Runs a function with a record of its own and returns what leaked; the record of the test file hears nothing. */
export async function searchDuring(record: LeakRecord, run: () => unknown): Promise<Leak[]> {
  const outer = current.record
  current.record = record
  try {
    await run()
    return record.search()
  } finally {
    current.record = outer
  }
}
