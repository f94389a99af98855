import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import mysql from 'mysql2/promise'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createMysqlStore, type MysqlPool, type MysqlStore } from 'tokenlib/mysql'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { copyData, follow, type RunningMysql, runSql, startMysql } from '../helpers/servers/start-mysql.js'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'

const NEEDS = { longestLifetime: 3_600_000 }
const FOREVER = Number.MAX_SAFE_INTEGER
const WRONG = { code: 'CONFIGURATION_INVALID' }
const PATIENTLY = { timeout: 20_000 }
const LIMIT = 120_000
const ALL = { kind: 'all', id: '' } as const
const RULES = { graceMs: 10_000, idleMs: FOREVER, ip: null, userAgent: null }

const token = (id: string) => ({ kind: 'token', id, notBefore: FOREVER, until: FOREVER }) as const

const createPool = (url: string): mysql.Pool => {
  const pool = mysql.createPool(url)
  onTestFinished(() => pool.end())
  return pool
}

const open = async (client: MysqlPool, warnings: string[] = []): Promise<MysqlStore> => {
  const store = createMysqlStore(client, { onWarning: (text) => warnings.push(text) })
  await store.migrate()
  await store.prepare(NEEDS)
  return store
}

describeWithOwnServer('mysql', 'a MariaDB with a binary log', () => {
  let server: RunningMysql
  beforeAll(async () => void (server = await startMysql({ 'log-bin': 'log' })), LIMIT)
  afterAll(() => server.stop())

  test.each([
    ['innodb_flush_log_at_trx_commit', '2', '1', true],
    ['innodb_flush_log_at_trx_commit', '0', '1', true],
    ['sync_binlog', '0', '1', true],
    ['read_only', '1', '0', false],
    ['autocommit', '0', '1', false],
    ['binlog_format', 'STATEMENT', 'MIXED', false],
  ])('is refused with %s = %s', async (name, wrong, right, isVolatile) => {
    await runSql(server.url, 'set global sync_binlog = 1')
    await createMysqlStore(createPool(server.url)).migrate()
    await runSql(server.url, `set global ${name} = ${wrong}`)
    const pool = createPool(server.url)
    await expect(createMysqlStore(pool).prepare(NEEDS)).rejects.toMatchObject(WRONG)
    const careless = createMysqlStore(pool, { allowVolatile: true }).prepare(NEEDS)
    if (isVolatile) await careless
    else await expect(careless).rejects.toMatchObject(WRONG)
    await runSql(server.url, `set global ${name} = ${right}`)
    await createMysqlStore(createPool(server.url)).prepare(NEEDS)
  })

  test('needs tables of InnoDB, and the right to write to all of them', async () => {
    await runSql(server.url, 'set global sync_binlog = 1')
    const url = await server.createDatabase()
    const pool = createPool(url)
    const store = createMysqlStore(pool)
    await expect(store.prepare(NEEDS)).rejects.toMatchObject(WRONG)
    await store.migrate()
    const name = new URL(url).pathname.slice(1)
    await pool.query(`create user 'app'@'%'`)
    await pool.query(`grant select, insert, update, delete on ${name}.* to 'app'@'%'`)
    const asApp = () => createPool(Object.assign(new URL(url), { username: 'app' }).href)
    await createMysqlStore(asApp()).prepare(NEEDS)
    await pool.query(`revoke delete on ${name}.* from 'app'@'%'`)
    await expect(createMysqlStore(asApp()).prepare(NEEDS)).rejects.toMatchObject(WRONG)
    await pool.query('alter table tokenlib_spent engine = MyISAM')
    await expect(store.prepare(NEEDS)).rejects.toMatchObject(WRONG)
    await pool.query('alter table tokenlib_spent engine = InnoDB')
    await store.prepare(NEEDS)
    const elsewhere = createPool(Object.assign(new URL(url), { pathname: '' }).href)
    await expect(createMysqlStore(elsewhere).prepare(NEEDS)).rejects.toMatchObject(WRONG)
    await createMysqlStore(elsewhere, { database: name }).prepare(NEEDS)
  })
})

describeWithOwnServer('mysql', 'a replica of a MariaDB', () => {
  let primary: RunningMysql
  let replica: RunningMysql
  const settings = {
    'log-bin': 'log',
    'sync-binlog': '1',
    // What a managed MySQL may ask for, and MariaDB does not know.
    'loose-gtid-mode': 'ON',
    'loose-enforce-gtid-consistency': 'ON',
    'loose-sql-require-primary-key': 'ON',
  }
  beforeAll(async () => {
    primary = await startMysql({ ...settings, 'server-id': '1' })
    replica = await startMysql({ ...settings, 'server-id': '2', 'read-only': 'ON' })
    await follow(replica.url, primary.port)
  }, LIMIT)
  afterAll(async () => {
    await replica.stop()
    await primary.stop()
  })

  test('is refused while it only reads; promoted without the last writes, it is found to have lost them', async () => {
    const [current, next] = [createPool(primary.url), createPool(replica.url)]
    // As a name that is moved from one server to the other.
    let now: mysql.Pool = current
    const warnings: string[] = []
    const store = await open({ getConnection: () => now.getConnection() }, warnings)
    const reader = await open({ getConnection: () => now.getConnection() })
    const { sid } = await store.sessions!.open({
      user: 'ada',
      nonce: 'A'.repeat(14),
      expiresAt: FOREVER,
      until: FOREVER,
      ip: null,
      userAgent: null,
    })
    const { position: early } = await store.revoke([token('a')])
    const hasAll = async () => {
      const sql = `select count(*) as n from tokenlib_revocations where id = 'a'`
      return Number((await runSql(replica.url, sql).catch(() => []))[0]?.['n'])
    }
    await expect.poll(hasAll, PATIENTLY).toBe(1)
    await runSql(replica.url, 'stop replica')
    const { position, now: before } = await store.revoke([token('b')])

    now = next
    await expect(createMysqlStore(next).prepare(NEEDS)).rejects.toMatchObject(WRONG)
    for (const call of [
      () => store.lookup([token('b')]),
      () => store.revoke([token('c')]),
      () => store.feed(position, { waitMs: 0 }),
      () => store.sessions!.rotate(sid, firstToken(sid), RULES),
      () => store.spend!('id', NEEDS.longestLifetime),
      () => store.prune(10),
    ])
      await expect(call()).rejects.toThrow('read-only')
    now = current
    expect(await store.lookup([token('b'), ALL])).toEqual([FOREVER, undefined])
    expect(warnings).toEqual([])

    now = next
    await runSql(replica.url, 'set global read_only = 0')
    // One that has not seen what is lost goes on from where it is.
    expect((await reader.feed(early, { waitMs: 0 })).reset).toBe(false)
    expect((await reader.feed(position, { waitMs: 0 })).reset).toBe(true)
    expect((await store.lookup([ALL]))[0]).toBeGreaterThanOrEqual(before)
    expect(warnings).toHaveLength(1)
    expect(await store.sessions!.rotate(sid, firstToken(sid), RULES)).toEqual({ outcome: 'ended' })
    expect((await store.feed(position, { waitMs: 0 })).reset).toBe(true)
  })
})

describeWithOwnServer('mysql', 'a MariaDB whose folder is put back', () => {
  test(
    'is found to have lost what came later, and keeps what it had',
    async () => {
      const server = await startMysql()
      onTestFinished(() => server.stop())
      const pool = createPool(server.url)
      const store = await open(pool)
      await store.revoke([token('a')])
      await server.kill('SIGKILL')
      const [data, backup] = ['data', 'backup'].map((name) => join(server.folder, name)) as [string, string]
      copyData(data, backup)
      await server.restart()
      const revoked = () => store.revoke([token('b')]).catch(() => null)
      await expect.poll(revoked, PATIENTLY).not.toBeNull()
      const { position, now: before } = await store.revoke([token('b')])
      await server.kill('SIGKILL')
      await rm(data, { recursive: true })
      copyData(backup, data)
      await server.restart()
      const watermark = () =>
        store.lookup([ALL]).then(
          ([all]) => all ?? 0,
          () => 0,
        )
      await expect.poll(watermark, PATIENTLY).toBeGreaterThanOrEqual(before)
      expect(await store.lookup([token('a')])).toEqual([FOREVER])
      expect((await store.feed(position, { waitMs: 0 })).reset).toBe(true)
    },
    LIMIT,
  )
})
