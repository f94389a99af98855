import { expect, test } from 'vitest'
import { FOREVER, decideRotation, type RotationState } from '../../src/store-kit.js'

const NOW = 1_000_000
const RULES = { graceMs: 100, idleMs: 5000 }
const session = (given: Partial<RotationState> = {}): RotationState => ({
  generation: 3,
  lastUsedAt: NOW - 50,
  until: NOW + 1,
  isRevoked: false,
  ...given,
})

test.each<[string, RotationState | null, number, string]>([
  ['no session', null, 3, 'end'],
  ['a revoked session', session({ isRevoked: true }), 3, 'end'],
  ['a session at its end', session({ until: NOW }), 3, 'end'],
  ['a session just before its end', session({ until: NOW + 1 }), 3, 'rotate'],
  ['a session that never ends', session({ until: FOREVER }), 3, 'rotate'],
  ['a session unused for as long as allowed', session({ lastUsedAt: NOW - 5000 }), 3, 'rotate'],
  ['a session unused for longer', session({ lastUsedAt: NOW - 5001 }), 3, 'end'],
  ['the newest token', session(), 3, 'rotate'],
  ['a token ahead of the store', session(), 9, 'rotate'],
  ['the token before, within the grace', session({ lastUsedAt: NOW - 99 }), 2, 'replay'],
  ['the token before, when the grace is over', session({ lastUsedAt: NOW - 100 }), 2, 'reuse'],
  ['the token before, after a clock that went back a little', session({ lastUsedAt: NOW + 99 }), 2, 'replay'],
  ['the token before, after a clock that went back', session({ lastUsedAt: NOW + 100 }), 2, 'reuse'],
  ['an older token, within the grace', session(), 1, 'reuse'],
  ['the first token of all', session(), 0, 'reuse'],
  ['an old token of a revoked session', session({ isRevoked: true }), 0, 'end'],
])('%s: %#', (_what, state, presented, verdict) => {
  expect(decideRotation(state, presented, RULES, NOW)).toBe(verdict)
})
