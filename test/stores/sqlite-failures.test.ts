import { deepEqual, equal, rejects } from 'node:assert/strict'
import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { afterAll, describe, test } from 'vitest'
import { FOREVER, type Revocation } from '../../packages/tokenlib/src/revocation/revocation.js'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'
import { systemClock } from '../../packages/tokenlib/src/time.js'
import { createFolder, isRevoked, LATER, LIST, token } from './sqlite-fixture.js'

const folder = createFolder()
afterAll(() => folder.remove())

const SESSION = { user: 'ada', expiresAt: LATER, until: LATER, ip: null, userAgent: null }
const RULES = { graceMs: 0, idleMs: FOREVER, ip: null, userAgent: null }
const GONE = /replaced or removed/

describe('a write that fails', () => {
  test('on a full disk leaves everything as it was, and succeeds when there is room again', async () => {
    const database = folder.open('full.db')
    const store = await folder.openStore('full.db', database)
    const { position } = await store.revoke([token('before')])
    const { page_count: pages } = database.prepare('PRAGMA page_count').get() as { page_count: number }
    database.exec(`PRAGMA max_page_count = ${pages + 2}`)
    const batch = Array.from({ length: 2000 }, (_, at) => token(`t${at}`))
    await rejects(store.revoke(batch), /disk is full/)
    deepEqual(isRevoked(store, 'before', 't0', 't1999'), [true, false, false])
    deepEqual((await store.feed(position, { waitMs: 0 })).entries, [])
    database.exec('PRAGMA max_page_count = 1000000')
    await store.revoke(batch)
    deepEqual(isRevoked(store, 'before', 't0', 't1999'), [true, true, true])
  })

  test('on a database that may only be read leaves everything as it was', async () => {
    const database = folder.open('query-only.db')
    const store = await folder.openStore('query-only.db', database)
    await store.revoke([token('before')])
    const { sid } = await store.sessions!.open({ ...SESSION, nonce: 'AAAAAAAAAAAAAA' })
    database.exec('PRAGMA query_only = ON')
    await rejects(store.revoke([token('a')]), /readonly/)
    // This is how health() asks.
    await rejects(store.revoke([]), /readonly/)
    await rejects(store.sessions!.rotate(sid, firstToken(sid), RULES), /readonly/)
    deepEqual(isRevoked(store, 'before', 'a'), [true, false])
    database.exec('PRAGMA query_only = OFF')
    await store.revoke([token('a')])
    deepEqual(isRevoked(store, 'before', 'a'), [true, true])
    equal((await store.sessions?.rotate(sid, firstToken(sid), RULES))?.outcome, 'advanced')
  })

  test('takes nothing of its batch', async () => {
    const store = await folder.openStore('batch.db')
    const broken = { ...token('b'), until: null } as unknown as Revocation
    await rejects(store.revoke([token('a'), broken, token('c')]), /NOT NULL/)
    deepEqual(isRevoked(store, 'a', 'b', 'c'), [false, false, false])
    await store.revoke([token('a')])
    deepEqual(isRevoked(store, 'a'), [true])
  })

  test('does not end a transaction of somebody else', async () => {
    const database = folder.open('foreign.db')
    const store = await folder.openStore('foreign.db', database)
    database.exec('CREATE TABLE mine (a); BEGIN; INSERT INTO mine VALUES (1)')
    await rejects(store.revoke([token('a')]), /handle of its own/)
    database.exec('COMMIT')
    equal(database.prepare('SELECT * FROM mine').all().length, 1)
    await store.revoke([token('a')])
    deepEqual(isRevoked(store, 'a'), [true])
  })

  test('because its file has disappeared is not acknowledged', async () => {
    let isReady = false
    // The store reads its clock within the transaction.
    const clock = (): number => {
      if (isReady) rmSync(folder.path('meanwhile.db-wal'))
      return systemClock()
    }
    const store = await folder.openStore('meanwhile.db', undefined, { clock })
    isReady = true
    await rejects(store.revoke([token('a')]), GONE)
  })

  test('of a clock without a time is refused', async () => {
    const database = folder.open('clock.db')
    let now = 1
    const store = await folder.openStore('clock.db', database, { clock: () => now })
    now = Number.NaN
    await rejects(store.revoke([token('a')]), TypeError)
    now = 2
    deepEqual(isRevoked(store, 'a'), [false])
  })
})

describe('a check that cannot know', () => {
  test('refuses within a transaction of somebody else, which would show it the past', async () => {
    const database = folder.open('past.db')
    const store = await folder.openStore('past.db', database)
    const other = await folder.openStore('past.db')
    database.exec('BEGIN; SELECT * FROM tokenlib_meta')
    await other.revoke([token('a')])
    await rejects(store.lookup([token('a')]), /handle of its own/)
    database.exec('COMMIT')
    deepEqual(isRevoked(store, 'a'), [true])
  })

  test('refuses when the file was replaced', async () => {
    const store = await folder.openStore('replaced.db')
    await store.revoke([token('a')])
    await folder.openStore('replacement.db')
    renameSync(folder.path('replacement.db'), folder.path('replaced.db'))
    await rejects(store.lookup([token('a')]), GONE)
    await rejects(store.lookup([]), GONE)
    await rejects(store.revoke([token('b')]), GONE)
    await rejects(store.feed(null, { waitMs: 0 }), GONE)
    await rejects(store.sessions!.list('ada', LIST), GONE)
    await rejects(store.sessions!.open({ ...SESSION, nonce: 'AAAAAAAAAAAAAA' }), GONE)
    await rejects(store.spend!('a', 1000), GONE)
  })

  test('refuses when the file was removed, also to a reader that waits', async () => {
    const store = await folder.openStore('removed.db')
    const { next } = await store.feed(null, { waitMs: 0 })
    const waiting = store.feed(next, { waitMs: 20_000 })
    for (const end of ['', '-wal', '-shm']) rmSync(folder.path(`removed.db${end}`))
    await rejects(waiting, GONE)
    await rejects(store.lookup([token('a')]), GONE)
  })

  test('refuses when the WAL was removed from under it', async () => {
    const database = folder.open('wal.db')
    const store = await folder.openStore('wal.db', database)
    await store.revoke([token('a')])
    const removed = folder.path('wal.db-wal')
    copyFileSync(removed, `${removed}.copy`)
    rmSync(removed)
    await rejects(store.lookup([token('a')]), GONE)
    renameSync(`${removed}.copy`, removed)
    await rejects(store.lookup([token('a')]), GONE)
  })
})
