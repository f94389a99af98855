import { deepEqual, equal, ok } from 'node:assert/strict'
import { afterAll, describe, test } from 'vitest'
import { FOREVER, MAX_SESSION_LEAD_MS } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { LostData, RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { toTables } from '../../packages/tokenlib/src/stores/sqlite/tables.js'
import { toPageSql } from '../../packages/tokenlib/src/stores/sqlite/rows.js'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'
import { systemClock } from '../../packages/tokenlib/src/time.js'
import { createFolder, HOUR, LATER, LIST, token } from './sqlite-fixture.js'

const folder = createFolder()
afterAll(() => folder.remove())

const RULES = { graceMs: 0, idleMs: FOREVER, ip: null, userAgent: null }

let opened = 0
const session = (user = 'ada') => ({
  user,
  nonce: `${String(++opened).padStart(13, 'A')}A`,
  expiresAt: LATER,
  until: LATER,
  ip: null,
  userAgent: null,
})

describe('a page of sessions in SQLite', () => {
  test('is read from one index, between its two ends, and needs no sorting', async () => {
    await folder.openStore('plan.db')
    const plan = folder
      .open('plan.db')
      .prepare(`EXPLAIN QUERY PLAN ${toPageSql(toTables('tokenlib_'))}`)
      .all()
      .map((row) => (row as { readonly detail: string }).detail)
    const search =
      'SEARCH tokenlib_sessions USING INDEX tokenlib_sessions_page ' +
      '(user=? AND started_at>? AND (started_at,sid)<(?,?))'
    ok(plan.includes(search), plan.join('\n'))
    deepEqual(
      plan.filter((step) => /SCAN tokenlib|TEMP B-TREE/.test(step)),
      [],
    )
  })

  test('leaves out a revoked session whose row is there again', async () => {
    const store = await folder.openStore('kept.db')
    const [one, two] = [await store.sessions?.open(session()), await store.sessions?.open(session())]
    const copy = 'SELECT * FROM tokenlib_sessions'
    const database = folder.open('kept.db')
    database.exec(`CREATE TABLE kept AS ${copy}`)
    await store.revoke([{ kind: 'session', id: one?.sid ?? '', notBefore: FOREVER, until: 0 }])
    database.exec('INSERT OR IGNORE INTO tokenlib_sessions SELECT * FROM kept')
    deepEqual(
      (await store.sessions?.list('ada', LIST))?.map(({ sid }) => sid),
      [two?.sid],
    )
    equal(await store.sessions?.get(one?.sid ?? '', RULES), null)
  })
})

describe('lost data in SQLite', () => {
  /** A store on a clock that can be moved, with what it warned of and who was told. */
  async function openWatched(name: string) {
    let now = systemClock()
    const warnings: string[] = []
    const store = await folder.openStore(name, undefined, {
      clock: () => now,
      onWarning: (message) => void warnings.push(message),
    })
    const losses: LostData[][] = [[], []]
    for (const told of losses) {
      await store.prepare({ longestLifetime: HOUR, onLostData: (loss) => void told.push(loss) })
    }
    const lose = (sql: string): void => folder.open(name).exec(sql)
    return { store, warnings, losses, lose, now: () => now, advance: (by: number) => void (now += by) }
  }

  const all = async (store: RevocationStore): Promise<number | undefined> =>
    (await store.lookup([{ kind: 'all', id: '' }]))[0]

  test('is one warning, and one call for everyone who listens', async () => {
    const { store, warnings, losses, lose, advance } = await openWatched('told.db')
    await store.revoke([token('a')])
    deepEqual([warnings, losses], [[], [[], []]])
    for (const count of [1, 2]) {
      advance(1000)
      lose('DELETE FROM tokenlib_meta; DELETE FROM tokenlib_revocations')
      const revokedBefore = await all(store)
      await store.revoke([token('a')])
      await store.prepare({ longestLifetime: 2 * HOUR })
      equal(warnings.length, count)
      for (const told of losses) {
        equal(told.length, count)
        deepEqual(told.at(-1), { revokedBefore })
      }
    }
  })

  test('is told only after everything is revoked', async () => {
    const store = await folder.openStore('order.db')
    const database = folder.open('order.db')
    let seen: unknown
    await store.prepare({
      longestLifetime: HOUR,
      onLostData({ revokedBefore }) {
        const row = database.prepare(`SELECT not_before FROM tokenlib_revocations WHERE kind = 'all'`).get()
        seen = (row as { readonly not_before: number } | undefined)?.not_before === revokedBefore
      },
    })
    database.exec('DELETE FROM tokenlib_meta')
    await store.revoke([])
    equal(seen, true)
  })

  test('revokes the sessions that started later than a clock that was set back', async () => {
    const { store, losses, lose, now, advance } = await openWatched('ahead.db')
    advance(5 * HOUR)
    const sessions = store.sessions!
    const ahead = await sessions.open(session())
    advance(-5 * HOUR)
    const recent = await sessions.open(session())
    lose('DELETE FROM tokenlib_meta; DELETE FROM tokenlib_revocations')
    const watermark = (await all(store)) ?? 0
    ok(watermark >= now() && watermark <= now() + MAX_SESSION_LEAD_MS)
    deepEqual(losses[0], [{ revokedBefore: watermark }])
    deepEqual([...(await store.lookup([{ kind: 'session', id: ahead.sid }]))], [FOREVER])
    for (const { sid } of [ahead, recent]) {
      deepEqual(await sessions.rotate(sid, firstToken(sid), RULES), { outcome: 'ended' })
    }
    deepEqual(await sessions.list('ada', LIST), [])
    const { sid } = await sessions.open(session())
    equal((await sessions.rotate(sid, firstToken(sid), RULES)).outcome, 'advanced')
  })
})

test('a client that answers null where there is no row is no other history', async () => {
  const database = folder.open('null.db')
  // As bun:sqlite does.
  const nullish = {
    exec: (sql: string) => database.exec(sql),
    prepare(sql: string) {
      const statement = database.prepare(sql)
      return {
        run: (...values: Parameters<typeof statement.run>) => statement.run(...values),
        all: (...values: Parameters<typeof statement.all>) => statement.all(...values),
        get: (...values: Parameters<typeof statement.get>) => statement.get(...values) ?? null,
      }
    },
  }
  const store = await folder.openStore('null.db', nullish as never)
  deepEqual(await store.lookup([token('a')]), [undefined])
  const sid = 'AZxAAAAAAAAAAAAAAAAAAA'
  equal(await store.sessions?.get(sid, RULES), null)
  deepEqual(await store.sessions?.present(sid, firstToken(sid), RULES), { outcome: 'ended' })
  await store.revoke([token('a'), { kind: 'session', id: 's', notBefore: FOREVER, until: 0 }])
  deepEqual(await store.lookup([token('a')]), [FOREVER])
  database.exec('DELETE FROM tokenlib_meta')
  ok((await store.lookup([{ kind: 'all', id: '' }]))[0] !== undefined)
})
