import { createId, systemRandom } from '../claims/ids.js'
import type { RevocationStore } from '../revocation/store.js'
import { type Clock, systemClock } from '../time.js'

/** A kind of store, as the contract needs to know it; `place` names the data of one test, and is a fresh one for each. */
export interface StoreUnderTest {
  /** Opens a store that goes by the given clock, which never runs behind the real one. */
  open(place: string, clock: Clock): RevocationStore | Promise<RevocationStore>
  /** Whether opening a place twice gives two stores on the same data, as two processes would have them. */
  readonly isShared: boolean
  /** Destroys the data behind the back of its stores, as an operator's mistake would. */
  wipe?(place: string): Promise<void>
  /** How many revocations and sessions are kept, for a store that drops them by the clock that was passed in. */
  count?(place: string): Promise<number>
  /** Clears up after a test; its stores are closed already. */
  remove?(place: string): Promise<void>
}

/** What a test of the contract works with. */
export interface StoreFixture {
  readonly store: RevocationStore
  /** The time that the store sees, in epoch milliseconds. */
  readonly now: () => number
  readonly advance: (milliseconds: number) => void
  /** A second store on the same data. */
  readonly another: () => Promise<RevocationStore>
  readonly wipe: () => Promise<void>
  readonly count: () => Promise<number>
}

/** Declares the tests of the contract, and says which of them apply. */
export interface StoreTests {
  readonly isShared: boolean
  readonly canWipe: boolean
  readonly canCount: boolean
  readonly test: (title: string, run: (fixture: StoreFixture) => Promise<void>) => void
}

/** The longest lifetime that the contract asks a store for, in milliseconds. */
export const HOUR = 3_600_000

/** Runs a test on a fresh store, and clears up after it. */
export async function withFixture(
  kind: StoreUnderTest,
  run: (fixture: StoreFixture) => Promise<void>,
): Promise<void> {
  // Letters and digits only: a place may become a file, a schema or a part of a key.
  const place = `test${createId(systemRandom)
    .replaceAll(/[^a-z0-9]/gi, '')
    .toLowerCase()}`
  const startedAt = systemClock()
  let shift = 0
  const now: Clock = () => startedAt + shift
  const opened: RevocationStore[] = []
  const open = async (): Promise<RevocationStore> => {
    const store = await kind.open(place, now)
    opened.push(store)
    await store.prepare({ longestLifetime: HOUR })
    return store
  }
  try {
    await run({
      store: await open(),
      now,
      advance: (milliseconds) => void (shift += milliseconds),
      another: open,
      wipe: async () => kind.wipe?.(place),
      count: async () => (await kind.count?.(place)) ?? Number.NaN,
    })
  } finally {
    for (const store of opened) await store.close()
    await kind.remove?.(place)
  }
}
