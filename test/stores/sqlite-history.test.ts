import { deepEqual, equal, ok } from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, describe, test } from 'vitest'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'
import { systemClock } from '../../packages/tokenlib/src/time.js'
import { createFolder, HOUR, isRevoked, LIST, token } from './sqlite-fixture.js'

const folder = createFolder()
afterAll(() => folder.remove())

const ALL = { kind: 'all' as const, id: '' }
const SID = 'AZxAAAAAAAAAAAAAAAAAAA'
const RULES = { graceMs: 0, idleMs: HOUR, ip: null, userAgent: null }
const META = 'tokenlib_meta'
const REVOCATIONS = 'tokenlib_revocations'
const SESSIONS = 'tokenlib_sessions'

async function readAllWatermark(store: RevocationStore): Promise<number | undefined> {
  return (await store.lookup([ALL]))[0]
}

describe('a SQLite store whose data is', () => {
  const losses: Readonly<Record<string, string>> = {
    emptied: `DELETE FROM ${META}; DELETE FROM ${REVOCATIONS}; DELETE FROM ${SESSIONS}`,
    dropped: `DROP TABLE ${META}; DROP TABLE ${REVOCATIONS}; DROP TABLE ${SESSIONS}`,
    'another one': `DELETE FROM ${REVOCATIONS}; UPDATE ${META} SET epoch = 'another', changes = 0`,
    'an old copy': `DELETE FROM ${REVOCATIONS} WHERE id = 'b'; UPDATE ${META} SET changes = changes - 1`,
    'without its count': `DELETE FROM ${META}`,
  }
  const operations: Readonly<Record<string, (store: RevocationStore) => unknown>> = {
    lookup: (store) => store.lookup([token('a')]),
    'a synchronous check': (store) => store.isRevokedNow?.([token('a')], 0),
    revoke: (store) => store.revoke([]),
    feed: (store) => store.feed(null, { waitMs: 0 }),
    prune: (store) => store.prune(1),
    list: (store) => store.sessions?.list('ada', LIST),
    get: (store) => store.sessions?.get(SID, RULES),
    present: (store) => store.sessions?.present(SID, firstToken(SID), RULES),
    rotate: (store) => store.sessions?.rotate(SID, firstToken(SID), RULES),
    prepare: (store) => store.prepare({ longestLifetime: HOUR }),
  }

  let files = 0
  for (const [loss, sql] of Object.entries(losses)) {
    for (const [name, operate] of Object.entries(operations)) {
      test(`${loss} revokes all that began before, noticed by ${name}`, async () => {
        const file = `lost${++files}.db`
        const store = await folder.openStore(file)
        await store.revoke([token('a')])
        const { position } = await store.revoke([token('b')])
        const before = systemClock()
        const other = folder.open(file)
        other.exec(sql)
        await operate(store)
        // Before anything else is asked of the store: the operation itself must have noticed.
        const row = other.prepare(`SELECT not_before FROM ${REVOCATIONS} WHERE kind = 'all'`).get()
        const watermark = (row as { not_before: number } | undefined)?.not_before
        ok(watermark !== undefined && watermark >= before)
        equal(await readAllWatermark(store), watermark)
        const { reset } = await store.feed(position, { waitMs: 0 })
        equal(reset, true)
        const page = await store.feed(null, { waitMs: 0 })
        const all = page.entries.find(({ kind }) => kind === 'all')
        equal(all?.until, watermark + HOUR)
        await store.revoke([token('c')])
        deepEqual(isRevoked(store, 'c'), [true])
        equal(await readAllWatermark(store), watermark)
      })
    }
  }

  test('an old copy tells every process, also one that had seen less', async () => {
    const [store, other] = [await folder.openStore('copies.db'), await folder.openStore('copies.db')]
    await store.revoke([token('a')])
    folder.open('copies.db').exec(`DELETE FROM ${REVOCATIONS}; UPDATE ${META} SET changes = 0`)
    isRevoked(store, 'a')
    ok((await readAllWatermark(other)) !== undefined)
  })

  test('there is found by a new process without revoking anything', async () => {
    const store = await folder.openStore('whole.db')
    await store.revoke([token('a')])
    const other = await folder.openStore('whole.db')
    deepEqual(isRevoked(other, 'a'), [true])
    equal(await readAllWatermark(other), undefined)
    const { entries, next } = await other.feed(null, { waitMs: 0 })
    deepEqual(entries, [token('a')])
    await store.revoke([token('b')])
    deepEqual((await other.feed(next, { waitMs: 0 })).entries, [token('b')])
  })

  test('prepared by another process for longer lives is kept for as long', async () => {
    const store = await folder.openStore('longest.db')
    const other = await folder.openStore('longest.db')
    await other.prepare({ longestLifetime: 5 * HOUR })
    const { now } = await store.revoke([{ kind: 'user', id: 'ada', notBefore: 0, until: 0 }])
    const { entries } = await store.feed(null, { waitMs: 0 })
    deepEqual(entries, [{ kind: 'user', id: 'ada', notBefore: now, until: now + 5 * HOUR }])
  })

  test('known further by another process is no other history', async () => {
    const [store, other] = [await folder.openStore('ahead.db'), await folder.openStore('ahead.db')]
    const { position } = await store.revoke([token('a')])
    const page = await other.feed(position, { waitMs: 0 })
    deepEqual([page.reset, page.next], [false, position])
  })
})

describe('a SQLite file', () => {
  test('is not held by a read that has answered', async () => {
    const store = await folder.openStore('reads.db')
    await store.revoke([token('a')])
    isRevoked(store, 'a', 'b')
    await store.feed(null, { waitMs: 0 })
    await store.sessions?.list('ada', LIST)
    const checkpoint = folder.open('reads.db').prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    deepEqual({ ...(checkpoint as object) }, { busy: 0, log: 0, checkpointed: 0 })
  })

  test('is asked for any number of keys', async () => {
    const store = await folder.openStore('keys.db')
    const ids = Array.from({ length: 100 }, (_, at) => `t${at}`)
    await store.revoke(ids.filter((_, at) => at % 3 === 0).map(token))
    for (const length of [1, 7, 8, 9, 16, 17, 100]) {
      const asked = ids.slice(0, length)
      deepEqual(
        isRevoked(store, ...asked),
        asked.map((_, at) => at % 3 === 0),
      )
    }
  })

  test('loses what has ended after a write, but nothing else, and not after the store is closed', async () => {
    let now = systemClock()
    const clock = (): number => now
    const old = await folder.openStore('swept.db', undefined, { clock })
    await old.revoke([
      { ...token('ended'), until: now + HOUR },
      { ...token('alive'), until: now + 3 * HOUR },
    ])
    now += 2 * HOUR
    const closed = await folder.openStore('swept.db', undefined, { clock })
    await closed.revoke([token('a')])
    await closed.close()
    await nextTurn()
    deepEqual(isRevoked(old, 'ended', 'alive'), [true, true])
    const store = await folder.openStore('swept.db', undefined, { clock })
    await store.revoke([token('b')])
    deepEqual(isRevoked(old, 'ended', 'alive'), [true, true])
    await nextTurn()
    deepEqual(isRevoked(old, 'ended', 'alive'), [false, true])
  })

  test('is swept in batches for as long as more has ended', async () => {
    let now = systemClock()
    const store = await folder.openStore('backlog.db', undefined, { clock: () => now })
    const until = now + HOUR
    await store.revoke(Array.from({ length: 2500 }, (_, at) => ({ ...token(`t${at}`), until })))
    now += 2 * HOUR
    const sweeper = await folder.openStore('backlog.db', undefined, { clock: () => now })
    const counts: number[] = []
    for (let round = 0; round < 4; round++) {
      await sweeper.revoke([token(`new${round}`)])
      await nextTurn()
      counts.push((await store.feed(null, { waitMs: 0 })).entries.length)
    }
    deepEqual(counts, [1000, 502, 3, 4])
  })
})
