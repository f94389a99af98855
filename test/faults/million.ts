import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RevocationStore } from '../../packages/tokenlib/src/index.js'
import { redisCommand } from '../helpers/servers/redis-command.js'
import * as mysql from '../helpers/servers/start-mysql.js'
import { runSql } from '../helpers/servers/start-postgres.js'
import { exactly, type FigureRules, percentile } from './harness/figures.js'
import { fillStore, pruneAll, timeLookups } from './harness/fill.js'
import { readOutcome } from './harness/outcomes.js'
import { createTokens, migrate, openStore, PATIENT, type Place } from './harness/place.js'
import { startWorker } from './harness/start-worker.js'
import type { FillReport, FillSizes } from './harness/worker-protocol.js'

/** What came of it. */
export interface MillionOutcome {
  readonly entries: number
  readonly perSecond: number
  readonly bytesPerEntry: number
  readonly firstRefused: number
  readonly missing: number
  readonly typicalLookupMs: number
  readonly slowLookupMs: number
  readonly droppedAlive: number
  readonly expirySeconds?: number
  readonly dropped: number
  readonly pruneSeconds: number
  readonly longestPruneMs: number
  readonly left: number
}

const HOUR = 3_600_000
// By so much a store keeps an entry longer than it has to.
const MARGIN = 60_000

/** Revokes very many tokens in a memory store, in a process of its own. */
export async function runMillionInMemory(program: string, sizes: FillSizes): Promise<MillionOutcome> {
  const worker = startWorker(program, ['--expose-gc'])
  try {
    return toOutcome(sizes, await worker.ask('fillMemory', sizes))
  } finally {
    await worker.kill()
  }
}

/** Revokes very many tokens in SQLite, PostgreSQL or MariaDB, lets the time pass by a clock of its own, and prunes them. */
export async function runMillionInTables(place: Place, sizes: FillSizes): Promise<MillionOutcome> {
  await migrate(place)
  const clock = { offset: 0 }
  const { store, close } = await openStore(place, { clock: () => Date.now() + clock.offset })
  try {
    const report = await fill(store, sizes, Date.now() + HOUR, () => measureTables(place))
    clock.offset = 40 * 24 * HOUR
    const pruned = await pruneAll(store, sizes.pruneLimit)
    const { missing } = await timeLookups(store, report.sample)
    return toOutcome(sizes, {
      ...report,
      dropped: pruned.dropped,
      pruneMs: pruned.totalMs,
      longestPruneMs: pruned.longestMs,
      left: report.sample.length - missing,
    })
  } finally {
    await close()
  }
}

/** Revokes very many tokens in Redis, which drops them by itself, and prunes what is left of their history. */
export async function runMillionInRedis(place: Place, sizes: FillSizes): Promise<MillionOutcome> {
  const { store, close } = await openStore(place)
  const readSize = async (): Promise<number> => Number(await redisCommand(place.url, 'DBSIZE'))
  try {
    await store.prepare({ longestLifetime: HOUR })
    const before = await readSize()
    // Entries that have long ended, to see how fast this machine is: the others must outlive the writing of them,
    // and some looking around.
    const probe = await fillStore(store, { count: sizes.count / 20, batch: sizes.batch, until: 0 })
    const endsAt = Date.now() + 30 * probe.writeMs + 5000 + sizes.count / 100
    const report = await fill(store, sizes, endsAt - MARGIN, () => measureRedis(place.url))
    await sleep(Math.max(0, endsAt - Date.now()))
    while ((await readSize()) > before + OWN_KEYS) await sleep(20)
    const expiryMs = Date.now() - endsAt
    const pruned = await pruneAll(store, sizes.pruneLimit)
    const { missing } = await timeLookups(store, report.sample)
    return toOutcome(sizes, {
      ...report,
      expiryMs,
      dropped: pruned.dropped,
      pruneMs: pruned.totalMs,
      longestPruneMs: pruned.longestMs,
      left: report.sample.length - missing,
    })
  } finally {
    await close()
  }
}

// Of the namespace, the session and the first token.
const OWN_KEYS = 10

type Filling = Omit<FillReport, 'dropped' | 'pruneMs' | 'longestPruneMs' | 'left'> & {
  readonly sample: readonly string[]
}

async function fill(
  store: RevocationStore,
  { count, batch, pruneLimit }: FillSizes,
  until: number,
  measure: () => Promise<number>,
): Promise<Filling> {
  const tokens = createTokens(store, PATIENT)
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
  await tokens.revoke.token(await tokens.verify(accessToken))
  const before = await measure()
  const { writeMs, sample } = await fillStore(store, { count, batch, until })
  const bytes = (await measure()) - before
  const firstRefused = Number((await readOutcome(tokens.verify(accessToken))) === 'revoked')
  const { times, missing } = await timeLookups(store, sample)
  // Not what pruning says: others may have left something that has ended.
  await pruneAll(store, pruneLimit)
  const droppedAlive = (await timeLookups(store, sample)).missing - missing
  return { bytes, writeMs, firstRefused, times, missing, droppedAlive, sample }
}

async function measureTables({ client, url }: Place): Promise<number> {
  if (client === 'mysql2') {
    await mysql.runSql(url, 'analyze table tokenlib_revocations')
    const [table] = await mysql.runSql(
      url,
      `select data_length + index_length as size from information_schema.tables
where table_schema = database() and table_name = 'tokenlib_revocations'`,
    )
    return Number(table?.['size'])
  }
  if (client !== 'sqlite') {
    return Number(await runSql(url, `SELECT pg_total_relation_size('tokenlib_revocations')`))
  }
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const database = new DatabaseSync(url)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  return statSync(url).size
}

async function measureRedis(url: string): Promise<number> {
  const text = await redisCommand(url, 'INFO', 'memory')
  return Number(/^used_memory:(\d+)/m.exec(text ?? '')?.[1])
}

function toOutcome({ count }: FillSizes, report: FillReport): MillionOutcome {
  return {
    entries: count,
    perSecond: count / (report.writeMs / 1000),
    bytesPerEntry: report.bytes / count,
    firstRefused: report.firstRefused,
    missing: report.missing,
    typicalLookupMs: percentile(report.times, 0.5),
    slowLookupMs: percentile(report.times, 0.99),
    droppedAlive: report.droppedAlive,
    ...(report.expiryMs !== undefined && { expirySeconds: report.expiryMs / 1000 }),
    dropped: report.dropped,
    pruneSeconds: report.pruneMs / 1000,
    longestPruneMs: report.longestPruneMs,
    left: report.left,
  }
}

/** How the figures are printed, and what they must be. */
export function millionFigures({ pruneLimit, batch }: FillSizes): FigureRules<MillionOutcome> {
  return {
    entries: { label: `tokens revoked, ${batch.toLocaleString('en-US')} at a time` },
    perSecond: { label: 'written in a second' },
    bytesPerEntry: { label: 'for each entry', unit: 'bytes' },
    firstRefused: { label: 'the first one is still refused (1: yes)', promise: exactly(1) },
    missing: { label: 'entries not found, of some thousand', promise: exactly(0) },
    typicalLookupMs: { label: 'a look-up, p50', unit: 'ms' },
    slowLookupMs: { label: 'a look-up, p99', unit: 'ms' },
    droppedAlive: { label: 'pruned before their end', promise: exactly(0) },
    expirySeconds: { label: 'from their end until the server had dropped them', unit: 's' },
    dropped: { label: 'pruned after their end' },
    pruneSeconds: { label: 'pruning to zero', unit: 's' },
    longestPruneMs: { label: `longest step of ${pruneLimit.toLocaleString('en-US')}`, unit: 'ms' },
    left: { label: 'found afterwards', promise: exactly(0) },
  }
}
