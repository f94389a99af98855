import type { RevocationStore } from 'tokenlib'
import type { OpenedStore } from '../opened-store.js'
import { MYSQL_CHECKS } from './check-mysql.js'
import { POSTGRES_CHECKS } from './check-postgres.js'
import { REDIS_CHECKS } from './check-redis.js'
import { notTried, readReplica, REPLICA_CHECKS, type ReplicaFacts } from './check-replica.js'
import { SQLITE_CHECKS } from './check-sqlite.js'
import { STORE_CHECKS, type StoreFacts } from './check-store.js'
import type { Endpoint } from './endpoint.js'
import { type Check, type Finding, runChecks } from './findings.js'
import { readMysql } from './read-mysql.js'
import { readPostgres } from './read-postgres.js'
import { readRedis } from './read-redis.js'
import type { SqlFacts } from './read-sql-server.js'
import { readSqlite } from './read-sqlite.js'

/** The options of a store check. */
export interface StoreCheckOptions {
  readonly endpoint: Endpoint
  readonly revocationTimeoutMs: number
  /** Whether a replica is opened for the check. */
  readonly withReplica: boolean
  /** The application's store, if it has a replica; otherwise `null`. */
  readonly replicated: RevocationStore | null
  readonly progress: (text: string) => void
}

/** What was found in a store. */
export interface StoreReport {
  readonly findings: readonly Finding[]
  readonly version: string | null
  readonly latency: StoreFacts['latency']
  readonly clock: StoreFacts['clock']
  readonly replica: ReplicaFacts | null
}

interface KindReport {
  readonly findings: readonly Finding[]
  readonly version: string | null
  readonly facts: Pick<StoreFacts, 'latency' | 'clock' | 'isTls'>
  /** Why a replica must not be opened, or `null`. */
  readonly unready: string | null
}

/** Runs every check that fits an open store. */
export async function checkOpenedStore(
  opened: OpenedStore,
  options: StoreCheckOptions,
): Promise<StoreReport> {
  const { endpoint, revocationTimeoutMs, withReplica, replicated } = options
  const report = await checkKind(opened, options)
  const { latency, clock, isTls } = report.facts
  const facts: StoreFacts = {
    kind: opened.kind,
    endpoint,
    isTls,
    latency,
    clock,
    revocationTimeoutMs,
  }
  const isWatched = withReplica || replicated !== null
  const replica = isWatched ? await tryReplica(opened, report.unready, options) : null
  const findings = [
    ...report.findings,
    ...runChecks(facts, STORE_CHECKS),
    ...(replica === null ? [] : runChecks(replica, REPLICA_CHECKS)),
  ]
  return { findings, version: report.version, latency, clock, replica }
}

async function tryReplica(
  opened: OpenedStore,
  unready: string | null,
  { replicated, progress }: StoreCheckOptions,
): Promise<ReplicaFacts> {
  if (unready !== null) return notTried(unready)
  progress('opening a replica')
  return readReplica(opened, { replicated, progress })
}

async function checkKind(
  opened: OpenedStore,
  { endpoint }: Pick<StoreCheckOptions, 'endpoint'>,
): Promise<KindReport> {
  if (opened.kind === 'redis') {
    const facts = await readRedis(opened.client, opened.namespace, endpoint)
    return {
      findings: runChecks(facts, REDIS_CHECKS),
      version: facts.info?.get('valkey_version') ?? facts.info?.get('redis_version') ?? null,
      facts: { ...facts, isTls: endpoint.isTls },
      unready: readUnready(facts.history),
    }
  }
  if (opened.kind === 'postgres') {
    const facts = await readPostgres(opened.client, endpoint)
    return toSqlReport(facts, POSTGRES_CHECKS)
  }
  if (opened.kind === 'mysql') {
    const facts = await readMysql(opened.client, endpoint)
    return toSqlReport(facts, MYSQL_CHECKS)
  }
  const facts = await readSqlite(opened.client, toPath(opened.url), opened.namespace)
  const isReady = facts.tablesVersion !== null && facts.journalMode === 'wal'
  return {
    findings: runChecks(facts, SQLITE_CHECKS),
    version: null,
    facts: { latency: facts.latency, clock: null, isTls: null },
    unready: isReady ? null : 'no process of the application has prepared the file',
  }
}

function toSqlReport<Facts extends SqlFacts>(facts: Facts, checks: readonly Check<Facts>[]): KindReport {
  return {
    findings: runChecks(facts, checks),
    version: facts.server?.version ?? null,
    facts: { ...facts, isTls: facts.server?.isTls ?? null },
    unready: readUnready(facts.history),
  }
}

// Opening a store creates what is missing, and revokes everything if a part of the data is missing.
function readUnready(history: 'whole' | 'damaged' | 'absent' | null): string | null {
  if (history === 'whole') return null
  return history === 'absent'
    ? 'the namespace is empty'
    : 'the data of the namespace is not whole, or not readable'
}

function toPath(address: string): string {
  return address.replace(/^sqlite:(?:\/\/)?/, '')
}
