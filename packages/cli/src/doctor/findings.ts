/** How much a finding matters: an `error` must be fixed, a `warning` should be, a `note` is worth knowing. */
export type Level = 'error' | 'warning' | 'note' | 'ok'

/** Every check by its stable id, with the section of the documentation that it is about. */
export const CHECKS = {
  'config-field': 'configuration.md#environment-variables',
  'config-rules': 'configuration.md',
  'config-unknown': 'configuration.md#environment-variables',
  'keys-missing': 'keys.md',
  'secret-strength': 'keys.md',
  'secret-random': 'keys.md',
  'weak-secret-allowed': 'keys.md',
  'previous-key': 'keys.md#rotate-a-key',
  algorithms: 'keys.md',
  'access-lifetime': 'configuration.md#tokens',
  'refresh-lifetime': 'sessions.md#lifetimes',
  'refresh-grace': 'rotation.md#limits',
  leeway: 'configuration.md#tokens',
  'issuer-audience': 'configuration.md#tokens',
  'token-in-query': 'dependencies.md#where-tokens-are-found',
  'cookie-secure': 'cookies-and-csrf.md#settings',
  'cookie-http-only': 'cookies-and-csrf.md#settings',
  'cookie-samesite': 'cookies-and-csrf.md#several-hosts',
  'cookie-domain': 'cookies-and-csrf.md#__host--names',
  'cookie-path': 'configuration.md#cookies',
  csrf: 'cookies-and-csrf.md#why-csrf',
  'revocation-timeout': 'production.md#when-the-store-does-not-answer',
  'signing-key': 'keys.md',
  'issuer-keys': 'issuers.md',
  'node-env': 'production.md#at-start',
  'node-version': 'runtimes.md',
  'store-missing': 'revocation.md',
  'store-shared': 'revocation.md',
  'store-reachable': 'production.md#when-the-store-does-not-answer',
  'store-accepted': 'production.md#at-start',
  'store-latency': 'production.md#when-the-store-does-not-answer',
  'store-clock': 'production.md#clocks',
  'store-writable': 'stores/index.md#what-is-promised',
  'store-history': 'stores/index.md#what-is-promised',
  'store-tls': 'stores/index.md#what-is-promised',
  'store-pruning': 'command-line.md#prune',
  'redis-version': 'stores/redis.md',
  'redis-role': 'stores/redis.md#set-up-the-server',
  'redis-persistence': 'stores/redis.md#set-up-the-server',
  'redis-fsync': 'stores/redis.md#set-up-the-server',
  'redis-disk': 'stores/redis.md#what-it-refuses',
  'redis-eviction': 'stores/redis.md#set-up-the-server',
  'redis-memory': 'stores/redis.md#set-up-the-server',
  'redis-failover': 'stores/redis.md#set-up-the-server',
  'redis-password': 'stores/index.md#what-is-promised',
  'redis-channel': 'stores/redis.md#options',
  'postgres-version': 'stores/postgres.md',
  'postgres-standby': 'stores/postgres.md#set-up-the-server',
  'postgres-durability': 'stores/postgres.md#set-up-the-server',
  'postgres-failover': 'stores/postgres.md#set-up-the-server',
  'postgres-isolation': 'stores/postgres.md#what-it-refuses',
  'postgres-tables': 'stores/postgres.md#migrations',
  'postgres-indexes': 'stores/postgres.md#migrations',
  'postgres-unlogged': 'stores/postgres.md#migrations',
  'postgres-vacuum': 'stores/postgres.md#set-up-the-server',
  'postgres-timeout': 'stores/postgres.md#set-up-the-server',
  'postgres-connections': 'stores/postgres.md#set-up-the-server',
  'mysql-version': 'stores/mysql.md',
  'mysql-role': 'stores/mysql.md#what-it-promises',
  'mysql-durability': 'stores/mysql.md#what-it-refuses',
  'mysql-failover': 'stores/mysql.md#what-it-promises',
  'mysql-binlog': 'stores/mysql.md#what-it-refuses',
  'mysql-galera': 'stores/mysql.md#what-it-refuses',
  'mysql-session': 'stores/mysql.md#connections-that-your-application-shares',
  'mysql-tables': 'stores/mysql.md#create-the-tables',
  'mysql-indexes': 'stores/mysql.md#create-the-tables',
  'mysql-engine': 'stores/mysql.md#what-it-refuses',
  'mysql-timeout': 'stores/mysql.md#what-it-promises',
  'mysql-connections': 'stores/mysql.md',
  'sqlite-filesystem': 'stores/sqlite.md#the-file',
  'sqlite-journal': 'stores/sqlite.md#what-it-refuses',
  'sqlite-tables': 'stores/sqlite.md#what-it-refuses',
  'sqlite-permissions': 'stores/sqlite.md#the-file',
  'sqlite-integrity': 'stores/sqlite.md#the-file',
  'sqlite-space': 'stores/sqlite.md#what-it-refuses',
  'replica-bound': 'stores/replica.md#choose-the-bound',
  'replica-fresh': 'stores/replica.md#choose-the-bound',
  'replica-memory': 'stores/replica.md#limits',
  'replica-wakeups': 'stores/replica.md#what-each-store-adds',
} as const

/** The stable id of a check. */
export type CheckId = keyof typeof CHECKS

/** What one check found. */
export interface Finding {
  readonly id: CheckId
  readonly level: Level
  /** One sentence: what is wrong, or what is fine. */
  readonly title: string
  /** Why it matters; empty if the title is enough. */
  readonly detail: string
  /** One sentence with the command or the variable to set; empty for what is fine. */
  readonly fix: string
  /** The address of the page about it. */
  readonly docs: string
}

/** The texts of a finding. */
export interface FindingTexts {
  readonly title: string
  readonly detail?: string
  readonly fix?: string
}

/** A check of some facts; `null` if it does not apply. */
export type Check<Facts> = (facts: Facts) => Finding | null

const DOCS = 'https://github.com/tokenlib/tokenlib/blob/main/docs/'

/** One finding. */
export function createFinding(
  id: CheckId,
  level: Level,
  { title, detail = '', fix = '' }: FindingTexts,
): Finding {
  return { id, level, title, detail, fix, docs: DOCS + CHECKS[id] }
}

/** A finding that everything is fine. */
export function ok(id: CheckId, title: string): Finding {
  return createFinding(id, 'ok', { title })
}

/** A check that could not run: never silently fine. */
export function notSeen(id: CheckId, what: string, fix: string): Finding {
  return createFinding(id, 'note', { title: `Could not look at ${what}.`, fix })
}

/** Runs checks on the same facts. */
export function runChecks<Facts>(facts: Facts, checks: readonly Check<Facts>[]): Finding[] {
  return checks.map((check) => check(facts)).filter((finding) => finding !== null)
}

const ORDER: readonly Level[] = ['error', 'warning', 'note', 'ok']

/** The findings, most important first; otherwise in the order of the checks. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  const ids = Object.keys(CHECKS)
  return findings.toSorted(
    (a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level) || ids.indexOf(a.id) - ids.indexOf(b.id),
  )
}

/** How many findings have a level. */
export function countLevel(findings: readonly Finding[], level: Level): number {
  return findings.filter((finding) => finding.level === level).length
}
