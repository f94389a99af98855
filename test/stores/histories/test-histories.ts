import { expect, onTestFinished, test } from 'vitest'
import { createId, systemRandom } from '../../../src/claims/ids.js'
import { FOREVER } from '../../../src/store-kit.js'
import type { StoreUnderTest } from '../../../src/testing/store-fixture.js'
import { checkHistories, type RunHistory } from './check-histories.js'
import type { HistoryStore } from './reference-store.js'
import { createHistoryClock, runHistory } from './run-history.js'

/** How many steps are taken every day. */
export const EVERY_DAY = 2000

/** How many are taken in the long tests. */
export const LONG = 100_000

/** A kind of store, as far as histories need to know it. */
export type HistoryStoreKind = Pick<StoreUnderTest, 'open' | 'isShared'>

/** Runs random histories on a kind of store. `HISTORY_SEED` repeats those of an earlier run. */
export function testHistories(kind: HistoryStoreKind, steps: number): void {
  testRuns(() => openPlace(kind), steps)
}

/** The same, given what opens a place and returns what runs a history there. */
export function testRuns(openPlace: () => Promise<RunHistory>, steps: number): void {
  const seed = Number(process.env['HISTORY_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

  test(
    `answers as the rule does, in ${steps} steps of random histories from seed ${seed} on`,
    async () => {
      const tally = await checkHistories(openPlace, { steps, seed })
      // Otherwise the histories would not show much.
      expect(Object.keys(tally)).toEqual(expect.arrayContaining(OUTCOMES))
    },
    steps < LONG ? 60_000 : 1_800_000,
  )
}

const OUTCOMES = ['repeated', 'kept', 'advanced', 'superseded', 'reused', 'ended', 'opened', 'full']

async function openPlace({ open, isShared }: HistoryStoreKind): Promise<RunHistory> {
  const clock = createHistoryClock(Date.now())
  // Letters and digits only: a place may become a file, a schema or a part of a key.
  const place = `test${createId(systemRandom)
    .replaceAll(/[^a-z0-9]/gi, '')
    .toLowerCase()}`
  const first = await open(place, clock.now)
  const second = isShared ? await open(place, clock.now) : first
  for (const store of new Set([first, second])) {
    await store.prepare({ longestLifetime: FOREVER })
    onTestFinished(() => store.close())
  }
  const stores = [first as HistoryStore, second as HistoryStore] as const
  return (history) => runHistory({ stores, clock }, history)
}
