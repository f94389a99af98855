import { expect, test } from 'vitest'
import { FOREVER, decideRotation, type RotationState, toPauseMs } from '../../src/store-kit.js'

const NOW = 1_000_000
const RULES = { graceMs: 100, idleMs: 5000 }
const session = (given: Partial<RotationState> = {}): RotationState => ({
  generation: 3,
  lastUsedAt: NOW - 1000,
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
  ['the newest token, within the grace', session({ lastUsedAt: NOW - 99 }), 3, 'replay'],
  ['the newest token, in the millisecond of its rotation', session({ lastUsedAt: NOW }), 3, 'replay'],
  ['the newest token, when the grace is over', session({ lastUsedAt: NOW - 100 }), 3, 'rotate'],
  ['the newest token, after a clock that went back a little', session({ lastUsedAt: NOW + 99 }), 3, 'replay'],
  ['the newest token, after a clock that went back', session({ lastUsedAt: NOW + 100 }), 3, 'rotate'],
  ['the newest token, just before the end', session({ lastUsedAt: NOW, until: NOW + 1 }), 3, 'replay'],
  ['the newest token, at the end', session({ lastUsedAt: NOW, until: NOW }), 3, 'end'],
  ['the newest token of a revoked session', session({ lastUsedAt: NOW, isRevoked: true }), 3, 'end'],
  ['the token of the log-in, at once', session({ generation: 0, lastUsedAt: NOW }), 0, 'rotate'],
  ['the token of the log-in, within the grace', session({ generation: 1, lastUsedAt: NOW }), 0, 'replay'],
  ['a token ahead of the store, within the grace', session({ lastUsedAt: NOW }), 4, 'rotate'],
  ['a token ahead of the store', session(), 9, 'rotate'],
  ['the token before, within the grace', session({ lastUsedAt: NOW - 99 }), 2, 'replay'],
  ['the token before, when the grace is over', session({ lastUsedAt: NOW - 100 }), 2, 'reuse'],
  ['the token before, after a clock that went back a little', session({ lastUsedAt: NOW + 99 }), 2, 'replay'],
  ['the token before, after a clock that went back', session({ lastUsedAt: NOW + 100 }), 2, 'reuse'],
  ['an older token, within the grace', session({ lastUsedAt: NOW }), 1, 'reuse'],
  ['the first token of all', session(), 0, 'reuse'],
  ['an old token of a revoked session', session({ isRevoked: true }), 0, 'end'],
])('%s: %#', (_what, state, presented, verdict) => {
  expect(decideRotation(state, presented, RULES, NOW)).toBe(verdict)
})

// A replay is no use of the session: if only every second refresh counted, it would end under whoever uses it.
test.each<[string, graceMs: number, idleMs: number, pauseMs: number, string]>([
  ['an idle time of two graces', 100, 200, 100, 'replay'],
  ['an idle time of less than two graces', 100, 199, 0, 'rotate'],
  ['an idle time without an end', 100, FOREVER, 100, 'replay'],
  ['no grace', 0, 5000, 0, 'rotate'],
])('the newest token at once, with %s', (_what, graceMs, idleMs, pauseMs, verdict) => {
  const rules = { graceMs, idleMs }
  expect(toPauseMs(rules)).toBe(pauseMs)
  const state = session({ lastUsedAt: NOW })
  expect(decideRotation(state, 3, rules, NOW)).toBe(verdict)
  // The token before it is forgiven for the grace all the same.
  expect(decideRotation(state, 2, rules, NOW)).toBe(graceMs === 0 ? 'reuse' : 'replay')
})
