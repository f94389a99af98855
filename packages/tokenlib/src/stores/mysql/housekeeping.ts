import { type Clock, createCautiousClock } from '../../time.js'
import { readState, type Server } from './check-server.js'
import { readClock, toMilliseconds } from '../store-parts.js'
import { type Database, DUPLICATE_KEY, readErrorNumber, type Session, toText, type Value } from './client.js'
import { asNumber, groupBy, inParts, nowSql, repeat, toLimit } from './statements.js'
import type { Tables } from './tables.js'

/** What a store does without looking at a history. */
export interface Housekeeping {
  prune(limit: number): Promise<number>
  spend(id: string, keepMs: number): Promise<boolean>
}

/** What housekeeping needs of the store around it. */
export interface HousekeepingOptions {
  readonly namespace: string
  readonly clock: Clock | undefined
  /** Decides what is pruned, together with the server's. */
  readonly trusted: Clock
  readonly server: Server
}

const PRUNE_MARGIN_MS = 60_000 // clocks may differ a little
// Of those that the store writes for itself, which may be as many as its writes.
const OWN_ROWS = 20_000

/** Drops what has ended, and uses ids up. */
export function createHousekeeping(
  database: Database,
  { revocations, sessions, spent }: Tables,
  { namespace, clock, trusted, server }: HousekeepingOptions,
): Housekeeping {
  const pruneClock = createCautiousClock(trusted)
  const time = (): Value => {
    const now = readClock(clock)
    return now === null ? null : String(now)
  }

  // Rows that somebody holds are left for later: waiting for them while holding others could be a deadlock.
  const drop = (
    table: string,
    keys: readonly string[],
    marginMs: number,
    limit: number,
    condition = '',
  ): Promise<number> =>
    database.transact(async (session) => {
      await readState(session, server)
      const rows = await session.read(
        `select ${keys.join()} from ${table} force index (by_end) where namespace = ?${condition}
and ends_at <= least(${nowSql}, ${asNumber}) - ${marginMs} order by ends_at limit ${toLimit(limit)} for update skip locked`,
        [namespace, time(), String(toMilliseconds(pruneClock()))],
      )
      const byKind = groupBy(rows, (row) => (keys.length === 1 ? '' : toText(row[0])))
      let dropped = 0
      for (const [kind, some] of byKind) {
        const ids = some.map((row) => toText(row.at(-1)))
        dropped += await remove(session, table, keys, kind, ids)
      }
      return dropped
    })

  const remove = async (
    session: Session,
    table: string,
    keys: readonly string[],
    kind: string,
    ids: readonly string[],
  ): Promise<number> => {
    const isKind = keys.length === 1 ? '' : ' and kind = ?'
    let removed = 0
    for (const part of inParts(ids)) {
      removed += await session.write(
        `delete from ${table} where namespace = ?${isKind} and ${keys.at(-1)} in (${repeat('?', part)})`,
        [namespace, ...(isKind === '' ? [] : [kind]), ...part],
      )
    }
    return removed
  }

  // The first insert decides. Only an expired row may be taken over, whose end always changes then.
  const trySpend = async (session: Session, id: string, keepMs: string): Promise<boolean | null> => {
    try {
      const inserted = await session.write(
        `insert into ${spent} (namespace, id, ends_at)
select ?, ?, ${nowSql} + ${asNumber} from (select 1 as one) o where ${server.isWritable}`,
        [namespace, id, time(), keepMs],
      )
      if (inserted === 1) return true
      await readState(session, server)
      throw new Error('The MySQL server did not store the id')
    } catch (error) {
      if (readErrorNumber(error) !== DUPLICATE_KEY) throw error
    }
    const taken = await session.write(
      `update ${spent} set ends_at = ${nowSql} + ${asNumber} where namespace = ? and id = ? and ends_at <= ${nowSql}`,
      [time(), keepMs, namespace, id, time()],
    )
    if (taken === 1) return true
    const rows = await session.read(`select 1 from ${spent} where namespace = ? and id = ?`, [namespace, id])
    // Pruned in between.
    return rows.length > 0 ? false : null
  }

  return {
    async prune(limit) {
      // Nothing that the store was given: it does not count.
      await drop(revocations, ['kind', 'id'], PRUNE_MARGIN_MS, OWN_ROWS, ` and kind in ('link', 'turn')`)
      const dropped = [
        await drop(revocations, ['kind', 'id'], PRUNE_MARGIN_MS, limit, ` and kind not in ('link', 'turn')`),
        await drop(sessions, ['sid'], PRUNE_MARGIN_MS, limit),
        await drop(spent, ['id'], 0, limit),
      ]
      return dropped.reduce((sum, count) => sum + count, 0)
    },
    spend: (id, keepMs) =>
      database.use(async (session) => {
        for (let attempt = 0; attempt < 3; attempt++) {
          const isFirst = await trySpend(session, id, String(keepMs))
          if (isFirst !== null) return isFirst
        }
        throw new Error('An id is spent and pruned again and again')
      }),
  }
}
