import mysql from 'mysql2/promise'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createMysqlStore, type MysqlPool, type MysqlStore } from 'tokenlib/mysql'
import { describeWithMysql } from '../helpers/servers/describe-with-servers.js'
import { asMysql } from './mysql-contract.js'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'

const HOUR = 3_600_000
const FOREVER = Number.MAX_SAFE_INTEGER
const NEEDS = { longestLifetime: HOUR }
const WRONG = { code: 'CONFIGURATION_INVALID' }
const RULES = { graceMs: 0, idleMs: FOREVER, ip: null, userAgent: null }
// INNODB_TRX shows what it showed before if it is read again within a tenth of a second.
const PATIENTLY = { timeout: 20_000, interval: 250 }

const token = (id: string) => ({ kind: 'token', id, notBefore: FOREVER, until: FOREVER }) as const

describeWithMysql('connections that others of the application have used', (url) => {
  const pool = mysql.createPool(url)
  let namespace: string
  let count = 0
  let store: MysqlStore
  afterAll(() => pool.end())
  beforeEach(async () => {
    namespace = `n${++count}`
    store = createMysqlStore(pool, { namespace })
    await store.migrate()
    await store.prepare(NEEDS)
  })
  // A pool of one connection, and a store that is prepared before anybody has used it otherwise.
  const openOne = async (adapt = (one: mysql.Pool): MysqlPool => one) => {
    const one = mysql.createPool({ uri: url, connectionLimit: 1 })
    onTestFinished(() => one.end())
    const opened = createMysqlStore(adapt(one), { namespace })
    await opened.prepare(NEEDS)
    return { one, opened }
  }
  const countWaiters = async (): Promise<number> => {
    const sql = `select trx_state as state from information_schema.innodb_trx where trx_state = 'LOCK WAIT'`
    return (await pool.query<mysql.RowDataPacket[]>(sql))[0].length
  }
  const session = async () => {
    const { now } = await store.revoke([])
    const nonce = `nonce${++count}`.padEnd(14, 'A')
    return { user: 'ada', nonce, expiresAt: now + HOUR, until: now + HOUR, ip: null, userAgent: null }
  }

  test.each([
    ['MariaDB', (one: mysql.Pool): MysqlPool => one],
    ['MySQL', asMysql],
  ])(
    'a transaction that was left behind on %s hides no revocation, and is not committed',
    async (_, adapt) => {
      const { one, opened } = await openOne(adapt)
      await pool.query('create table if not exists of_the_application (id int primary key)')
      for (const [id, call] of [
        () => opened.lookup([token('a')]),
        () => opened.revoke([token('b')]),
        () => opened.spend!('s', 1000),
      ].entries()) {
        await one.query('start transaction')
        await one.query('select * from tokenlib_revocations')
        await one.query(`insert into of_the_application values (${id})`)
        await store.revoke([token('a')])
        await call()
        expect(await opened.lookup([token('a')])).toEqual([FOREVER])
      }
      expect((await pool.query('select * from of_the_application'))[0]).toEqual([])
    },
  )

  test('what was set for a session makes no difference', async () => {
    const { one, opened } = await openOne()
    for (const setting of [
      "sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,STRICT_ALL_TABLES,IGNORE_SPACE,NO_ZERO_DATE'",
      "sql_mode = ''",
      "time_zone = '+13:00'",
      'sql_select_limit = 1',
      'sql_safe_updates = 1',
      'session transaction read only',
      'session transaction isolation level serializable',
      'session transaction isolation level read uncommitted',
      'character_set_connection = latin1',
    ]) {
      await one.query(`set ${setting}`)
      const ids = [`' or "1" = '1\\`, `${count}`, `${count} `, `a${count}`, `A${count++}`].map(token)
      const before = Date.now()
      const { now } = await opened.revoke([ids[0]!, ids[1]!, ids[3]!])
      expect([setting, Math.abs(now - before) < 60_000]).toEqual([setting, true])
      const found = [FOREVER, FOREVER, undefined, FOREVER, undefined]
      expect([setting, await opened.lookup(ids)]).toEqual([setting, found])
      const { sid } = await opened.sessions!.open({ ...(await session()), userAgent: 'ä €😀' }).catch(
        // An insert of its own, which is refused and not lost.
        async (error: unknown) => {
          expect([setting, error]).toEqual(['session transaction read only', expect.any(Error)])
          await one.query('set session transaction read write')
          return opened.sessions!.open({ ...(await session()), userAgent: 'ä €😀' })
        },
      )
      expect((await opened.sessions!.rotate(sid, firstToken(sid), RULES)).outcome).toBe('advanced')
      expect((await store.sessions!.get(sid, RULES))?.userAgent).toBe('ä €😀')
      await opened.prune(10)
    }
  })

  test.each([
    ['MariaDB', (one: mysql.Pool): MysqlPool => one],
    ['MySQL', asMysql],
  ])('what is not committed is not believed on %s, whatever a session reads', async (_, adapt) => {
    const warnings: string[] = []
    const one = mysql.createPool({ uri: url, connectionLimit: 1 })
    const holder = await pool.getConnection()
    onTestFinished(async () => {
      holder.release()
      await one.end()
    })
    const opened = createMysqlStore(adapt(one), { namespace, onWarning: (text) => warnings.push(text) })
    await opened.prepare(NEEDS)
    await one.query('set session transaction isolation level read uncommitted')
    await holder.query('start transaction')
    await holder.query(`update tokenlib_heads set changes = changes + 5 where namespace = '${namespace}'`)
    expect(await opened.lookup([token('a')])).toEqual([undefined])
    expect((await opened.feed(null, { waitMs: 0 })).entries).toEqual([])
    await holder.query('rollback')
    expect(await opened.lookup([{ kind: 'all', id: '' }])).toEqual([undefined])
    expect(warnings).toEqual([])
  })

  test('a charset that was set after a statement was prepared makes no difference', async () => {
    const { one, opened } = await openOne()
    for (const [at, sql] of [
      'set names latin1',
      'set names utf8mb4',
      'set collation_connection = utf8mb4_turkish_ci',
    ].entries()) {
      expect(await opened.spend!(`id-${at}`, 1000)).toBe(true)
      await one.query(sql)
      expect(await opened.spend!(`id-${at}`, 1000)).toBe(false)
    }
  })

  test('another database that was chosen is not looked at', async () => {
    const { one, opened } = await openOne()
    await one.query('use information_schema')
    await opened.revoke([token('a')])
    expect(await store.lookup([token('a')])).toEqual([FOREVER])
  })

  test.each([
    ['autocommit = 0', "sql_mode = ''"],
    ["sql_mode = 'EMPTY_STRING_IS_NULL'", 'autocommit = 1'],
  ])('%s is refused, before and after the start', async (setting) => {
    const { one, opened } = await openOne()
    const given = await session()
    const calls = [
      () => opened.lookup([token('a')]),
      () => opened.revoke([token('b')]),
      () => opened.sessions!.open(given),
      () => opened.sessions!.rotate('x', firstToken('x'), RULES),
    ]
    // Half of them have prepared their statements before the setting changes.
    for (const call of calls.slice(2)) await call()
    const isSet = await one.query(`set ${setting}`).then(
      () => true,
      () => false,
    )
    // MySQL does not have it.
    if (!isSet) return expect(setting).toContain('EMPTY_STRING_IS_NULL')
    await expect(createMysqlStore(one, { namespace }).prepare(NEEDS)).rejects.toMatchObject(WRONG)
    for (const call of calls) await expect(call()).rejects.toThrow(/autocommit|EMPTY_STRING_IS_NULL/)
    expect(await store.lookup([token('b')])).toEqual([undefined])
    expect(await store.sessions!.list('ada', { limit: 10, before: null, idleMs: FOREVER })).toHaveLength(1)
    expect(await store.lookup([{ kind: 'all', id: '' }])).toEqual([undefined])
  })

  test('a statement that was prepared while an empty text was NULL sees who is logged out', async () => {
    const { one, opened } = await openOne()
    const { sid } = await store.sessions!.open(await session())
    // MySQL does not have it.
    await one.query("set sql_mode = 'EMPTY_STRING_IS_NULL'").catch(() => undefined)
    const calls = [
      () => opened.sessions!.rotate(sid, firstToken(sid), RULES),
      () => opened.sessions!.get(sid, RULES),
    ]
    await Promise.allSettled(calls.map((call) => call()))
    await one.query("set sql_mode = ''")
    const { now } = await store.revoke([{ kind: 'all', id: '', notBefore: 0, until: 0 }])
    expect(now).toBeGreaterThan(0)
    expect(await calls[1]!()).toBeNull()
    expect(await calls[0]!()).toEqual({ outcome: 'ended' })
  })

  test('nobody uses up an id where nothing is committed', async () => {
    const { one, opened } = await openOne()
    await one.query('set autocommit = 0')
    await expect(opened.spend!('id', 60_000)).rejects.toThrow('autocommit')
    expect(await store.spend!('id', 60_000)).toBe(true)
  })

  test('a revocation waits for the one before it, so that readers of the feed miss nothing', async () => {
    const holder = await pool.getConnection()
    const { next } = await store.feed(null, { waitMs: 0 })
    await holder.query('start transaction')
    await holder.query(`select * from tokenlib_heads where namespace = '${namespace}' for update`)
    const second = store.revoke([token('second')])
    await expect.poll(countWaiters, PATIENTLY).toBeGreaterThan(0)
    expect((await store.feed(next, { waitMs: 0 })).entries).toEqual([])
    // Nobody who reads waits, nor a login.
    expect(await store.lookup([token('second')])).toEqual([undefined])
    await holder.query('commit')
    holder.release()
    await second
    expect((await store.feed(next, { waitMs: 0 })).entries.map(({ id }) => id)).toEqual(['second'])
  })

  test('a wait that takes too long is an error, and a deadlock is not', async () => {
    const { sid } = await store.sessions!.open(await session())
    const { one, opened } = await openOne()
    await one.query('set innodb_lock_wait_timeout = 1')
    const holder = await pool.getConnection()
    await holder.query('start transaction')
    await holder.query(`select * from tokenlib_heads where namespace = '${namespace}' for update`)
    await expect(opened.revoke([token('late')])).rejects.toMatchObject({ errno: 1205 })
    await holder.query('rollback')
    expect(await opened.lookup([token('late')])).toEqual([undefined])

    // More of it is written, so the server ends the other transaction.
    await holder.query('start transaction')
    await holder.query(`select * from tokenlib_sessions where sid = '${sid}' for update`)
    await holder.query('create table if not exists much (id int primary key)')
    await holder.query('start transaction')
    await holder.query(`insert into much values ${Array.from({ length: 500 }, (_, at) => `(${at})`).join()}`)
    await holder.query(`select * from tokenlib_sessions where sid = '${sid}' for update`)
    const ending = store.revoke([{ kind: 'session', id: sid, notBefore: FOREVER, until: 0 }])
    await expect.poll(countWaiters, PATIENTLY).toBeGreaterThan(0)
    await holder.query(`select * from tokenlib_heads where namespace = '${namespace}' for update`)
    await holder.query('rollback')
    holder.release()
    await ending
    expect(await store.sessions!.get(sid, RULES)).toBeNull()
  })

  test('what loses a conflict is done again', async () => {
    let isDue = false
    const conflicting: MysqlPool = {
      async getConnection() {
        const connection = await pool.getConnection()
        return {
          query: (text) => connection.query(text),
          async execute(statement, values) {
            if (!isDue || statement.sql.startsWith('select')) return connection.execute(statement, values)
            isDue = false
            throw Object.assign(new Error('Deadlock found'), { errno: 1213 })
          },
          release: () => connection.release(),
          destroy: () => connection.destroy(),
        }
      },
    }
    const opened = createMysqlStore(conflicting, { namespace })
    await opened.prepare(NEEDS)
    const conflict = async <Result>(call: () => Promise<Result>): Promise<Result> => {
      isDue = true
      const result = await call()
      expect(isDue).toBe(false)
      return result
    }
    await conflict(() => opened.revoke([token('a')]))
    expect(await store.lookup([token('a')])).toEqual([FOREVER])
    const given = await session()
    const { sid } = await conflict(() => opened.sessions!.open(given))
    const rotated = await conflict(() => opened.sessions!.rotate(sid, firstToken(sid), RULES))
    expect(rotated.outcome).toBe('advanced')
    expect(await conflict(() => opened.sessions!.writeData!(sid, '{}', null))).toBe(true)
    expect(await conflict(() => opened.spend!('id', 60_000))).toBe(true)
    expect(await opened.spend!('id', 60_000)).toBe(false)
  })
})
