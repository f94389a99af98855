import type { Revocation } from '../../revocation/revocation.js'
import type { FeedPage, Position } from '../../revocation/store.js'
import type { History, HistoryAnswer } from './history.js'
import { PAGE } from './statements.js'

interface Place {
  readonly epoch: string
  /** Of the write-ahead log; it changes when a standby is promoted. */
  readonly timeline: string
  readonly change: number
}

interface FeedAnswer extends HistoryAnswer {
  readonly timeline: string
  readonly entries: readonly (Revocation & { readonly change: number })[]
}

/** Reads one page of the feed. */
export async function readFeed(
  history: History,
  statement: string,
  after: Position | null,
): Promise<FeedPage> {
  const from = after === null ? null : readPosition(after)
  const start = from?.change ?? 0
  const { epoch, timeline, changes, entries } = await history.ask<FeedAnswer>(statement, [start])
  const isThisHistory =
    after === null || (from?.epoch === epoch && from.timeline === timeline && from.change <= changes)
  if (!isThisHistory) {
    const next = toPosition({ epoch, timeline, change: 0 })
    return { entries: [], next, more: false, reset: true, ageMs: 0 }
  }
  const more = entries.length === PAGE
  const change = more ? (entries.at(-1)?.change ?? start) : changes
  return {
    entries: entries.map(({ change: _change, ...entry }) => entry),
    next: toPosition({ epoch, timeline, change }),
    more,
    reset: false,
    ageMs: 0,
  }
}

/** The position of a place in a history. */
export function toPosition({ epoch, timeline, change }: Place): Position {
  return `${epoch}:${timeline}:${change}`
}

const POSITION = /^([\w-]+):([0-9A-F]+):(\d{1,16})$/

function readPosition(position: Position): Place | null {
  const [, epoch, timeline, change] = POSITION.exec(position) ?? []
  if (epoch === undefined || timeline === undefined) return null
  return { epoch, timeline, change: Number(change) }
}
