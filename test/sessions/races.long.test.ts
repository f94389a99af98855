import { expect, test } from 'vitest'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock } from '../helpers/manager.js'
import { createRandom, raceLogout, withDelays } from '../helpers/race-logout.js'
import { createRevocable } from '../helpers/revocable.js'

test('after logout resolved nothing of the session is accepted, over 400 schedules', async () => {
  let refreshed = 0
  for (let seed = 1; seed <= 400; seed++) {
    const random = createRandom(seed)
    const clock = createClock()
    const store = withDelays(createMemoryStore({ clock }), random)
    const { tokens } = createRevocable({ JWT_REVOCATION_TIMEOUT: '10s' }, { store, clock })
    const race = await raceLogout([tokens], random)
    expect(race.survivors, `seed ${seed}`).toEqual([])
    refreshed += race.refreshed
  }
  // Otherwise there would have been no race.
  expect(refreshed).toBeGreaterThan(40)
}, 120_000)
