import { deepEqual, equal } from 'node:assert/strict'
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest'
import { FOREVER, type Revocation } from '../../packages/tokenlib/src/revocation/revocation.js'
import { systemClock } from '../../packages/tokenlib/src/time.js'
import { createFolder, HOUR, token } from './sqlite-fixture.js'
import { bundleChild, type OtherProcess, startProcess } from './sqlite-process.js'

const DAY = 24 * HOUR
const AHEAD = 25 * DAY

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

/** A process whose clock is wrong from its start by `lead` milliseconds. */
async function start(name: string, lead = 0): Promise<OtherProcess> {
  const other = startProcess(program, folder.path(name), lead)
  running.push(other)
  await other.ask('prepare', HOUR)
  return other
}

/** A process that writes, drops what it thinks has ended, and is gone. */
async function runOnce(name: string, lead = 0): Promise<void> {
  const other = await start(name, lead)
  await other.ask('revoke', [])
  await other.ask('prune', 1000)
  await other.kill()
}

const revokedFor = (id: string, life: number): Revocation => ({ ...token(id), until: systemClock() + life })

describe('a process whose clock is ahead when it starts', () => {
  test('drops no revocation while others write', async () => {
    const right = await start('active.db')
    await right.ask('revoke', [revokedFor('live', 20 * DAY), revokedFor('ended', -HOUR)])
    await right.ask('prune', 1000)
    for (let round = 0; round < 3; round++) {
      const wrong = await start('active.db', AHEAD + round * DAY)
      await wrong.ask('revoke', [token(`wrong${round}`)])
      await wrong.ask('prune', 1000)
      deepEqual(await right.ask('lookup', [token('live')]), [FOREVER])
      // And the others go on dropping what has ended.
      await right.ask('prune', 1000)
      deepEqual(await right.ask('lookup', [token('live'), token('ended')]), [FOREVER, null])
    }
  })

  test('drops no revocation when it is alone, and is set right within the day', async () => {
    const first = await start('alone.db')
    await first.ask('revoke', [revokedFor('live', 20 * DAY)])
    await first.ask('prune', 1000)
    await first.kill()
    for (const lead of [AHEAD, AHEAD + 5 * HOUR, AHEAD + 19 * HOUR]) await runOnce('alone.db', lead)
    await runOnce('alone.db')
    const right = await start('alone.db')
    deepEqual(await right.ask('lookup', [token('live')]), [FOREVER])
  })

  test('drops no revocation of a database that was written before by nobody who checked', async () => {
    const first = await start('upgraded.db')
    await first.ask('revoke', [revokedFor('live', 20 * DAY)])
    await first.ask('exec', 'DROP TABLE tokenlib_clock')
    await first.kill()
    await runOnce('upgraded.db', AHEAD)
    const right = await start('upgraded.db')
    deepEqual(await right.ask('lookup', [token('live')]), [FOREVER])
  })

  test('drops no revocation when several are killed while they write', async () => {
    const right = await start('killed.db')
    await right.ask('revoke', [revokedFor('live', 20 * DAY)])
    await right.ask('prune', 1000)
    for (let round = 0; round < 4; round++) {
      const wrong = await Promise.all([start('killed.db', AHEAD), start('killed.db', AHEAD + round * HOUR)])
      await Promise.all([right, ...wrong].map((other) => other.ask('prune', 1000)))
      const work = wrong.map((other) => other.ask('revokeMany', `r${round}`, 1000, FOREVER).catch(() => null))
      await Promise.all([right.ask('prune', 1000), ...wrong.map((other) => other.kill())])
      await Promise.all(work)
    }
    deepEqual(await right.ask('lookup', [token('live')]), [FOREVER])
  })
})

describe('what has ended is dropped in the end', () => {
  test('by processes that run for a second a day', async () => {
    const first = await start('daily.db')
    await first.ask('revoke', [revokedFor('ended', HOUR), revokedFor('live', 20 * DAY)])
    await first.kill()
    for (let day = 0; day <= 3; day++) await runOnce('daily.db', day * DAY)
    const other = await start('daily.db')
    deepEqual(await other.ask('lookup', [token('ended'), token('live')]), [null, FOREVER])
  })

  test('from a database that nobody wrote to for a month', async () => {
    const first = await start('idle.db')
    await first.ask('revoke', [revokedFor('ended', HOUR), revokedFor('live', 60 * DAY)])
    await first.ask('prune', 1000)
    await first.kill()
    for (let hour = 0; hour <= 21; hour += 3) await runOnce('idle.db', 30 * DAY + hour * (HOUR - 60_000))
    const other = await start('idle.db')
    deepEqual(await other.ask('lookup', [token('ended'), token('live')]), [null, FOREVER])
  })

  test('at once, by a process that runs on and whose clock agreed with the database once', async () => {
    const store = await folder.openStore('steady.db')
    const database = folder.open('steady.db')
    await store.revoke([{ ...token('ended'), until: systemClock() - HOUR }])
    equal(await store.prune(1000), 0)
    const read = (): unknown => database.prepare('SELECT * FROM tokenlib_clock').get()
    equal((read() as { trusted: number }).trusted, 0)
    database.exec(
      `UPDATE tokenlib_clock SET trusted = ${systemClock() + 1000}, claimed_from = NULL, claimed_to = NULL`,
    )
    equal(await store.prune(1000), 1)
    // Nobody wrote since yesterday.
    database.exec(`UPDATE tokenlib_clock SET trusted = trusted - ${DAY}`)
    await store.revoke([{ ...token('ended'), until: systemClock() - HOUR }])
    equal(await store.prune(1000), 1)
  })
})
