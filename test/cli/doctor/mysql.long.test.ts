import mysql from 'mysql2/promise'
import { createMysqlStore, migrationSql } from 'tokenlib/mysql'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { describeWithMysql, describeWithOwnServer } from '../../helpers/servers/describe-with-servers.js'
import { type RunningMysql, runSql, startMysql } from '../../helpers/servers/start-mysql.js'
import { readAddress } from '../../../packages/cli/src/doctor/endpoint.js'
import { readMysql } from '../../../packages/cli/src/doctor/read-mysql.js'
import { toMysqlProbe } from '../../../packages/cli/src/open-mysql.js'
import { runCommand } from '../test-terminal.js'
import { type DoctorRun, runDoctor } from './run-doctor.js'

const LATER = 4_102_444_800_000
const PASSWORD = 'hunter2-of-mysql'
const DROP =
  'drop table if exists tokenlib_version, tokenlib_heads, tokenlib_revocations, tokenlib_sessions, tokenlib_spent'

const check = (address: string, ...args: string[]): Promise<DoctorRun> =>
  runDoctor(['--json', '--store', address, ...args])

const errorsOf = ({ document }: DoctorRun): string[] =>
  document.findings.filter(({ level }) => level === 'error').map(({ id }) => id)

async function createTables(url: string): Promise<void> {
  const pool = mysql.createPool(url)
  const store = createMysqlStore(pool, { allowVolatile: true })
  await store.migrate()
  await store.prepare({ longestLifetime: 60_000 })
  await store.close()
  await pool.end()
}

describeWithMysql('doctor and a MariaDB server', (url) => {
  let pool: mysql.Pool
  const database = new URL(url).pathname.slice(1)

  beforeAll(() => void (pool = mysql.createPool(url)))
  beforeEach(() => createTables(url))
  afterEach(async () => void (await pool.query(DROP)))
  afterAll(() => pool.end())

  let users = 0

  /** A user with some rights, and its address. */
  async function createUser(...statements: string[]): Promise<string> {
    const user = `doctor_${process.pid}_${++users}`
    await pool.query(`create user ${user} identified by '${PASSWORD}'`)
    onTestFinished(async () => void (await pool.query(`drop user ${user}`)))
    for (const statement of statements) await pool.query(`${statement} ${user}`)
    return Object.assign(new URL(url), { username: user, password: PASSWORD }).href
  }

  const GRANTS = [
    ...['heads', 'revocations', 'sessions', 'spent'].map(
      (name) => `grant select, insert, update, delete on tokenlib_${name} to`,
    ),
    'grant select on tokenlib_version to',
  ]

  async function readRows(): Promise<unknown> {
    const rows: unknown[] = []
    for (const name of ['version', 'heads', 'revocations', 'sessions', 'spent'])
      rows.push((await pool.query(`select * from tokenlib_${name}`))[0])
    return rows
  }

  test('that is set up well has nothing to mend, and nothing is written', async () => {
    const before = await readRows()
    const { exitCode, document, levels, output } = await check(await createUser(...GRANTS))
    expect(document.findings.filter(({ level }) => level === 'error')).toEqual([])
    expect(exitCode).toBe(0)
    expect(levels).toMatchObject({
      'mysql-version': 'ok',
      'mysql-role': 'note',
      'mysql-durability': 'ok',
      'mysql-session': 'ok',
      'mysql-tables': 'ok',
      'mysql-indexes': 'ok',
      'mysql-engine': 'ok',
      'mysql-timeout': 'note',
      'mysql-connections': 'ok',
      'store-accepted': 'ok',
      'store-writable': 'ok',
      'store-history': 'ok',
      'store-pruning': 'ok',
      'store-latency': 'ok',
      'store-clock': 'ok',
      'store-tls': 'ok',
    })
    expect(document.store).toMatchObject({ kind: 'mysql', latency: { samples: 20 } })
    expect(document.store?.version).toMatch(/^\d+\.\d+\.\d+$/)
    expect(output).not.toContain('hunter2')
    expect(await readRows()).toEqual(before)
  })

  test.each(['select', 'insert', 'update', 'delete'])(
    'a user without the right to %s is found, and the statement of the finding gives it',
    async (right) => {
      const address = await createUser(...GRANTS)
      const user = new URL(address).username
      await pool.query(`revoke ${right} on tokenlib_sessions from ${user}`)
      const run = await check(address)
      expect(run.find('store-writable')?.title).toContain(`${right} on tokenlib_sessions`)
      expect(errorsOf(run)).toEqual(['store-writable'])
      expect(run.exitCode).toBe(1)
      await pool.query(toStatement(run, 'store-writable'))
      expect((await check(address)).exitCode).toBe(0)
    },
  )

  test.each([
    ['mysql-engine', 'error', 'alter table tokenlib_sessions engine = MyISAM'],
    ['mysql-indexes', 'error', 'alter table tokenlib_heads drop primary key'],
    ['mysql-indexes', 'error', 'alter table tokenlib_sessions alter key by_end ignored'],
    [
      'mysql-indexes',
      'error',
      'alter table tokenlib_revocations drop primary key, add primary key (namespace, kind, id(200))',
    ],
    ['mysql-tables', 'error', 'drop table tokenlib_sessions'],
    ['mysql-tables', 'error', 'update tokenlib_version set version = 0'],
    ['store-accepted', 'error', 'update tokenlib_version set version = 99'],
    ['store-history', 'note', 'delete h, r from tokenlib_heads h, tokenlib_revocations r'],
    ['store-history', 'error', 'truncate tokenlib_revocations'],
  ])('%s is found as %s after: %s', async (id, level, statement) => {
    await pool.query(statement)
    const run = await check(url)
    expect(run.levels[id]).toBe(level)
    expect(errorsOf(run)).toEqual(level === 'error' ? [id] : [])
  })

  test('the index that is missing can be created by the statement in the finding', async () => {
    await pool.query('alter table tokenlib_sessions drop key by_user, drop key by_start, drop primary key')
    await pool.query('alter table tokenlib_spent drop key by_end')
    const created: string[] = []
    for (let run = await check(url); run.levels['mysql-indexes'] === 'error'; run = await check(url)) {
      created.push(toStatement(run, 'mysql-indexes'))
      await pool.query(created.at(-1) as string)
    }
    expect(created).toHaveLength(4)
  })

  test('an index that cannot be used can be replaced by the statement in the finding', async () => {
    await pool.query('alter table tokenlib_spent alter key by_end ignored')
    await pool.query('alter table tokenlib_sessions drop primary key, add primary key (namespace, sid(9))')
    for (let runs = 0; runs < 2; runs++) await pool.query(toStatement(await check(url), 'mysql-indexes'))
    expect((await check(url)).levels['mysql-indexes']).toBe('ok')
  })

  test('the right of the finding shows whether the server is a replica', async () => {
    const address = await createUser(...GRANTS)
    const run = await check(address)
    expect(run.levels['mysql-role']).toBe('note')
    await pool.query(toStatement(run, 'mysql-role'))
    expect((await check(address)).levels['mysql-role']).toBe('ok')
  })

  test('without tables it says how to migrate, as every command does', async () => {
    await pool.query(DROP)
    const run = await check(url)
    expect(run.find('mysql-tables')?.fix).toContain('migrationSql()')
    expect(errorsOf(run)).toEqual(['mysql-tables'])
    const listed = await runCommand(['sessions', 'ada'], { env: { TOKENLIB_STORE: url } })
    expect([listed.exitCode, listed.stderr]).toEqual([2, expect.stringContaining('migrate()')])
    for (const statement of migrationSql()) await pool.query(statement)
    expect((await check(url)).levels['mysql-tables']).toBe('ok')
  })

  test.each([
    ['a wrong password', { username: 'nobody_of_doctor', password: PASSWORD }, /Access denied/],
    ['a database that does not exist', { pathname: '/not_there' }, /Unknown database 'not_there'/],
  ])('%s ends with 3 and what the server says', async (_name, parts, message) => {
    const address = Object.assign(new URL(url), parts).href
    const { exitCode, stdout, stderr } = await runCommand(['sessions', 'ada'], {
      env: { TOKENLIB_STORE: address },
    })
    expect([exitCode, stdout]).toEqual([3, ''])
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain(PASSWORD)
    expect((await check(address)).levels['store-reachable']).toBe('error')
  })

  test('a server that stops answering is an error, beside what is wrong with the configuration', async () => {
    const connection = await pool.getConnection()
    await connection.query('lock tables tokenlib_heads write')
    const { exitCode, levels } = await runDoctor(['--json', '--store', url, '--timeout', '500ms'], {
      JWT_SECRET_KEY: 'secret',
    })
    await connection.query('unlock tables')
    connection.release()
    expect(exitCode).toBe(3)
    expect(levels).toMatchObject({ 'store-reachable': 'error', 'secret-strength': 'error' })
  })

  test('expired rows are counted, and pruned', async () => {
    await pool.query(`insert into tokenlib_revocations (namespace, kind, id, not_before, ends_at, change_number)
      select '', 'token', concat('x', seq), 0, 1000, seq from ${database}.seq_1_to_100000`)
    expect((await check(url)).find('store-pruning')).toMatchObject({
      level: 'warning',
      title: expect.stringContaining('100000 expired rows') as string,
    })
    const pruned = await runCommand(['prune', '--batch', '50000', '--json'], { env: { TOKENLIB_STORE: url } })
    expect(pruned.json()).toMatchObject({ dropped: 100_000 })
    expect((await check(url)).levels['store-pruning']).toBe('ok')
  })

  test('a replica of a process becomes fresh, without a change of the data', async () => {
    const store = createMysqlStore(pool, { allowVolatile: true })
    await store.prepare({ longestLifetime: 60_000 })
    await store.revoke([{ kind: 'token', id: 'a', notBefore: Number.MAX_SAFE_INTEGER, until: LATER }])
    await store.close()
    const before = await readRows()
    const { levels, document } = await check(url, '--replica')
    expect(levels['replica-fresh']).not.toBe('error')
    expect(document.replica).toMatchObject({ isTried: true, entries: 1, isWoken: null })
    expect(await readRows()).toEqual(before)
  })
})

/** What a finding says should be run. */
function toStatement(run: DoctorRun, id: string): string {
  return String(run.find(id)?.fix).replace(/^Run on \S+: /, '')
}

describeWithOwnServer('mysql', 'doctor and MariaDB servers of its own', () => {
  let server: RunningMysql
  beforeAll(async () => {
    server = await startMysql({ 'log-bin': 'log', 'sync-binlog': '1', 'server-id': '1' })
    await createTables(server.url)
  })
  afterAll(() => server.stop())

  async function configure(name: string, value: string, before: string): Promise<void> {
    await runSql(server.url, `set global ${name} = ${value}`)
    onTestFinished(async () => {
      // A `set` of another connection, because this one may begin with the wrong value.
      await runSql(server.url, `set global ${name} = ${before}`)
    })
  }

  test.each([
    ['mysql-durability', 'innodb_flush_log_at_trx_commit', '2', '1'],
    ['mysql-durability', 'sync_binlog', '0', '1'],
    ['mysql-role', 'read_only', '1', '0'],
    ['mysql-session', 'autocommit', '0', '1'],
    ['mysql-session', 'sql_mode', "'EMPTY_STRING_IS_NULL'", 'default'],
    ['mysql-session', 'tx_read_only', '1', '0'],
    ['mysql-binlog', 'binlog_format', 'STATEMENT', 'MIXED'],
  ])('%s is found, once, with %s = %s', async (id, name, wrong, right) => {
    await configure(name, wrong, right)
    const run = await check(server.url)
    expect(run.find(id)?.title).toContain(TITLES[name] ?? name)
    expect(errorsOf(run)).toEqual([id])
    expect(run.exitCode).toBe(1)
  })

  test('a setting can be put right by the statement in the finding', async () => {
    await configure('sync_binlog', '0', '1')
    const statement = toStatement(await check(server.url), 'mysql-durability').replace(/;.*/, '')
    await runSql(server.url, statement)
    expect((await check(server.url)).levels['mysql-durability']).toBe('ok')
  })

  test('innodb_doublewrite that is off is found', async () => {
    const other = await startMysql({ 'innodb-doublewrite': 'OFF' })
    onTestFinished(() => other.stop())
    await createTables(other.url)
    expect(errorsOf(await check(other.url))).toEqual(['mysql-durability'])
    await other.kill()
    expect((await check(other.url)).exitCode).toBe(3)
  })

  test('capitals in a prefix are found where the server keeps names in lower case', async () => {
    const other = await startMysql({ 'lower-case-table-names': '1' })
    onTestFinished(() => other.stop())
    const pool = mysql.createPool(other.url)
    onTestFinished(() => pool.end())
    const options = { database: 'tokenlib', prefix: 'App_', allowVolatile: true }
    const store = createMysqlStore(pool, options)
    await store.migrate()
    await store.prepare({ longestLifetime: 60_000 })
    await store.close()
    const place = { ...options, database: 'TokenLib', namespace: '' }
    const probe = await toMysqlProbe(pool, other.url, 5000, place)
    const { tables, indexes } = await readMysql(probe, readAddress(other.url))
    expect(tables).toHaveLength(5)
    expect(indexes?.map(({ isUsable }) => isUsable)).toEqual(Array(11).fill(true))
  })

  test('a replica that accepts writes is found, and that its primary waits for nobody', async () => {
    const replica = await startMysql({ 'log-bin': 'log', 'sync-binlog': '1', 'server-id': '2' })
    onTestFinished(() => replica.stop())
    const { port } = new URL(server.url)
    await runSql(
      replica.url,
      `change master to master_host = '127.0.0.1', master_port = ${port}, master_user = 'tokenlib', master_use_gtid = slave_pos`,
    )
    await runSql(replica.url, 'start slave')
    await expect.poll(async () => (await check(replica.url)).levels['mysql-role']).toBe('warning')
    await expect.poll(async () => (await check(server.url)).levels['mysql-failover']).toBe('note')
    await runSql(replica.url, 'stop slave')
    expect((await check(replica.url)).levels['mysql-role']).toBe('warning')
    await runSql(replica.url, 'set global read_only = 1')
    expect((await check(replica.url)).levels['mysql-role']).toBe('error')
  })
})

const TITLES: Readonly<Record<string, string>> = {
  read_only: 'read-only',
  sql_mode: 'EMPTY_STRING_IS_NULL',
  tx_read_only: 'transaction_read_only',
}
