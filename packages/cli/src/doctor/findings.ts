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
  'revocation-timeout': 'production.md#deadlines-and-503',
  'signing-key': 'keys.md',
  'issuer-keys': 'issuers.md',
  'node-env': 'production.md#at-start',
  'node-version': 'runtimes.md',
  'store-missing': 'revocation.md',
  'store-shared': 'revocation.md',
  'store-reachable': 'production.md#deadlines-and-503',
  'store-accepted': 'production.md#at-start',
  'store-latency': 'production.md#deadlines-and-503',
  'store-clock': 'production.md#clocks',
  'store-writable': 'production.md#what-is-promised',
  'store-history': 'production.md#what-is-promised',
  'store-tls': 'production.md#what-is-promised',
  'store-pruning': 'production.md#pruning',
  'redis-version': 'stores/redis.md',
  'redis-role': 'production.md#redis',
  'redis-persistence': 'production.md#redis',
  'redis-fsync': 'production.md#redis',
  'redis-disk': 'stores/redis.md#what-it-refuses',
  'redis-eviction': 'production.md#redis',
  'redis-memory': 'production.md#redis',
  'redis-failover': 'production.md#redis',
  'redis-password': 'production.md#what-is-promised',
  'redis-channel': 'stores/redis.md#options',
  'postgres-version': 'stores/postgres.md',
  'postgres-standby': 'production.md#postgresql',
  'postgres-durability': 'production.md#postgresql',
  'postgres-failover': 'production.md#postgresql',
  'postgres-isolation': 'stores/postgres.md#what-it-refuses',
  'postgres-tables': 'stores/postgres.md#the-tables',
  'postgres-indexes': 'stores/postgres.md#the-tables',
  'postgres-unlogged': 'stores/postgres.md#the-tables',
  'postgres-vacuum': 'production.md#postgresql',
  'postgres-timeout': 'production.md#postgresql',
  'postgres-connections': 'production.md#postgresql',
  'sqlite-filesystem': 'production.md#sqlite',
  'sqlite-journal': 'stores/sqlite.md#what-it-refuses',
  'sqlite-tables': 'stores/sqlite.md#what-it-refuses',
  'sqlite-permissions': 'production.md#sqlite',
  'sqlite-integrity': 'production.md#sqlite',
  'sqlite-space': 'stores/sqlite.md#what-it-refuses',
  'replica-bound': 'stores/replica.md#choosing-the-bound',
  'replica-fresh': 'stores/replica.md#choosing-the-bound',
  'replica-memory': 'stores/replica.md#memory',
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
  /** Why it matters; empty where the title says it all. */
  readonly detail: string
  /** One sentence with the command or the variable to set; empty for what is fine. */
  readonly fix: string
  /** The address of the page about it. */
  readonly docs: string
}

/** What a check says beside its id and level. */
export interface FindingTexts {
  readonly title: string
  readonly detail?: string
  readonly fix?: string
}

/** A check of some facts; `null` where it does not apply. */
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

/** What is fine. */
export function ok(id: CheckId, title: string): Finding {
  return createFinding(id, 'ok', { title })
}

/** What could not be looked at: never silently fine. */
export function notSeen(id: CheckId, what: string, fix: string): Finding {
  return createFinding(id, 'note', { title: `Could not look at ${what}.`, fix })
}

/** Runs checks on the same facts. */
export function runChecks<Facts>(facts: Facts, checks: readonly Check<Facts>[]): Finding[] {
  return checks.map((check) => check(facts)).filter((finding) => finding !== null)
}

const ORDER: readonly Level[] = ['error', 'warning', 'note', 'ok']

/** The findings, what matters most first; otherwise in the order of the checks. */
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
