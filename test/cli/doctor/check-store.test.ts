import { describe, expect, test } from 'vitest'
import { MYSQL_CHECKS } from '../../../packages/cli/src/doctor/check-mysql.js'
import { POSTGRES_CHECKS } from '../../../packages/cli/src/doctor/check-postgres.js'
import { REDIS_CHECKS } from '../../../packages/cli/src/doctor/check-redis.js'
import {
  notTried,
  REPLICA_CHECKS,
  type ReplicaFacts,
} from '../../../packages/cli/src/doctor/check-replica.js'
import { SQLITE_CHECKS } from '../../../packages/cli/src/doctor/check-sqlite.js'
import { STORE_CHECKS, type StoreFacts } from '../../../packages/cli/src/doctor/check-store.js'
import { type Endpoint, readAddress, toPlace, toRedisCli } from '../../../packages/cli/src/doctor/endpoint.js'
import { type Check, type Level, runChecks } from '../../../packages/cli/src/doctor/findings.js'
import type { MysqlFacts, MysqlServerFacts } from '../../../packages/cli/src/doctor/read-mysql.js'
import type { PostgresFacts, ServerFacts } from '../../../packages/cli/src/doctor/read-postgres.js'
import type { RedisFacts } from '../../../packages/cli/src/doctor/read-redis.js'
import {
  type SqlFacts,
  TABLE_NAMES,
  type TableName,
} from '../../../packages/cli/src/doctor/read-sql-server.js'
import type { SqliteFacts } from '../../../packages/cli/src/doctor/read-sqlite.js'
import { printReport } from './print-report.js'

// Here are the facts that no server of a test can be brought to; redis.long.test.ts and its neighbours have the others.

function levelOf<Facts>(id: string, facts: Facts, checks: readonly Check<Facts>[]): Level | null {
  return runChecks(facts, checks).find((finding) => finding.id === id)?.level ?? null
}

function at(host: string | null, hasPassword = true): Endpoint {
  return { host, port: host === null ? null : '6380', isTls: false, hasPassword }
}

const STORE: StoreFacts = {
  kind: 'redis',
  endpoint: at('127.0.0.1'),
  isTls: false,
  latency: { samples: 20, medianMs: 1, worstMs: 5 },
  clock: { differenceMs: 10, uncertaintyMs: 1 },
  revocationTimeoutMs: 250,
}

describe('every store', () => {
  test.each<[string, Level | null, Partial<StoreFacts>]>([
    ['store-latency', 'ok', {}],
    ['store-latency', 'warning', { latency: { samples: 20, medianMs: 30, worstMs: 40 } }],
    ['store-latency', 'warning', { latency: { samples: 20, medianMs: 1, worstMs: 200 } }],
    ['store-latency', 'error', { latency: { samples: 20, medianMs: 300, worstMs: 400 } }],
    [
      'store-latency',
      'ok',
      { latency: { samples: 20, medianMs: 30, worstMs: 40 }, revocationTimeoutMs: 1000 },
    ],
    ['store-latency', 'note', { latency: null }],
    ['store-latency', null, { latency: null, kind: 'sqlite' }],
    ['store-clock', 'ok', {}],
    ['store-clock', 'warning', { clock: { differenceMs: 1500, uncertaintyMs: 1 } }],
    ['store-clock', 'warning', { clock: { differenceMs: -59_000, uncertaintyMs: 1 } }],
    ['store-clock', 'error', { clock: { differenceMs: -61_000, uncertaintyMs: 1 } }],
    // A slow answer is no difference.
    ['store-clock', 'ok', { clock: { differenceMs: 1500, uncertaintyMs: 2000 } }],
    ['store-clock', 'note', { clock: null }],
    ['store-tls', 'ok', {}],
    ['store-tls', 'ok', { endpoint: at(null) }],
    ['store-tls', 'ok', { endpoint: at('[::1]') }],
    ['store-tls', 'ok', { endpoint: at('redis.example'), isTls: true }],
    ['store-tls', 'warning', { endpoint: at('redis.example') }],
    ['store-tls', 'warning', { endpoint: at('127.0.0.1.example') }],
    ['store-tls', null, { endpoint: { ...at(null), host: undefined } }],
    ['store-tls', null, { isTls: null }],
    ['store-tls', null, { kind: 'sqlite' }],
  ])('%s is %s for %o', (id, level, facts) => {
    expect(levelOf(id, { ...STORE, ...facts }, STORE_CHECKS)).toBe(level)
  })
})

const INFO = {
  redis_version: '7.2.0',
  role: 'master',
  aof_enabled: '1',
  maxmemory: '0',
  maxmemory_policy: 'noeviction',
  used_memory: '1000',
}
const REDIS: RedisFacts = {
  info: new Map(Object.entries(INFO)),
  fsync: 'always',
  minReplicas: 0,
  refusal: null,
  write: { error: null, deniedCommands: [], mayPublish: true },
  history: 'whole',
  entries: 1,
  movedTo: null,
  latency: null,
  clock: null,
  endpoint: at('redis.example'),
}
const withInfo = (info: Readonly<Record<string, string>>): Partial<RedisFacts> => ({
  info: new Map(Object.entries({ ...INFO, ...info })),
})
const failing = (error: string): Partial<RedisFacts> => ({ write: { ...REDIS.write, error } })

describe('a Redis server', () => {
  test.each<[string, Level | null, Partial<RedisFacts>]>([
    ['redis-version', 'error', withInfo({ redis_version: '5.0.14' })],
    ['redis-version', 'ok', withInfo({ valkey_version: '8.1.0', redis_version: '7.2.4' })],
    ['redis-role', 'error', { movedTo: '10.0.0.2:6379' }],
    [
      'redis-role',
      'error',
      { info: null, ...failing('-READONLY You can’t write against a read only replica.') },
    ],
    ['store-writable', null, { movedTo: '10.0.0.2:6379' }],
    ['redis-disk', 'error', withInfo({ aof_last_write_status: 'err' })],
    ['redis-disk', 'error', failing('-MISCONF Redis is configured to save RDB snapshots')],
    ['redis-disk', 'ok', {}],
    ['redis-persistence', 'note', { info: new Map([['redis_version', '7.2.0']]) }],
    // Redis Enterprise.
    ['redis-eviction', 'note', withInfo({ maxmemory_policy: '' })],
    ['redis-memory', 'warning', withInfo({ maxmemory: '1100' })],
    ['redis-memory', 'ok', withInfo({ maxmemory: '11000' })],
    ['redis-password', 'error', { endpoint: at('redis.example', false) }],
    ['redis-password', 'note', { endpoint: at('127.0.0.1', false) }],
    ['redis-password', null, { endpoint: { ...at('redis.example'), hasPassword: null } }],
    ['redis-password', 'ok', {}],
    ['redis-failover', 'note', withInfo({ connected_slaves: '2' })],
    ['redis-failover', null, {}],
    ['store-accepted', 'error', { refusal: 'Something that no check here knows' }],
    ['store-accepted', 'ok', {}],
  ])('%s is %s', (id, level, facts) => {
    expect(levelOf(id, { ...REDIS, ...facts }, REDIS_CHECKS)).toBe(level)
  })
})

test('what a server answers cannot write to the terminal', () => {
  const facts = { ...REDIS, ...withInfo({ role: 'slave', master_host: '\u001B]0;title\u0007\u009B2Jhost' }) }
  const [finding] = runChecks(facts, REDIS_CHECKS).filter(({ id }) => id === 'redis-role')
  const lines = printReport(finding === undefined ? [] : [finding])
  expect(lines.join(' ')).toContain('host')
  expect(lines.join('')).not.toMatch(/\p{Cc}/u)
})

const SERVER: ServerFacts = {
  version: '17.2',
  versionNumber: 170_002,
  user: 'app',
  isStandby: false,
  isTls: true,
  isolation: 'read committed',
  synchronousCommit: 'on',
  fsync: 'on',
  fullPageWrites: 'on',
  synchronousStandbys: '',
  standbys: 0,
  autovacuum: 'on',
  statementTimeout: '5s',
  connections: 10,
  maxConnections: 100,
}
const SQL: Omit<SqlFacts, 'server' | 'tables'> = {
  endpoint: { host: 'db.example', port: '5433', isTls: null, hasPassword: true },
  names: Object.fromEntries(TABLE_NAMES.map((name) => [name, `app.shop_${name}`])) as Record<
    TableName,
    string
  >,
  tablesVersion: 1,
  neededVersion: 1,
  refusal: null,
  history: 'whole',
  pruning: null,
  latency: null,
  clock: null,
}
const POSTGRES: PostgresFacts = {
  ...SQL,
  server: SERVER,
  tables: TABLE_NAMES.map((name) => ({
    name,
    persistence: 'p',
    denied: [],
    liveRows: 0,
    deadRows: 0,
    hasAutovacuum: true,
  })),
  indexes: null,
}
const withServer = (server: Partial<ServerFacts>): Partial<PostgresFacts> => ({
  server: { ...SERVER, ...server },
})

describe('a PostgreSQL server', () => {
  test.each<[string, Level | null, Partial<PostgresFacts>]>([
    ['postgres-version', 'error', withServer({ version: '12.9', versionNumber: 120_009 })],
    ['postgres-version', 'note', { server: null }],
    ['postgres-tables', 'note', { tables: null }],
    ['postgres-failover', 'note', withServer({ standbys: 1 })],
    [
      'postgres-failover',
      'note',
      withServer({ standbys: 1, synchronousStandbys: '*', synchronousCommit: 'local' }),
    ],
    ['postgres-failover', 'ok', withServer({ standbys: 1, synchronousStandbys: '*' })],
    ['postgres-connections', 'warning', withServer({ connections: 95 })],
    ['postgres-vacuum', 'warning', withServer({ autovacuum: 'off' })],
    [
      'postgres-vacuum',
      'warning',
      { tables: POSTGRES.tables?.map((table) => ({ ...table, deadRows: 200_000 })) ?? null },
    ],
    ['postgres-vacuum', 'ok', {}],
    ['store-accepted', 'error', { refusal: 'Something that no check here knows' }],
    ['store-accepted', 'ok', {}],
  ])('%s is %s', (id, level, facts) => {
    expect(levelOf(id, { ...POSTGRES, ...facts }, POSTGRES_CHECKS)).toBe(level)
  })
})

const MYSQL_SERVER: MysqlServerFacts = {
  version: '11.4.2',
  isMariadb: true,
  user: "'app'@'%'",
  isTls: true,
  connections: 10,
  maxConnections: 100,
  settings: new Map([
    ['autocommit', 'ON'],
    ['innodb_flush_log_at_trx_commit', '1'],
  ]),
  isReplica: false,
  replicas: 0,
  isSemiSynchronous: false,
}
const MYSQL: MysqlFacts = {
  ...SQL,
  server: MYSQL_SERVER,
  tables: TABLE_NAMES.map((name) => ({ name, engine: 'InnoDB', denied: [] })),
  indexes: null,
}
const withMysql = (
  server: Partial<MysqlServerFacts>,
  settings: Readonly<Record<string, string>> = {},
): Partial<MysqlFacts> => ({
  server: {
    ...MYSQL_SERVER,
    ...server,
    settings: new Map([...MYSQL_SERVER.settings, ...Object.entries(settings)]),
  },
})
const MYSQL_8 = { version: '8.0.36', isMariadb: false } as const

describe('a MySQL server', () => {
  test.each<[string, Level | null, Partial<MysqlFacts>]>([
    ['mysql-version', 'ok', withMysql(MYSQL_8)],
    ['mysql-version', 'error', withMysql({ version: '10.5.9' })],
    ['mysql-version', 'error', withMysql({ ...MYSQL_8, version: '5.7.44' })],
    ['mysql-version', 'note', { server: null }],
    ['mysql-role', 'note', withMysql({ ...MYSQL_8, isReplica: null })],
    ['mysql-role', 'error', withMysql({}, { innodb_read_only: 'ON' })],
    ['mysql-durability', 'ok', withMysql({}, { innodb_flush_log_at_trx_commit: '3' })],
    ['mysql-durability', 'error', withMysql(MYSQL_8, { innodb_doublewrite: 'DETECT_ONLY' })],
    ['mysql-durability', 'error', withMysql({}, { innodb_flush_method: 'nosync' })],
    ['mysql-durability', 'ok', withMysql({}, { log_bin: 'OFF', sync_binlog: '0' })],
    ['mysql-failover', null, withMysql({ ...MYSQL_8, replicas: null })],
    ['mysql-failover', 'ok', withMysql({ replicas: 2, isSemiSynchronous: true })],
    ['mysql-galera', 'error', withMysql({}, { wsrep_on: 'ON', wsrep_sync_wait: '6' })],
    ['mysql-galera', 'ok', withMysql({}, { wsrep_on: 'ON', wsrep_sync_wait: '7' })],
    ['mysql-galera', null, {}],
    ['mysql-session', 'error', withMysql({}, { transaction_read_only: 'ON' })],
    ['mysql-tables', 'note', { tables: null }],
    ['mysql-connections', 'warning', withMysql({ connections: 95 })],
    ['store-accepted', 'error', { refusal: 'Something that no check here knows' }],
  ])('%s is %s', (id, level, facts) => {
    expect(levelOf(id, { ...MYSQL, ...facts }, MYSQL_CHECKS)).toBe(level)
  })
})

const SQLITE: SqliteFacts = {
  path: '/var/lib/app/tokens.db',
  mode: 0o600,
  isOnNetwork: false,
  links: 1,
  freeBytes: 1e10,
  journalMode: 'wal',
  integrity: 'ok',
  tablesVersion: 1,
  ownVersion: 1,
  entries: 0,
  writeError: null,
  pruning: { ended: 0, oldestMs: 0 },
  trustedLeadMs: 0,
  latency: null,
}

describe('a SQLite file', () => {
  test.each<[string, Level | null, Partial<SqliteFacts>]>([
    ['sqlite-filesystem', 'error', { isOnNetwork: true }],
    ['sqlite-space', 'ok', {}],
    ['sqlite-space', 'warning', { freeBytes: 2e8 }],
    ['sqlite-space', 'error', { freeBytes: 1e6 }],
    ['store-writable', 'error', { writeError: 'attempt to write a readonly database' }],
    ['sqlite-permissions', null, { mode: null }],
  ])('%s is %s for %o', (id, level, facts) => {
    expect(levelOf(id, { ...SQLITE, ...facts }, SQLITE_CHECKS)).toBe(level)
  })
})

const REPLICA: ReplicaFacts = {
  error: null,
  isTried: true,
  boundMs: 1000,
  entries: 10,
  firstReadMs: 5,
  oldestMs: 260,
  isWoken: true,
}

describe('a replica', () => {
  test.each<[string, Level | null, Partial<ReplicaFacts>]>([
    ['replica-fresh', 'ok', {}],
    ['replica-fresh', 'warning', { oldestMs: 700 }],
    ['replica-fresh', 'error', { error: 'ECONNRESET' }],
    ['replica-fresh', 'note', notTried('the namespace is empty')],
    ['replica-memory', 'ok', {}],
    ['replica-memory', 'warning', { entries: 6_000_000 }],
    ['replica-memory', null, notTried('the namespace is empty')],
    ['replica-wakeups', 'ok', {}],
    ['replica-wakeups', 'warning', { isWoken: false }],
    ['replica-wakeups', null, { isWoken: null }],
  ])('%s is %s for %o', (id, level, facts) => {
    expect(levelOf(id, { ...REPLICA, ...facts }, REPLICA_CHECKS)).toBe(level)
  })
})

test.each([
  ['redis://127.0.0.1:7000/0', '127.0.0.1:7000', 'redis-cli -h 127.0.0.1 -p 7000'],
  ['redis://:pw@cache.example', 'cache.example:6379', 'redis-cli -h cache.example -p 6379'],
  ['rediss://ada:pw@[::1]:6390', '[::1]:6390', 'redis-cli -h ::1 -p 6390 --tls'],
  ['postgres://ada:pw@db.example/app', 'db.example:5432', null],
  ['postgres://ada:pw@one.example:5433,two.example:5434/app', 'one.example:5433', null],
  ['postgres:///app?host=%2Fvar%2Frun', '/var/run:5432', null],
  ['mysql://ada:pw@db.example/app', 'db.example:3306', null],
  ['mariadb://ada:pw@[::1]:3307/app', '[::1]:3307', null],
])('what to do at %s names %s', (address, place, command) => {
  const endpoint = readAddress(address)
  expect(toPlace(endpoint)).toBe(place)
  if (command !== null) expect(toRedisCli(endpoint)).toBe(command)
})

test('every command that is to be run names the server that was checked', () => {
  const redis = {
    ...REDIS,
    ...withInfo({ aof_enabled: '0', maxmemory_policy: 'allkeys-lru', maxmemory: '9' }),
  }
  const commands = runChecks(redis, REDIS_CHECKS).filter(({ fix }) => fix.includes('redis-cli'))
  expect(commands.map(({ id }) => id)).toEqual(['redis-persistence', 'redis-eviction', 'redis-memory'])
  for (const { fix } of commands) expect(fix).toContain('redis-cli -h redis.example -p 6380 CONFIG SET')
  const server = { ...(POSTGRES.server as ServerFacts), synchronousCommit: 'off', isolation: 'serializable' }
  const statements = runChecks({ ...POSTGRES, server }, POSTGRES_CHECKS).filter(({ fix }) =>
    fix.startsWith('Run'),
  )
  expect(statements.length).toBeGreaterThan(1)
  for (const { fix } of statements) expect(fix).toMatch(/^Run on db\.example:5433: ALTER /)
})

test('what is to be run has the names of the tables as they are', () => {
  const lacking = (POSTGRES.tables ?? []).map((table) => ({ ...table, denied: ['delete'], engine: 'Aria' }))
  const fixes = [
    ...runChecks({ ...MYSQL, tables: lacking, indexes: [] }, MYSQL_CHECKS),
    ...runChecks({ ...POSTGRES, tables: lacking, indexes: [] }, POSTGRES_CHECKS),
  ].filter(({ level, fix }) => level === 'error' && fix.startsWith('Run'))
  expect(fixes.map(({ id }) => id)).toEqual([
    'store-writable',
    'mysql-indexes',
    'mysql-engine',
    'store-writable',
    'postgres-indexes',
  ])
  for (const { fix, title } of fixes) expect([fix, title].join(' ')).not.toContain('tokenlib')
  for (const { fix } of fixes) expect(fix).toContain('app.shop_')
})
