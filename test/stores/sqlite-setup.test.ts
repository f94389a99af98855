import { deepEqual, equal, match, rejects, throws } from 'node:assert/strict'
import { afterAll, describe, test } from 'vitest'
import { createSqliteStore, type SqliteDatabase } from 'tokenlib/sqlite'
import { isNetworkFileSystem } from '../../packages/tokenlib/src/stores/sqlite/database.js'
import { createFolder, HOUR, isRevoked, LIST, token } from './sqlite-fixture.js'

const folder = createFolder()
afterAll(() => folder.remove())

const CONFIGURATION = { code: 'CONFIGURATION_INVALID' }
const prepare = (database: SqliteDatabase): Promise<void> =>
  createSqliteStore(database, { onWarning: () => undefined }).prepare({ longestLifetime: HOUR })

describe('a SQLite store', () => {
  test('sets its handle up for durable commits and short waits', async () => {
    const database = folder.open('pragmas.db')
    const store = await folder.openStore('pragmas.db', database)
    await store.revoke([token('a')])
    const read = (name: string): unknown =>
      Object.values(database.prepare(`PRAGMA ${name}`).get() as Record<string, unknown>)[0]
    deepEqual(['journal_mode', 'synchronous', 'busy_timeout'].map(read), ['wal', 2, 200])
  })

  test('leaves its handle open, and works again when it is prepared again', async () => {
    const database = folder.open('close.db')
    const store = await folder.openStore('close.db', database)
    await store.revoke([token('a')])
    await store.close()
    equal(database.isOpen, true)
    deepEqual(isRevoked(await folder.openStore('close.db', database), 'a'), [true])
  })

  test('answers nothing before it is prepared', async () => {
    const store = createSqliteStore(folder.open('unprepared.db'))
    await rejects(store.lookup([token('a')]), /prepare/)
    await rejects(store.revoke([token('a')]), /prepare/)
    await rejects(store.feed(null, { waitMs: 0 }), /prepare/)
    await rejects(store.prune(1), /prepare/)
    await rejects(store.spend!('a', 1), /prepare/)
    await rejects(store.sessions!.list('ada', LIST), /prepare/)
  })

  test('keeps stores of different prefixes apart in one file', async () => {
    const store = await folder.openStore('prefix.db', undefined, { prefix: 'one_' })
    const other = await folder.openStore('prefix.db', undefined, { prefix: 'Two' })
    await store.revoke([token('a')])
    deepEqual([...isRevoked(store, 'a'), ...isRevoked(other, 'a')], [true, false])
  })

  for (const prefix of ['', '1a', 'a-b', 'a b', "a'", 'a;--', 'sqlite_a', 'ä', 'x'.repeat(64)]) {
    test(`refuses the prefix ${JSON.stringify(prefix.slice(0, 9))}`, () => {
      throws(() => createSqliteStore(folder.open('prefix.db'), { prefix }), CONFIGURATION)
    })
  }

  test('says that a database in memory is no lasting one', async () => {
    const warnings: string[] = []
    const database = folder.openInMemory()
    const store = createSqliteStore(database, { onWarning: (message) => warnings.push(message) })
    await store.prepare({ longestLifetime: HOUR })
    await store.prepare({ longestLifetime: 2 * HOUR })
    equal(warnings.length, 1)
    match(warnings[0] ?? '', /in memory/)
    await store.revoke([token('a')])
    deepEqual(isRevoked(store, 'a', 'b'), [true, false])
  })

  test('refuses a handle that may only read', async () => {
    await folder.openStore('read-only.db')
    await rejects(prepare(folder.open('read-only.db', { readOnly: true })), CONFIGURATION)
  })

  for (const option of ['readBigInts', 'returnArrays']) {
    test(`refuses a handle with ${option}`, async () => {
      await rejects(prepare(folder.open('shape.db', { [option]: true })), CONFIGURATION)
    })
  }

  test('refuses a database that cannot be in WAL mode', async () => {
    const database = folder.open('no-wal.db')
    const stubborn: SqliteDatabase = {
      exec: (sql) => database.exec(sql),
      prepare: (sql) => database.prepare(sql.replace('journal_mode = WAL', 'journal_mode = TRUNCATE')),
    }
    await rejects(prepare(stubborn), CONFIGURATION)
  })

  // As the release before has made them: the same version, which both releases can use.
  test('adds what tables of version 1 lack, and keeps what they have', async () => {
    const before = await folder.openStore('upgrade.db')
    await before.revoke([token('a')])
    const database = folder.open('upgrade.db')
    database.exec('DROP TABLE tokenlib_spent')
    const store = await folder.openStore('upgrade.db')
    deepEqual(isRevoked(store, 'a'), [true])
    equal(await store.spend?.('a', HOUR), true)
    equal(await store.spend?.('a', HOUR), false)
    equal(await before.spend?.('a', HOUR), false)
    const { version } = database.prepare('SELECT version FROM tokenlib_meta').get() as { version: number }
    equal(version, 1)
  })

  test('refuses tables of another version', async () => {
    await folder.openStore('version.db')
    folder.open('version.db').exec('UPDATE tokenlib_meta SET version = 2')
    await rejects(prepare(folder.open('version.db')), CONFIGURATION)
  })

  test('knows NFS and SMB from the file systems of a machine', () => {
    const [nfs, smb, cifs, smb2] = [0x6969, 0x517b, 0xff534d42, 0xfe534d42]
    deepEqual([nfs, smb, cifs, smb2].map(isNetworkFileSystem), [true, true, true, true])
    const [ext4, xfs, btrfs, tmpfs, overlay] = [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630]
    deepEqual(new Set([ext4, xfs, btrfs, tmpfs, overlay].map(isNetworkFileSystem)), new Set([false]))
  })
})
