import { readTimedId } from '../claims/ids.js'
import type { ListOptions } from './session-store.js'

/** A page of sessions, as a store reads it. */
export interface ListPage {
  readonly limit: number
  /** Milliseconds, or `FOREVER`. */
  readonly idleMs: number
  /** Sessions come after this one in descending order of start, then of `sid`; `null` for the first page. */
  readonly before: { readonly startedAt: number; readonly sid: string } | null
}

/** The largest page of sessions that a store reads. */
export const MAX_LIST_LIMIT = 1000

/** What `list` was asked for, or `TypeError`; the start comes from the `sid`, because the session may be gone. */
export function parseListOptions({ limit, before, idleMs }: ListOptions): ListPage {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIST_LIMIT) {
    throw new TypeError(`limit must be a whole number from 1 to ${MAX_LIST_LIMIT}`)
  }
  // No comparison with NaN is ever true: no session would be idle.
  if (typeof idleMs !== 'number' || Number.isNaN(idleMs)) throw new TypeError('idleMs must be a number')
  if (before === null) return { limit, idleMs, before }
  const startedAt = readTimedId(before)
  if (startedAt === null) throw new TypeError('before must be the id of a session, or null')
  return { limit, idleMs, before: { startedAt, sid: before } }
}
