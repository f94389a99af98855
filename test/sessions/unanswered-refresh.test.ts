import { expect, test } from 'vitest'
import type { RevocationStore } from '../../src/index.js'
import { createMemoryStore } from '../../src/stores/memory.js'
import { createClock } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'

/** A store that rotates and then fails, as one that is killed before it has answered. */
function openFailing(grace: number) {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const fault = { isOn: false }
  const sessions: NonNullable<RevocationStore['sessions']> = {
    ...memory.sessions!,
    async rotate(sid, generation, rules) {
      const rotation = await memory.sessions!.rotate(sid, generation, rules)
      if (fault.isOn) throw new Error('connection reset')
      return rotation
    },
  }
  const store = { ...memory, sessions }
  return { ...createRevocable({ JWT_REFRESH_GRACE: grace }, { clock, store }), fault, store }
}

test('a refresh that the store did not answer can be repeated at this process after the grace', async () => {
  const { tokens, clock, fault } = openFailing(10)
  const { refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
  fault.isOn = true
  expect(await outcomeOf(tokens.refresh(refreshToken))).toBe('REVOCATION_UNAVAILABLE')
  fault.isOn = false
  // Longer than the grace, and shorter than the deadline of a call: no real time passes here.
  clock.seconds += 20
  const next = await tokens.refresh(refreshToken)
  clock.seconds += 20
  expect(await outcomeOf(tokens.refresh(next.refreshToken))).toBe('ok')
  // From now on it is an old token like any other.
  expect(await outcomeOf(tokens.refresh(refreshToken))).toBe('REFRESH_TOKEN_REUSED')
})

test('one that was answered cannot', async () => {
  const { tokens, clock } = openFailing(10)
  const { refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
  await tokens.refresh(refreshToken)
  clock.seconds += 20
  expect(await outcomeOf(tokens.refresh(refreshToken))).toBe('REFRESH_TOKEN_REUSED')
})

test('without a grace nothing is forgiven', async () => {
  const { tokens, fault } = openFailing(0)
  const { refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
  fault.isOn = true
  expect(await outcomeOf(tokens.refresh(refreshToken))).toBe('REVOCATION_UNAVAILABLE')
  fault.isOn = false
  expect(await outcomeOf(tokens.refresh(refreshToken))).toBe('REFRESH_TOKEN_REUSED')
})
