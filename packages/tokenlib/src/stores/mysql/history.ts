import { createId, systemRandom } from '../../tokens/ids.js'
import { addDuration, raiseWatermark, type Revocation } from '../../revocation/revocation.js'
import type { Clock, Scheduler } from '../../time.js'
import type { LossReporter } from '../loss-reporter.js'
import { retryAfterLoss, toMilliseconds } from '../store-parts.js'
import type { Server } from './check-server.js'
import type { Database, Row, Session, Value } from './client.js'
import { createEntries, type Entries, type Entry } from './entries.js'
import {
  createHeads,
  type FoundHead,
  type Head,
  type KnownHead,
  LINK_TRUSTED_MS,
  NO_EPOCH,
  type Page,
} from './head.js'
import type { Tables } from './tables.js'

/** A transaction about a history. */
export interface Transaction {
  readonly session: Session
  /**
   * Locks the head of the namespace until the commit. So the order of changes is the order of commits, and a reader of the
   * feed never meets a gap that is filled later. Everything else but the turn of a user is locked after it.
   */
  readonly lock: () => Promise<Head>
  /** Reads the head, without a lock, and a page. */
  readonly read: (
    page: Page,
    values: readonly Value[],
  ) => Promise<readonly [head: Head, rows: readonly Row[]]>
  /** Adds entries to the history, which must be locked; returns how many sessions they removed. */
  readonly merge: (entries: readonly Entry[]) => Promise<number>
  readonly entries: Entries
}

/** The result of a transaction, and where the history stands after it. */
export interface Written<Result> {
  readonly result: Result
  readonly position: string
}

/** The history of a namespace, as far as this process knows it. */
export interface History {
  /** Finds the history, or begins it. Every watermark then lives for this long, in milliseconds. */
  enter(longestLifetime: number): Promise<void>
  /**
   * Reads the head and a page in one statement: there is always a row, and one without a page has nulls.
   *
   * If the store has another history, an unknown number of revocations is lost. Everything that started before now is
   * revoked, unless a replica restores the revocations, and the statement runs again. The same goes for `write`.
   */
  read<Result>(
    page: Page,
    values: readonly Value[],
    parse: (head: Head, rows: readonly Row[], session: Session) => Result | Promise<Result>,
  ): Promise<Result>
  write<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Written<Result>>
}

/** How a history is kept. */
export interface HistoryOptions {
  readonly namespace: string
  readonly clock: Clock | undefined
  readonly scheduler: Scheduler
  readonly losses: LossReporter
  readonly server: Server
}

// Thrown to end a transaction that found another history.
const LOST = new Error('The MySQL store has another history')

/** Follows the history of a namespace, and notices when it is lost. */
export function createHistory(
  database: Database,
  tables: Tables,
  { namespace, clock, scheduler, losses, server }: HistoryOptions,
): History {
  const heads = createHeads(tables, namespace, { clock, server })
  const entries = createEntries(tables, namespace)
  let known: KnownHead | null = null
  let knownAt = 0
  let longest = 0
  let recovering: Promise<void> | null = null

  const readKnown = (): KnownHead => {
    if (known === null) throw new Error('The MySQL store is used before its prepare() has resolved')
    // After a pause, the clock of the server does not say how old it is if somebody has set that.
    return scheduler.monotonicNow() - knownAt < LINK_TRUSTED_MS ? known : { ...known, now: 0 }
  }

  const know = (head: KnownHead): void => {
    known = head
    knownAt = scheduler.monotonicNow()
  }

  const note = (head: KnownHead): void => {
    if (known?.epoch === head.epoch && head.changes >= known.changes) know(head)
  }

  // Locks the head, whatever is in it, and creates what is missing. `change` says what the head shall be, and the
  // entries that are new.
  const rewrite = async (
    session: Session,
    before: KnownHead | null,
    change: (found: FoundHead) => Promise<HeadChange>,
  ): Promise<readonly [KnownHead, HeadChange]> => {
    const found = await heads.lockAnyway(session, before)
    const changed = await change(found)
    const { epoch } = changed
    const { now } = found
    const longestLifetime = Math.max(longest, found.longestLifetime)
    const isLonger = longestLifetime > found.longestLifetime
    const short = isLonger ? await entries.readShort(session, longestLifetime) : []
    const given = [...short, ...changed.given]
    if (given.length === 0 && epoch === found.epoch && !isLonger) return [found, changed]
    // Where only the head was lost, no new entry may get the number of an old one.
    const last = Math.max(found.changes, await entries.readLastChange(session))
    if (epoch !== found.epoch) await entries.mark(session, epoch)
    const link = createId(systemRandom)
    await entries.put(session, given, last, { replaced: found.link, now })
    const changes = last + given.length
    await heads.write(session, { epoch, link, changes, longestLifetime })
    return [{ epoch, link, changes, now }, changed]
  }

  const recover = async (lost: KnownHead): Promise<void> => {
    const canRestore = losses.canRestore()
    const [head, { revokedBefore }] = await database.transact((session) =>
      rewrite(session, lost, async ({ now, isWhole, ...found }) => {
        // The first process to find the loss gives the history a new name, and the others keep it.
        const isFirst = found.epoch === lost.epoch || found.epoch === NO_EPOCH || !found.isMarked
        const name = isFirst && !isWhole ? createId(systemRandom) : found.epoch
        // If it is whole, the answer came from somewhere else, such as a replica: nothing is lost.
        if (isWhole || canRestore) return { epoch: name, given: [], revokedBefore: null }
        const newest = await entries.readNewestStart(session, null)
        const moment = raiseWatermark(0, newest, now)
        const until = addDuration(moment, Math.max(longest, found.longestLifetime))
        const late = await entries.readLate(session, null, moment)
        const all = { kind: 'all', id: '', notBefore: moment, until } as const
        return { epoch: name, given: [all, ...late], revokedBefore: moment }
      }),
    )
    know(head)
    if (lost.epoch !== head.epoch) losses.reportHistory()
    if (revokedBefore !== null) losses.report(revokedBefore)
  }

  // Many calls may find the loss at the same time: one of them recovers, by all that is known by then, and the others ask
  // again afterwards.
  const recoverOnce = async (epoch: string): Promise<void> => {
    const newest = readKnown()
    if (newest.epoch !== epoch) return
    recovering ??= recover(newest).finally(() => (recovering = null))
    await recovering
  }

  const retry = async <Result>(attempt: () => Promise<Result>): Promise<Result> => {
    let { epoch } = readKnown()
    const ask = async (): Promise<{ readonly answer: Result } | null> => {
      ;({ epoch } = readKnown())
      try {
        return { answer: await attempt() }
      } catch (error) {
        if (error !== LOST) throw error
        return null
      }
    }
    return (await retryAfterLoss('MySQL', ask, () => recoverOnce(epoch))).answer
  }

  const readWith = async (session: Session, page: Page, values: readonly Value[]) => {
    const before = known
    const answer = await heads.read(session, page, values, readKnown())
    if (answer === null) throw LOST
    // Not if more is known by now: this answer may come from a server that has lost it.
    if (known === before) note(answer[0])
    return answer
  }

  const read: History['read'] = (page, values, parse) =>
    retry(() =>
      database.use(async (session) => parse(...(await readWith(session, page, values)), session), {
        findsLeftover: server.tellsTransaction,
      }),
    )

  return {
    async enter(longestLifetime) {
      longest = Math.max(longest, toMilliseconds(longestLifetime))
      const [head] = await database.transact((session) =>
        rewrite(session, null, async (found) => ({
          // Not of one whose mark is gone: that is a loss, which the read finds.
          epoch: found.epoch === NO_EPOCH ? createId(systemRandom) : found.epoch,
          given: [],
          revokedBefore: null,
        })),
      )
      if (known === null) know(head)
      await read(NO_PAGE, [], () => undefined)
    },
    read,
    write: (work) =>
      retry(async () => {
        const written = await database.transact(async (session) => {
          let head: Head | null = null
          let { changes, link } = { changes: 0, link: '' }
          const result = await work({
            session,
            entries,
            read: (page, values) => readWith(session, page, values),
            async lock() {
              head = await heads.lock(session, readKnown())
              if (head === null) throw LOST
              ;({ changes, link } = head)
              return head
            },
            async merge(given) {
              if (given.length === 0) return 0
              if (head === null) throw new Error('The history of the MySQL store is not locked')
              const removed = await entries.put(session, given, changes, { replaced: link, now: head.now })
              link = createId(systemRandom)
              changes += given.length
              return removed
            },
          })
          const locked = head as Head | null
          // Also without new entries: the caller wants to know whether the store can be written to.
          if (locked !== null) await heads.write(session, { ...locked, changes, link })
          return {
            result,
            position: `${locked?.epoch}:${link}:${changes}`,
            head: locked && { ...locked, link, changes },
          }
        })
        const { result, position, head } = written
        if (head !== null) note(head)
        return { result, position }
      }),
  }
}

interface HeadChange {
  readonly epoch: string
  readonly given: readonly Revocation[]
  readonly revokedBefore: number | null
}

// For a read of the head alone.
const NO_PAGE: Page = { columns: 'p.one', from: '(select 1 as one) p' }
