import {
  addDuration,
  isWatermark,
  raiseWatermark,
  type Revocation,
  type RevocationKey,
  type RevocationKind,
} from '../../revocation/revocation.js'
import type { FeedPage, Position, RevocationStore } from '../../revocation/store.js'
import { toPage, toResetPage } from '../store-parts.js'
import { type Row, toNumber, toText, type Value } from './client.js'
import type { Entry } from './entries.js'
import { hasLinkSql, type Head, type Page } from './head.js'
import type { History, Transaction } from './history.js'
import { asNumber, groupBy, inParts, repeat } from './statements.js'
import type { Tables } from './tables.js'

/** The revocations of a store. */
export interface Revocations extends Pick<RevocationStore, 'claim' | 'revoke'> {
  lookup(keys: readonly RevocationKey[]): Promise<(number | undefined)[]>
  readonly readFeed: (after: Position | null) => Promise<FeedPage>
  restore(batch: readonly Revocation[]): Promise<void>
  /** Revokes sessions, and returns how many it removed. */
  end(batch: readonly Revocation[]): Promise<number>
}

/** The revocations of a namespace. */
export function createRevocations(history: History, tables: Tables, namespace: string): Revocations {
  const { revocations } = tables

  const revoke = (batch: readonly Revocation[]) =>
    history.write(async (transaction) => {
      const head = await transaction.lock()
      const raised = await raise(batch, head, transaction)
      const removed = await transaction.merge(raised)
      const moments = raised.filter(({ kind }) => isWatermark(kind)).map(({ notBefore }) => notBefore)
      return { now: Math.max(head.now, ...moments), removed }
    })

  return {
    async revoke(batch) {
      const { result, position } = await revoke(batch)
      return { position, now: result.now }
    },
    end: async (batch) => (await revoke(batch)).result.removed,
    async claim(batch) {
      const { result: isFirst, position } = await history.write(async ({ session, entries, lock, merge }) => {
        await lock()
        const [first] = batch
        if (first === undefined || (await entries.has(session, first))) return false
        await merge(batch)
        return true
      })
      return { isFirst, position }
    },
    async restore(batch) {
      await history.write(async ({ lock, merge }) => {
        await lock()
        await merge(batch)
      })
    },
    async lookup(keys) {
      const found = new Map<string, number>()
      for (const part of keys.length === 0 ? [[]] : inParts(keys)) {
        const { page, values } = toLookup(revocations, namespace, part)
        const rows = await history.read(page, values, (_, given) => given)
        for (const [kind, id, notBefore] of rows) {
          if (kind !== null) found.set(`${toText(kind)}:${toText(id)}`, toNumber(notBefore))
        }
      }
      return keys.map(({ kind, id }) => found.get(`${kind}:${id}`))
    },
    async readFeed(after) {
      const [epoch, link, start] = after === null ? [null, '', 0] : readPosition(after)
      const values = [link, link, namespace, String(start)]
      return history.read(toFeed(revocations), values, (head, rows) => {
        const [[hasLink] = []] = rows
        const isSame = after === null || (head.epoch === epoch && toNumber(hasLink) === 1)
        const at = (change: number): Position => `${head.epoch}:${head.link}:${change}`
        if (!isSame || start > head.changes) return toResetPage(at(0))
        const entries = rows.filter(([, kind]) => kind !== null).map(toChange)
        entries.sort((a, b) => a.change - b.change)
        const more = entries.length === PAGE_SIZE
        const change = more ? (entries.at(-1)?.change ?? start) : head.changes
        return toPage(
          entries.map(({ entry }) => entry),
          at(change),
          more,
        )
      })
    },
  }
}

/** How many entries a page of the feed has. */
export const PAGE_SIZE = 1000

// A batch as it is written: watermarks are raised, and sessions live as long as the store knows that they do.
async function raise(
  batch: readonly Revocation[],
  { now, longestLifetime }: Head,
  { session, entries }: Transaction,
): Promise<readonly Entry[]> {
  const raised: Entry[] = []
  for (const entry of batch) {
    const { kind, id } = entry
    if (isWatermark(kind)) {
      const user = kind === 'user' ? id : null
      const newest = await entries.readNewestStart(session, user)
      const notBefore = raiseWatermark(entry.notBefore, newest, now)
      const until = Math.max(entry.until, addDuration(notBefore, longestLifetime))
      raised.push({ ...entry, notBefore, until })
      // What started later than the watermark reaches, because a clock was ahead.
      if (newest > notBefore) raised.push(...(await entries.readLate(session, user, notBefore)))
    } else if (kind === 'session') {
      const until = Math.max(entry.until, addDuration(now, longestLifetime))
      raised.push({ ...entry, until, isAsStored: true })
    } else raised.push(entry)
  }
  return raised.map(toWhole)
}

function toWhole(entry: Entry): Entry {
  return { ...entry, notBefore: Math.ceil(entry.notBefore), until: Math.ceil(entry.until) }
}

/**
 * The page that finds some keys. By kind, because every server reads a list of ids from the primary key, and not every one a
 * list of pairs.
 */
export function toLookup(
  revocations: string,
  namespace: string,
  keys: readonly RevocationKey[],
): { readonly page: Page; readonly values: readonly Value[] } {
  const byKind = groupBy(keys, ({ kind }) => kind)
  const parts: string[] = []
  const values: Value[] = []
  for (const [kind, all] of byKind) {
    for (const part of inParts(all)) {
      parts.push(`select r.kind, r.id, r.not_before from ${revocations} r force index (primary)
where r.namespace = ? and r.kind = ? and r.id in (${repeat('?', part)})`)
      values.push(namespace, kind, ...part.map(({ id }) => id))
    }
  }
  if (parts.length === 0) parts.push('select null as kind, null as id, null as not_before')
  return {
    page: { columns: 'p.kind, p.id, p.not_before', from: `(${parts.join('\nunion all ')}) p` },
    values,
  }
}

function toFeed(revocations: string): Page {
  return {
    columns: `${hasLinkSql(revocations)} as has_link,
p.kind, p.id, p.not_before, p.ends_at, p.change_number`,
    from: `(select r.* from ${revocations} r force index (by_change)
where r.namespace = ? and r.change_number > ${asNumber} order by r.change_number limit ${PAGE_SIZE}) p`,
  }
}

function toChange([, kind, id, notBefore, until, change]: Row): {
  readonly entry: Revocation
  readonly change: number
} {
  const entry = {
    kind: toText(kind) as RevocationKind,
    id: toText(id),
    notBefore: toNumber(notBefore),
    until: toNumber(until),
  }
  return { entry, change: toNumber(change) }
}

// An invalid position is treated like a position in a lost history.
function readPosition(position: Position): readonly [epoch: string, link: string, change: number] {
  const [, epoch = '', link = '', change = 0] = /^([^:]+):([^:]+):(\d{1,16})$/.exec(position) ?? []
  return [epoch, link, Number(change)]
}
