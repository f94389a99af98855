import { setTimeout as sleep } from 'node:timers/promises'
import type { RevocationStore } from '../../packages/tokenlib/src/index.js'
import { createRandom, raceLogout, withDelays } from '../helpers/race-logout.js'
import { atLeast, exactly, type FigureRules } from './harness/figures.js'
import { createTokens, migrate, openStore, PATIENT, type Place } from './harness/place.js'

/** How often. */
export interface RaceLogoutSizes {
  /** Each is a schedule of its own; they count up from `seed`. */
  readonly schedules: number
  readonly seed: number
}

/** What came of it. */
export interface RaceLogoutOutcome {
  readonly schedules: number
  /** Refreshes that won against the logout, or came before it. */
  readonly refreshed: number
  /** Tokens that were accepted after the logout was acknowledged. */
  readonly survivors: number
  /** Calls that the store did not answer, which would hide a survivor. */
  readonly unanswered: number
  readonly seconds: number
}

// So many schedules run at a time; they meet in the store as those of different users do.
const AT_ONCE = 8

/** Lets refreshes race logouts, by two managers on clients of their own. */
export async function runRaceLogout(
  place: Place,
  { schedules, seed }: RaceLogoutSizes,
): Promise<RaceLogoutOutcome> {
  await migrate(place)
  const startedAt = performance.now()
  const opened = [await openStore(place), await openStore(place)]
  let unanswered = 0
  const managers = opened.map(({ store }, at) => {
    const random = createRandom(seed - at - 1)
    const tokens = createTokens(withLateLogouts(withDelays(store, random), random), PATIENT)
    tokens.on('storeUnavailable', () => unanswered++)
    return tokens
  })
  try {
    await Promise.all(managers.map((tokens) => tokens.ready()))
    let next = 0
    let refreshed = 0
    let survivors = 0
    const runner = async (): Promise<void> => {
      while (next < schedules) {
        const race = await raceLogout(managers, createRandom(seed + next++))
        refreshed += race.refreshed
        survivors += race.survivors.length
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, runner))
    return { schedules, refreshed, survivors, unanswered, seconds: (performance.now() - startedAt) / 1000 }
  } finally {
    await Promise.all(opened.map(({ close }) => close()))
  }
}

/** A logout takes one call and a refresh two: unless some are held back, nearly all of them would come first. */
function withLateLogouts(store: RevocationStore, random: (limit: number) => number): RevocationStore {
  return {
    ...store,
    async revoke(batch) {
      await sleep(random(8))
      return store.revoke(batch)
    },
  }
}

/** How the figures are printed, and what they must be. */
export function raceLogoutFigures(): FigureRules<RaceLogoutOutcome> {
  return {
    schedules: { label: 'schedules of refreshes racing a logout, 2 managers' },
    refreshed: { label: 'refreshes that came through', promise: atLeast(1) },
    survivors: { label: 'tokens accepted after the logout was acknowledged', promise: exactly(0) },
    unanswered: { label: 'calls without an answer', promise: exactly(0) },
    seconds: { label: 'took', unit: 's' },
  }
}
