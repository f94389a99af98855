import type { OpenedStore } from '../opened-store.js'
import { POSTGRES_CHECKS } from './check-postgres.js'
import { REDIS_CHECKS } from './check-redis.js'
import { notTried, readReplica, REPLICA_CHECKS, type ReplicaFacts } from './check-replica.js'
import { SQLITE_CHECKS } from './check-sqlite.js'
import { STORE_CHECKS, type StoreFacts } from './check-store.js'
import { type Finding, runChecks } from './findings.js'
import { readPostgres } from './read-postgres.js'
import { readRedis } from './read-redis.js'
import { readSqlite } from './read-sqlite.js'

/** How a store is checked. */
export interface StoreCheckOptions {
  /** The address as it was given, of which only the host, the protocol and whether it has a password are read. */
  readonly address: string
  readonly revocationTimeoutMs: number
  readonly withReplica: boolean
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
  const { address, revocationTimeoutMs, withReplica, progress } = options
  const report = await checkKind(opened, address)
  const { latency, clock, isTls } = report.facts
  const facts: StoreFacts = {
    kind: opened.kind,
    host: readHost(address),
    isTls,
    latency,
    clock,
    revocationTimeoutMs,
  }
  const replica = withReplica ? await tryReplica(opened, report.unready, progress) : null
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
  progress: StoreCheckOptions['progress'],
): Promise<ReplicaFacts> {
  if (unready !== null) return notTried(unready)
  progress('opening a replica')
  return readReplica(opened, progress)
}

async function checkKind(opened: OpenedStore, address: string): Promise<KindReport> {
  if (opened.kind === 'redis') {
    const facts = await readRedis(opened.client, opened.namespace, {
      hasPassword: hasPassword(address),
      host: readHost(address),
    })
    return {
      findings: runChecks(facts, REDIS_CHECKS),
      version: facts.info?.get('valkey_version') ?? facts.info?.get('redis_version') ?? null,
      facts: { ...facts, isTls: address.startsWith('rediss:') },
      unready: readUnready(facts.history),
    }
  }
  if (opened.kind === 'postgres') {
    const facts = await readPostgres(opened.client, opened.namespace)
    return {
      findings: runChecks(facts, POSTGRES_CHECKS),
      version: facts.server?.version ?? null,
      facts: { ...facts, isTls: facts.server?.isTls ?? false },
      unready: readUnready(facts.history),
    }
  }
  const facts = await readSqlite(opened.client, toPath(address), opened.namespace)
  const isReady = facts.tablesVersion !== null && facts.journalMode === 'wal'
  return {
    findings: runChecks(facts, SQLITE_CHECKS),
    version: null,
    facts: { latency: facts.latency, clock: null, isTls: false },
    unready: isReady ? null : 'no process of the application has prepared the file',
  }
}

// A store that is opened creates what is missing, and revokes everything where a part is missing.
function readUnready(history: 'whole' | 'damaged' | 'absent' | null): string | null {
  if (history === 'whole') return null
  return history === 'absent'
    ? 'the namespace is empty'
    : 'the data of the namespace is not whole, or not readable'
}

function toPath(address: string): string {
  return address.replace(/^sqlite:(?:\/\/)?/, '')
}

function readHost(address: string): string | null {
  if (address.startsWith('sqlite:')) return null
  // Several hosts, as PostgreSQL allows, are no URL: the first one stands for all.
  const host = /^[a-z]+:\/\/(?:.*@)?(\[[^\]]*\]|[^:/?,@]*)/.exec(address)?.[1] ?? ''
  if (host !== '') return decodeURIComponent(host)
  // PostgreSQL takes the host from a parameter or the environment too.
  if (!address.startsWith('postgres')) return null
  const named = /[?&]host=([^&]+)/.exec(address)?.[1]
  return named === undefined ? (process.env['PGHOST'] ?? null) : decodeURIComponent(named)
}

function hasPassword(address: string): boolean {
  return /^[a-z]+:\/\/[^/?#]*:[^/?#]+@/.test(address)
}
