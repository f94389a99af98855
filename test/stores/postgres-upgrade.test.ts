import pg from 'pg'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { createPostgresStore, migrationSql, type PostgresStore } from 'tokenlib/postgres'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'
import { MIGRATION_1, STATEMENTS_1 } from './postgres-version-1.js'

const HOUR = 3_600_000
const FOREVER = Number.MAX_SAFE_INTEGER
const NO_CLIENT = { ip: null, userAgent: null }
const RULES = { graceMs: 10_000, idleMs: FOREVER, ...NO_CLIENT }
const LIST = { limit: 1000, before: null, idleMs: FOREVER }
const token = (id: string) => ({ kind: 'token', id, notBefore: FOREVER, until: FOREVER }) as const

/** A process of the release before, as far as its statements go. */
async function startOldProcess(pool: pg.Pool, prefix: string) {
  const run = async (statement: keyof typeof STATEMENTS_1, values: unknown[]): Promise<unknown> => {
    const text = STATEMENTS_1[statement].replaceAll('tokenlib_', prefix)
    const { rows } = await pool.query<Record<string, string>>(text, values)
    return JSON.parse(Object.values(rows[0] ?? {})[0] ?? 'null') as unknown
  }
  const head = (await run('enter', ['', 'E'.repeat(22), HOUR])) as { epoch: string; changes: number }
  const known = ['', head.epoch, 0]
  return {
    async revoke(kind: string, id: string) {
      const entry = { at: 0, kind, id, not_before: FOREVER, until: FOREVER }
      await run('revoke', [...known, null, JSON.stringify([entry]), 1])
    },
    async isRevoked(kind: string, id: string) {
      const answer = (await run('lookup', [...known, JSON.stringify([[kind, id]])])) as { found: unknown[] }
      return answer.found[0] !== null
    },
    async readFeed() {
      const answer = (await run('feed', [...known, 0])) as { entries: { id: string }[] }
      return answer.entries.map(({ id }) => id).filter((id) => id !== head.epoch)
    },
    async open(user: string, nonce: string) {
      const values = [...known, null, user, nonce, FOREVER, FOREVER, null, null]
      return ((await run('open', values)) as { sid: string }).sid
    },
    async rotate(sid: string, generation: number) {
      const answer = (await run('rotate', [...known, null, sid, generation, FOREVER, null, null])) as {
        generation: number | null
      }
      return answer.generation
    },
    async judge(sid: string) {
      return ((await run('judge', [...known, null, sid])) as { session: unknown }).session
    },
    async list(user: string) {
      const answer = (await run('list', [...known, null, user])) as { sessions: { sid: string }[] }
      return answer.sessions.map(({ sid }) => sid)
    },
    prune: () => run('prune', ['', null, FOREVER, 100, 'lock']),
  }
}

describeWithPostgres('tables of version 1', (url) => {
  const pool = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  let prefix: string
  let count = 0
  const open = async (): Promise<PostgresStore> => {
    const store = createPostgresStore(pool, { prefix })
    await store.prepare({ longestLifetime: HOUR })
    return store
  }
  const migrateToVersion1 = async (): Promise<void> => {
    await pool.query(MIGRATION_1.replaceAll('tokenlib_', prefix))
  }
  const findIndexes = async (): Promise<string[]> => {
    const { rows } = await pool.query<{ indexdef: string }>(
      `select regexp_replace(indexdef, '^.* USING btree ', '') as indexdef from pg_indexes
      where tablename in ($1, $2) order by 1`,
      [`${prefix}revocations`, `${prefix}sessions`],
    )
    return rows.map(({ indexdef }) => indexdef)
  }
  beforeEach(async () => {
    prefix = `u${++count}_`
    await migrateToVersion1()
  })
  afterAll(() => pool.end())

  test('are refused, with both versions and what to do', async () => {
    await expect(open()).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
      message: expect.stringMatching(/version 1.*version 3.*migrate\(\).*migrationSql\(\)/) as string,
    })
  })

  test('are brought up to date by many processes at once, and keep what is in them', async () => {
    const old = await startOldProcess(pool, prefix)
    const sid = await old.open('ada', 'A'.repeat(14))
    await old.revoke('token', 'a')
    await Promise.all(Array.from({ length: 8 }, () => createPostgresStore(pool, { prefix }).migrate()))
    const store = await open()
    expect(await store.lookup([token('a'), token('b')])).toEqual([FOREVER, undefined])
    expect((await store.feed(null, { waitMs: 0 })).entries).toEqual([token('a')])
    expect((await store.sessions!.list('ada', LIST)).map((session) => session.sid)).toEqual([sid])
    expect((await store.sessions!.rotate(sid, firstToken(sid), RULES)).outcome).toBe('advanced')
  })

  test('of version 2 keep their sessions, which have not moved on, and let releases of version 2 in', async () => {
    await pool.query(migrationSql({ prefix }))
    await pool.query(`alter table ${prefix}version drop column oldest;
      update ${prefix}version set version = 2;
      alter table ${prefix}sessions drop column current_id, drop column previous_id, drop column moved_at`)
    const old = await startOldProcess(pool, prefix)
    const sid = await old.open('ada', 'A'.repeat(14))
    await old.rotate(sid, 0)
    await expect(open()).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' })
    await pool.query(migrationSql({ prefix }))
    const { rows } = await pool.query(`select * from ${prefix}version`)
    expect(rows).toEqual([{ version: 3, oldest: 2 }])
    const store = await open()
    const place = { current: '', previous: null, movedAt: 0 }
    expect(await store.sessions!.get(sid, RULES)).toMatchObject({ ...place, generation: 1 })
    const later = await old.open('ada', 'B'.repeat(14))
    expect(await store.sessions!.get(later, RULES)).toMatchObject({ ...place, generation: 0 })
  })

  test('end up with the same indexes as new ones, of which only the primary keys begin with the namespace', async () => {
    // One of somebody else is left alone.
    await pool.query(`create index mine on ${prefix}sessions (ip)`)
    await pool.query(migrationSql({ prefix }))
    await pool.query(migrationSql({ prefix }))
    const upgraded = await findIndexes()
    expect(upgraded.filter((index) => index.startsWith('(namespace'))).toEqual([
      '(namespace, kind, id)',
      '(namespace, sid)',
    ])
    expect(upgraded).toContain('(ip)')
    prefix = `u${++count}_`
    await pool.query(migrationSql({ prefix }))
    expect(await findIndexes()).toEqual(upgraded.filter((index) => index !== '(ip)'))
  })

  test('are upgraded where names are long, and only those of their prefix', async () => {
    const other = prefix
    prefix = `${'p'.repeat(38)}_${count}`
    await migrateToVersion1()
    await pool.query(migrationSql({ prefix }))
    expect((await findIndexes()).filter((index) => index.startsWith('(namespace'))).toHaveLength(2)
    prefix = other
    expect((await findIndexes()).filter((index) => index.startsWith('(namespace'))).toHaveLength(7)
  })

  test('are upgraded while processes of the old release go on', async () => {
    const old = await startOldProcess(pool, prefix)
    const sids: string[] = []
    const migration = { isDone: false }
    const work = async (worker: number): Promise<void> => {
      for (let round = 0; !migration.isDone || round < 20; round++) {
        const sid = await old.open(`user${worker}`, `w${worker}r${round}`.padEnd(14, 'A'))
        expect(await old.rotate(sid, 0)).toBe(1)
        expect(await old.list(`user${worker}`)).toContain(sid)
        await old.revoke('session', sid)
        await old.prune()
        sids.push(sid)
      }
    }
    const workers = Promise.all([0, 1, 2, 3].map(work))
    await createPostgresStore(pool, { prefix }).migrate()
    migration.isDone = true
    await workers
    const store = await open()
    const found = await store.lookup(sids.map((id) => ({ kind: 'session' as const, id })))
    expect(new Set(found)).toEqual(new Set([FOREVER]))
  })

  test('serve both releases once they have version 3', async () => {
    await pool.query(migrationSql({ prefix }))
    const [store, old] = [await open(), await startOldProcess(pool, prefix)]
    const [byOld, byNew] = [
      await old.open('ada', 'O'.repeat(13) + 'A'),
      (
        await store.sessions!.open({
          user: 'ada',
          nonce: 'N'.repeat(13) + 'A',
          expiresAt: FOREVER,
          until: FOREVER,
          ...NO_CLIENT,
        })
      ).sid,
    ]
    expect(await old.rotate(byNew, 0)).toBe(1)
    for (const sid of [byOld, byNew]) {
      expect((await store.sessions!.rotate(sid, firstToken(sid), RULES)).outcome).toBe('advanced')
    }
    expect((await old.list('ada')).toSorted()).toEqual([byOld, byNew].toSorted())

    await old.revoke('token', 'old')
    await store.revoke([token('new')])
    expect(await store.lookup([token('old'), token('new')])).toEqual([FOREVER, FOREVER])
    expect([await old.isRevoked('token', 'old'), await old.isRevoked('token', 'new')]).toEqual([true, true])
    expect((await store.feed(null, { waitMs: 0 })).entries.map(({ id }) => id)).toEqual(['old', 'new'])
    expect(await old.readFeed()).toEqual(['old', 'new'])

    // The old release leaves the row of a session that it revokes, and finds none where the new one revoked.
    await old.revoke('session', byOld)
    await store.revoke([{ ...token(byNew), kind: 'session' }])
    expect(await store.sessions!.list('ada', LIST)).toEqual([])
    expect(await store.sessions!.get(byOld, RULES)).toBeNull()
    expect(await store.sessions!.present(byOld, firstToken(byOld), RULES)).toEqual({ outcome: 'ended' })
    expect(await old.list('ada')).toEqual([])
    expect(await old.rotate(byNew, 1)).toBeNull()
    expect(await old.judge(byNew)).toBeNull()
    await old.prune()
  })
})
