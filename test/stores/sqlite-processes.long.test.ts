import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest'
import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { Rotation } from '../../packages/tokenlib/src/revocation/rotation.js'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'
import { createFolder, HOUR, isRevoked, LATER, token } from './sqlite-fixture.js'
import { bundleChild, type OtherProcess, startProcess } from './sqlite-process.js'

const folder = createFolder()
const running: OtherProcess[] = []
let program: string

beforeAll(async () => {
  program = await bundleChild(folder.path('.'))
})
afterEach(async () => {
  for (const other of running.splice(0)) await other.kill()
})
afterAll(() => folder.remove())

function start(name: string): OtherProcess {
  const other = startProcess(program, folder.path(name))
  running.push(other)
  return other
}

async function startPrepared(name: string): Promise<OtherProcess> {
  const other = start(name)
  await other.ask('prepare', HOUR)
  return other
}

describe('processes on one SQLite file', () => {
  test('see the revocation of another at their next look', async () => {
    const store = await folder.openStore('seen.db')
    const [one, two] = [await startPrepared('seen.db'), await startPrepared('seen.db')]
    for (let round = 0; round < 20; round++) {
      const key = token(`round${round}`)
      deepEqual(await two.ask('lookup', [key]), [null])
      await one.ask('revoke', [key])
      deepEqual(await two.ask('lookup', [key]), [FOREVER])
      deepEqual(isRevoked(store, key.id), [true])
    }
    await store.revoke([token('mine')])
    deepEqual(await one.ask('lookup', [token('mine')]), [FOREVER])
  })

  test('may all start at once on a file that does not exist', async () => {
    const others = Array.from({ length: 6 }, () => start('new.db'))
    await Promise.all(others.map((other) => other.ask('prepare', HOUR)))
    await Promise.all(others.map((other, at) => other.ask('revoke', [token(`of${at}`)])))
    const keys = others.map((_, at) => token(`of${at}`))
    for (const other of others) {
      deepEqual(
        await other.ask('lookup', keys),
        keys.map(() => FOREVER),
      )
    }
    // Nobody took the start of another for lost data.
    deepEqual(await others[0]?.ask('lookup', [{ kind: 'all', id: '' }]), [null])
  })

  test('write at the same time without refusing each other', async () => {
    const others = await Promise.all(['a', 'b', 'c', 'd'].map(() => startPrepared('busy.db')))
    const store = await folder.openStore('busy.db')
    await Promise.all(others.map((other, at) => other.ask('revokeMany', `p${at}-`, 50, LATER)))
    const ids = others.flatMap((_, at) => Array.from({ length: 50 }, (_, count) => `p${at}-${count}`))
    deepEqual(new Set(isRevoked(store, ...ids)), new Set([true]))
  })

  test('move a session on once between them', async () => {
    const store = await folder.openStore('rotate.db')
    const others = await Promise.all(['a', 'b', 'c'].map(() => startPrepared('rotate.db')))
    const client = { ip: null, userAgent: null }
    const rules = { graceMs: 0, idleMs: FOREVER, ...client }
    for (const letter of ['A', 'B', 'C', 'D', 'E']) {
      const { sid } = await store.sessions!.open({
        user: 'ada',
        nonce: letter.repeat(14),
        expiresAt: LATER,
        until: LATER,
        ...client,
      })
      const answers = await Promise.all(
        others.map((other) => other.ask('rotate', sid, firstToken(sid), rules)),
      )
      const outcomes = answers.map((answer) => (answer as Rotation).outcome)
      deepEqual(outcomes.toSorted(), ['advanced', 'repeated', 'repeated'])
    }
  })

  test(
    'lose nothing that was acknowledged when one is killed at that moment',
    { timeout: 120_000 },
    async () => {
      const store = await folder.openStore('killed.db')
      for (let round = 0; round < 20; round++) {
        const other = await startPrepared('killed.db')
        const batch = [token(`killed${round}`), token(`also${round}`)]
        await rejects(other.ask('revokeAndDie', batch))
        equal(await other.ended, 'SIGKILL')
        deepEqual(isRevoked(store, `killed${round}`, `also${round}`), [true, true])
      }
    },
  )

  test('keep what was acknowledged when all of them are killed', async () => {
    const other = await startPrepared('alone.db')
    await rejects(other.ask('revokeAndDie', [token('a')]))
    equal(await other.ended, 'SIGKILL')
    const store = await folder.openStore('alone.db')
    deepEqual(isRevoked(store, 'a'), [true])
  })

  test('are refused a revocation while another one keeps the lock, and get it afterwards', async () => {
    const store = await folder.openStore('locked.db')
    const other = await startPrepared('locked.db')
    await store.revoke([token('before')])
    await other.ask('exec', 'BEGIN IMMEDIATE')
    await rejects(store.revoke([token('a'), token('b')]), /database is locked/)
    deepEqual(isRevoked(store, 'before', 'a', 'b'), [true, false, false])
    await other.ask('exec', 'COMMIT')
    deepEqual(isRevoked(store, 'a', 'b'), [false, false])
    await store.revoke([token('a'), token('b')])
    deepEqual(isRevoked(store, 'a', 'b'), [true, true])
  })

  test('wait for a short transaction of another', async () => {
    const store = await folder.openStore('short.db')
    const other = await startPrepared('short.db')
    await other.ask('exec', 'BEGIN IMMEDIATE')
    const revoking = store.revoke([token('a')])
    await other.ask('exec', 'COMMIT')
    await revoking
    deepEqual(isRevoked(store, 'a'), [true])
  })

  test('read while another one writes', async () => {
    const store = await folder.openStore('reading.db')
    const other = await startPrepared('reading.db')
    await other.ask('exec', 'BEGIN IMMEDIATE; DELETE FROM tokenlib_sessions')
    deepEqual(isRevoked(store, 'a'), [false])
    await other.ask('exec', 'COMMIT')
    const writing = other.ask('revokeMany', 't', 300, LATER)
    let seen = 0
    while (seen < 300) {
      const [first, second] = await store.lookup([token(`t${seen}`), token(`t${seen + 1}`)])
      ok(first !== undefined || second === undefined, 'A later revocation was seen without the one before it')
      if (first !== undefined) seen++
      await new Promise((resolve) => setImmediate(resolve))
    }
    await writing
    deepEqual(isRevoked(store, 't299'), [true])
  })

  test('notice together that the data was lost, and go on together', async () => {
    const store = await folder.openStore('lost.db')
    const others = [await startPrepared('lost.db'), await startPrepared('lost.db')]
    await store.revoke([token('a')])
    const all = { kind: 'all' as const, id: '' }
    folder.open('lost.db').exec('DELETE FROM tokenlib_meta; DELETE FROM tokenlib_revocations')
    const answers = await Promise.all(others.map((other) => other.ask('lookup', [all])))
    for (const answer of answers) ok(Array.isArray(answer) && typeof answer[0] === 'number')
    const [mine] = await store.lookup([all])
    ok(mine !== undefined)
    // By now everybody has the new history: nothing is raised again.
    for (const other of others) deepEqual(await other.ask('lookup', [all]), [mine])
    await others[0]?.ask('revoke', [token('b')])
    deepEqual(await store.lookup([token('b'), all]), [FOREVER, mine])
  })
})
