import { deepEqual, equal, ok, rejects, throws } from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest'
import { createMemoryStore } from 'tokenlib/memory'
import { replicate, type ReplicaOptions } from 'tokenlib/replica'
import { createSqliteStore } from 'tokenlib/sqlite'
import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import type {
  LostData,
  ReplicaChange,
  RevocationStore,
} from '../../packages/tokenlib/src/revocation/store.js'
import { CLIENTS, createFolder, HOUR, isRevoked, LATER, token } from './sqlite-fixture.js'
import { bundleChild, type OtherProcess, startProcess } from './sqlite-process.js'

const ALL = { kind: 'all', id: '' } as const
const opened: RevocationStore[] = []
const running: OtherProcess[] = []
let program: string

const programs = createFolder()
beforeAll(async () => {
  program = await bundleChild(programs.path('.'))
})
afterEach(async () => {
  for (const replica of opened.splice(0)) await replica.close()
  for (const other of running.splice(0)) await other.kill()
})
afterAll(() => programs.remove())

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await sleep(1)
}

describe.each(Object.entries(CLIENTS))('a replica of a SQLite store of %s', (_, openDatabase) => {
  const folder = createFolder(openDatabase)
  let files = 0
  afterAll(() => folder.remove())

  const newFile = (): string => `replica${++files}.db`

  const open = async (
    file: string,
    options: ReplicaOptions,
    needs: { onLostData?: (loss: LostData) => void; onReplicaChange?: (change: ReplicaChange) => void } = {},
    database = folder.open(file),
  ): Promise<RevocationStore> => {
    const replica = replicate(createSqliteStore(database), options)
    opened.push(replica)
    await replica.prepare({ longestLifetime: HOUR, ...needs })
    await replica.replica?.ready()
    return replica
  }

  const start = async (file: string): Promise<OtherProcess> => {
    const other = startProcess(program, folder.path(file))
    running.push(other)
    await other.ask('prepare', HOUR)
    return other
  }

  test('has what another connection or process revokes without waiting for its next poll', async () => {
    const file = newFile()
    const replica = await open(file, { bound: '1m' })
    const store = await folder.openStore(file)
    const other = await start(file)
    for (let round = 0; round < 3; round++) {
      await store.revoke([token(`mine${round}`)])
      await until(() => isRevoked(replica, `mine${round}`)[0] === true)
      await other.ask('revoke', [token(`theirs${round}`)])
      await until(() => isRevoked(replica, `theirs${round}`)[0] === true)
    }
    deepEqual(isRevoked(replica, 'mine0', 'theirs0', 'another'), [true, true, false])
  })

  test('gives back what the file lost, and nothing else is revoked', async () => {
    const file = newFile()
    const losses: LostData[] = []
    const replica = await open(file, { bound: '200ms' }, { onLostData: (loss) => losses.push(loss) })
    await replica.revoke([token('a'), token('b')])
    folder.open(file).exec('DELETE FROM tokenlib_meta; DELETE FROM tokenlib_revocations')
    const rows = folder.open(file).prepare('SELECT id FROM tokenlib_revocations ORDER BY id')
    await until(() => rows.all().length === 2)
    const fresh = await folder.openStore(file)
    deepEqual(await fresh.lookup([token('a'), token('b'), ALL]), [FOREVER, FOREVER, undefined])
    deepEqual(losses, [])
  })

  describe('with a bound of 0', () => {
    test('refuses at its very next check what another process has revoked', async () => {
      const file = newFile()
      const replica = await open(file, { bound: 0 })
      const other = await start(file)
      for (let round = 0; round < 20; round++) {
        const key = token(`round${round}`)
        deepEqual(await replica.lookup([key]), [undefined])
        const isRevokedNow = () => replica.isRevokedNow?.([key], 0)
        // The other process also commits after it has answered; then nothing is known before the next read.
        const check = async (): Promise<boolean | undefined> => {
          for (;;) {
            try {
              return isRevokedNow()
            } catch (error) {
              ok(error instanceof Error && error.message.includes('the store has changed since'))
              await replica.lookup([key])
            }
          }
        }
        equal(await check(), false)
        await other.ask('revoke', [key])
        equal(await check(), true)
        deepEqual(await replica.lookup([key]), [FOREVER])
      }
    })

    test('refuses immediately what another store on the same handle has revoked', async () => {
      const database = folder.open(newFile())
      const replica = await open('', { bound: 0 }, {}, database)
      const store = await folder.openStore('', database)
      const isRevokedNow = () => replica.isRevokedNow?.([token('a')], 0)
      equal(isRevokedNow(), false)
      await store.revoke([token('a')])
      throws(() => isRevokedNow(), /the store has changed since/)
      deepEqual(await replica.lookup([token('a')]), [FOREVER])
    })

    test('answers while another process writes all the time, and is not reported as stale', async () => {
      const file = newFile()
      const changes: string[] = []
      const replica = await open(file, { bound: 0 }, { onReplicaChange: ({ kind }) => changes.push(kind) })
      const other = await start(file)
      const writing = other.ask('revokeMany', 't', 200, LATER)
      await until(async () => {
        deepEqual(await replica.lookup([token('other')]), [undefined])
        return (await replica.lookup([token('t199')]))[0] === FOREVER
      })
      await writing
      deepEqual(await replica.lookup([token('t0')]), [FOREVER])
      deepEqual(changes, ['fresh'])
    })

    test('answers nothing once its file is gone', async () => {
      const file = newFile()
      const replica = await open(file, { bound: 0 })
      const isRevokedNow = () => replica.isRevokedNow?.([token('a')], 0)
      equal(isRevokedNow(), false)
      rmSync(folder.path(file))
      // The files are looked at once in a millisecond.
      const from = performance.now()
      while (performance.now() - from < 2);
      throws(() => isRevokedNow(), /replaced or removed/)
      await rejects(replica.lookup([token('a')]), /replaced or removed/)
    })

    test('asks the store instead where that is wanted and the feed cannot be read', async () => {
      const store = createSqliteStore(folder.open(newFile()))
      let isDown = false
      const replica = replicate(
        {
          ...store,
          feed: (after, wait) =>
            isDown ? Promise.reject(new Error('The feed is down')) : store.feed(after, wait),
        },
        { bound: 0, whenStale: 'ask' },
      )
      opened.push(replica)
      await replica.prepare({ longestLifetime: HOUR })
      await replica.replica?.ready()
      isDown = true
      await store.revoke([token('a')])
      deepEqual(await replica.lookup([token('a'), token('b')]), [FOREVER, undefined])
      equal(replica.replica?.readState().isFresh, false)
      throws(() => isRevoked(replica, 'a'), /the store has changed since/)
    })
  })
})

test('a bound of 0 needs a store that can tell immediately whether it has changed', () => {
  throws(() => replicate(createMemoryStore(), { bound: 0 }), RangeError)
})
