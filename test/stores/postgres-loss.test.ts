import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeEach, expect, test } from 'vitest'
import type { LostData } from 'tokenlib/kit'
import { createPostgresStore, type PostgresStore } from 'tokenlib/postgres'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'

const HOUR = 3_600_000
const FOREVER = Number.MAX_SAFE_INTEGER
const NO_CLIENT = { ip: null, userAgent: null }
const RULES = { graceMs: 10_000, idleMs: FOREVER, ...NO_CLIENT }
const LIST = { limit: 1000, before: null, idleMs: FOREVER }
const TOKEN = { kind: 'token', id: 'a' } as const
const ALL = { kind: 'all', id: '' } as const
const ENTRY = { ...TOKEN, notBefore: FOREVER, until: FOREVER }

describeWithPostgres('a PostgreSQL store whose data is lost', (url) => {
  const pool = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  let prefix: string
  let count = 0
  let warnings: string[]
  let store: PostgresStore
  const open = async (): Promise<PostgresStore> => {
    const opened = createPostgresStore(pool, { prefix, onWarning: (text) => warnings.push(text) })
    await opened.prepare({ longestLifetime: HOUR })
    return opened
  }
  const time = async (): Promise<number> => (await store.revoke([])).now
  const session = async (user = 'ada') => {
    const end = (await time()) + HOUR
    return { user, nonce: `nonce${++count}`.padEnd(14, 'A'), expiresAt: end, until: end, ...NO_CLIENT }
  }
  const watermark = async (of: PostgresStore): Promise<number> => (await of.lookup([ALL]))[0] ?? 0
  beforeEach(async () => {
    prefix = `t${++count}_`
    warnings = []
    await createPostgresStore(pool, { prefix }).migrate()
    store = await open()
    await store.revoke([ENTRY])
  })
  afterAll(() => pool.end())

  test.each([
    ['everything', ['heads', 'revocations', 'sessions']],
    ['the revocations', ['revocations']],
    ['the heads', ['heads']],
  ])('accepts nothing from before, when %s were truncated', async (_, tables) => {
    const other = await open()
    const { sid } = await store.sessions!.open(await session())
    const before = await time()
    await pool.query(`truncate ${tables.map((table) => prefix + table).join()}`)
    expect(await watermark(store)).toBeGreaterThanOrEqual(before)
    expect(await watermark(other)).toBeGreaterThanOrEqual(before)
    expect(await other.sessions!.rotate(sid, firstToken(sid), RULES)).toEqual({ outcome: 'ended' })
    expect(warnings).toHaveLength(2)
    const next = await store.sessions!.open(await session())
    expect((await other.sessions!.rotate(next.sid, firstToken(next.sid), RULES)).outcome).toBe('advanced')
  })

  test('accepts nothing from before, when the revocations were truncated and a new process comes first', async () => {
    const before = await time()
    await pool.query(`truncate ${prefix}revocations`)
    expect(await watermark(await open())).toBeGreaterThanOrEqual(before)
  })

  test('accepts nothing from before, when it was restored to an earlier state', async () => {
    const { sid } = await store.sessions!.open(await session())
    const other = await open()
    for (const table of ['heads', 'revocations'])
      await pool.query(`create table ${prefix}old_${table} as table ${prefix}${table}`)
    await store.revoke([{ ...ENTRY, id: 'lost' }])
    const before = await time()
    await pool.query(
      ['heads', 'revocations']
        .map(
          (table) =>
            `delete from ${prefix}${table}; insert into ${prefix}${table} table ${prefix}old_${table};`,
        )
        .join(''),
    )
    expect(await watermark(store)).toBeGreaterThanOrEqual(before)
    expect(await other.sessions!.rotate(sid, firstToken(sid), RULES)).toEqual({ outcome: 'ended' })
    expect(await store.lookup([TOKEN])).toEqual([FOREVER])
  })

  test.each([
    ['revoke', (of: PostgresStore) => of.revoke([{ ...ENTRY, id: 'b' }])],
    ['feed', (of: PostgresStore) => of.feed(null, { waitMs: 0 })],
    ['present', (of: PostgresStore) => of.sessions!.present('x', firstToken('x'), RULES)],
    ['get', (of: PostgresStore) => of.sessions!.get('x', RULES)],
    ['rotate', (of: PostgresStore) => of.sessions!.rotate('x', firstToken('x'), RULES)],
    ['list', (of: PostgresStore) => of.sessions!.list('ada', LIST)],
    ['prepare', (of: PostgresStore) => of.prepare({ longestLifetime: 2 * HOUR })],
  ])('notices it in %s', async (_, operate) => {
    const before = await time()
    await pool.query(`truncate ${prefix}heads, ${prefix}revocations, ${prefix}sessions`)
    await operate(store)
    const { rows } = await pool.query(`select not_before, until from ${prefix}revocations where kind = 'all'`)
    expect(Number(rows[0]?.not_before)).toBeGreaterThanOrEqual(before)
    expect(Number(rows[0]?.until)).toBeGreaterThanOrEqual(before + HOUR)
  })

  test('opens a session that is later than what it revoked for it', async () => {
    const given = await session()
    await pool.query(`truncate ${prefix}heads, ${prefix}revocations, ${prefix}sessions`)
    const { sid, startedAt } = await store.sessions!.open(given)
    expect(startedAt).toBeGreaterThan(await watermark(store))
    expect((await store.sessions!.rotate(sid, firstToken(sid), RULES)).outcome).toBe('advanced')
  })

  test('takes a revocation that finds it so', async () => {
    await pool.query(`truncate ${prefix}heads, ${prefix}revocations, ${prefix}sessions`)
    await store.revoke([{ ...ENTRY, id: 'b' }])
    expect(await store.lookup([{ kind: 'token', id: 'b' }])).toEqual([FOREVER])
  })

  test('tells the readers of its feed to begin again', async () => {
    const other = await open()
    const { position } = await store.revoke([])
    await pool.query(`truncate ${prefix}heads, ${prefix}revocations, ${prefix}sessions`)
    for (const of of [store, other]) {
      expect((await of.feed(position, { waitMs: 0 })).reset).toBe(true)
      const { entries } = await of.feed(null, { waitMs: 0 })
      expect(entries.map(({ kind }) => kind)).toEqual(['all'])
    }
  })

  test('is repaired by many processes and calls at the same time', async () => {
    const stores = await Promise.all(Array.from({ length: 5 }, open))
    const before = await time()
    await pool.query(`truncate ${prefix}heads, ${prefix}revocations, ${prefix}sessions`)
    const calls = stores.flatMap((of) => Array.from({ length: 10 }, () => watermark(of)))
    for (const found of await Promise.all(calls)) expect(found).toBeGreaterThanOrEqual(before)
    expect(warnings).toHaveLength(5)
    const { rows } = await pool.query(`select count(distinct epoch) as epochs from ${prefix}heads`)
    expect(Number(rows[0]?.epochs)).toBe(1)
    await stores[0]?.revoke([{ ...ENTRY, id: 'b' }])
    for (const of of stores) expect(await of.lookup([{ kind: 'token', id: 'b' }])).toEqual([FOREVER])
  })

  test('tells every manager of each process once, and when everything was revoked', async () => {
    const other = await open()
    const losses: [string, number][] = []
    const listen = (name: string) => ({
      longestLifetime: HOUR,
      onLostData: ({ revokedBefore }: LostData) => void losses.push([name, revokedBefore]),
    })
    const [first, second, third] = [listen('first'), listen('second'), listen('third')]
    for (const needs of [first, second, { ...first, longestLifetime: 2 * HOUR }]) await store.prepare(needs)
    await other.prepare(third)
    for (let loss = 0; loss < 2; loss++) {
      losses.length = 0
      warnings.length = 0
      await pool.query(`truncate ${prefix}heads, ${prefix}revocations, ${prefix}sessions`)
      await Promise.all([watermark(store), watermark(store), store.revoke([]), store.prepare(second)])
      const one = await watermark(store)
      expect(losses.toSorted()).toEqual([
        ['first', one],
        ['second', one],
      ])
      losses.length = 0
      await Promise.all([watermark(other), watermark(other)])
      expect(losses).toEqual([['third', await watermark(other)]])
      expect(warnings).toHaveLength(2)
    }
    const fresh = await open()
    await fresh.prepare(listen('fresh'))
    await watermark(fresh)
    expect(losses).toHaveLength(1)
  })

  test('revokes sessions of a wrong clock too, one by one, and nobody who logs in after', async () => {
    let ahead = 0
    const clock = () => Date.now() + ahead
    const wrong = createPostgresStore(pool, { prefix, clock, onWarning: () => undefined })
    await wrong.prepare({ longestLifetime: HOUR })
    ahead = 5 * HOUR
    const given = { user: 'ada', expiresAt: FOREVER, until: FOREVER, ...NO_CLIENT }
    const early = await wrong.sessions!.open({ ...given, nonce: 'A'.repeat(14) })
    ahead = 0
    await pool.query(`truncate ${prefix}heads, ${prefix}revocations`)
    const key = { kind: 'session', id: early.sid } as const
    expect(await wrong.lookup([key])).toEqual([FOREVER])
    expect(await wrong.sessions!.rotate(early.sid, firstToken(early.sid), RULES)).toEqual({
      outcome: 'ended',
    })
    expect((await wrong.feed(null, { waitMs: 0 })).entries.map(({ kind }) => kind).toSorted()).toEqual([
      'all',
      'session',
    ])
    expect(await watermark(wrong)).toBeLessThanOrEqual(clock() + HOUR)
    const next = await wrong.sessions!.open({ ...given, nonce: 'B'.repeat(14) })
    expect((await wrong.sessions!.rotate(next.sid, firstToken(next.sid), RULES)).outcome).toBe('advanced')
  })

  test('answers nothing without its tables', async () => {
    await pool.query(`drop table ${prefix}revocations`)
    await expect(store.lookup([TOKEN])).rejects.toThrow('does not exist')
    await expect(store.revoke([ENTRY])).rejects.toThrow('does not exist')
    await expect(store.sessions!.rotate('x', firstToken('x'), RULES)).rejects.toThrow('does not exist')
  })

  // What a server that stops immediately may send: the row of an answer that it never completes.
  test('does not take an answer that was cut after its row for a loss', async () => {
    let isCutting = false
    const { port, hostname } = new URL(url)
    const proxy = createServer((near) => {
      const far = connect(Number(port), hostname)
      near.on('data', (chunk: Buffer) => far.write(chunk))
      far.on('data', (chunk: Buffer) => {
        const end = isCutting ? endOfRow(chunk) : 0
        if (end === 0) return near.write(chunk)
        isCutting = false
        near.end(chunk.subarray(0, end))
        return far.destroy()
      })
      for (const [socket, other] of [[near, far] as const, [far, near] as const]) {
        socket.on('error', () => undefined)
        socket.on('close', () => other.end())
      }
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const through = (proxy.address() as AddressInfo).port
    const sql = postgres(url, {
      host: '127.0.0.1',
      port: through,
      max: 1,
      fetch_types: false,
      backoff: () => 0.01,
    })
    const cut = createPostgresStore(sql, { prefix, onWarning: (text) => warnings.push(text) })
    await cut.prepare({ longestLifetime: HOUR })

    isCutting = true
    await expect(cut.lookup([TOKEN])).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    expect(isCutting).toBe(false)
    expect(await cut.lookup([TOKEN, ALL])).toEqual([FOREVER, undefined])
    expect(warnings).toEqual([])
    await sql.end()
    proxy.close()
  })
})

/** Where the first row among the messages of a server ends; 0 without one. */
function endOfRow(messages: Buffer): number {
  for (let at = 0; at + 5 <= messages.length;) {
    const end = at + 1 + messages.readInt32BE(at + 1)
    if (messages[at] === 'D'.charCodeAt(0)) return end
    at = end
  }
  return 0
}
