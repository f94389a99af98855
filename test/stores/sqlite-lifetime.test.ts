import { deepEqual, equal, rejects } from 'node:assert/strict'
import { afterAll, describe, test } from 'vitest'
import type { Revocation } from '../../packages/tokenlib/src/revocation/revocation.js'
import { CLIENTS, createFolder, HOUR, token } from './sqlite-fixture.js'

const user = (id: string): Revocation => ({ kind: 'user', id, notBefore: 0, until: 0 })

for (const [name, openDatabase] of Object.entries(CLIENTS)) {
  const folder = createFolder(openDatabase)
  afterAll(() => folder.remove())

  const readLives = (file: string): unknown[] =>
    folder
      .open(file)
      .prepare(`SELECT DISTINCT until - not_before AS life FROM tokenlib_revocations WHERE kind <> 'token'`)
      .all()
      .map((row) => (row as { readonly life: number }).life)

  describe(`a SQLite store that is asked for longer lives, through ${name}`, () => {
    test('tells every reader of its feed, each entry once', async () => {
      const store = await folder.openStore('feed.db')
      await store.revoke([token('t'), ...Array.from({ length: 2500 }, (_, at) => user(`u${at}`))])
      let { position } = await store.revoke([])
      const other = await folder.openStore('feed.db')
      await other.prepare({ longestLifetime: 9 * HOUR })
      deepEqual(readLives('feed.db'), [9 * HOUR])
      const ids: string[] = []
      for (let more = true; more;) {
        const page = await store.feed(position, { waitMs: 0 })
        ids.push(...page.entries.map(({ id }) => id))
        ;({ next: position, more } = page)
      }
      deepEqual([ids.length, new Set(ids).size, ids.includes('t')], [2500, 2500, false])
      await store.revoke([token('next')])
      deepEqual((await store.feed(position, { waitMs: 0 })).entries, [token('next')])
    })

    test('does not touch what is there, when they are not longer', async () => {
      const store = await folder.openStore('same.db')
      const { position } = await store.revoke([user('ada')])
      await store.prepare({ longestLifetime: HOUR / 2 })
      await folder.openStore('same.db')
      const { entries, next } = await store.feed(position, { waitMs: 0 })
      deepEqual([entries, next], [[], position])
    })

    test('lengthens what is there with its next write, when it could not immediately', async () => {
      const store = await folder.openStore('locked.db')
      await store.revoke([user('ada')])
      const other = folder.open('locked.db')
      other.exec('BEGIN IMMEDIATE')
      await rejects(store.prepare({ longestLifetime: 9 * HOUR }), /locked/)
      other.exec('COMMIT')
      deepEqual(readLives('locked.db'), [HOUR])
      await store.revoke([token('t')])
      deepEqual(readLives('locked.db'), [9 * HOUR])
    })

    test('lengthens what is left, when an old copy is put back', async () => {
      const store = await folder.openStore('copy.db')
      await store.revoke([user('ada')])
      const other = folder.open('copy.db')
      other.exec('CREATE TABLE old_meta AS SELECT * FROM tokenlib_meta')
      other.exec('CREATE TABLE old AS SELECT * FROM tokenlib_revocations')
      await store.prepare({ longestLifetime: 9 * HOUR })
      await store.revoke([user('bob')])
      other.exec('DELETE FROM tokenlib_meta; INSERT INTO tokenlib_meta SELECT * FROM old_meta')
      other.exec('DELETE FROM tokenlib_revocations; INSERT INTO tokenlib_revocations SELECT * FROM old')
      await store.lookup([user('ada')])
      deepEqual(readLives('copy.db'), [9 * HOUR])
    })

    test('lengthens what is left, when nobody knows what it was made for', async () => {
      const store = await folder.openStore('count.db')
      await store.revoke([user('ada')])
      folder.open('count.db').exec('DELETE FROM tokenlib_meta')
      const other = await folder.openStore('count.db')
      deepEqual(readLives('count.db'), [HOUR])
      await other.prepare({ longestLifetime: 9 * HOUR })
      deepEqual(readLives('count.db'), [9 * HOUR])
      equal((await other.feed(null, { waitMs: 0 })).entries.length, 1)
    })
  })
}
