import { describe, expect, test } from 'vitest'
import {
  decideRotation,
  FOREVER,
  type PresentedToken,
  ROOT,
  type RotationDecision,
  type RotationState,
  toCoarseMs,
  toFirstPlace,
  toPresentation,
  toRotation,
} from '../../packages/tokenlib/src/kit.js'

const NOW = 1_000_000
const RULES = { graceMs: 100, idleMs: FOREVER }
const PLACE = { current: 'c', previous: 'b', generation: 3, movedAt: NOW - 100, lastUsedAt: NOW }
const STATE: RotationState = { ...PLACE, until: NOW + 1, isRevoked: false }

const CURRENT: PresentedToken = { id: 'c', parent: 'b', generation: 3, issuedAt: NOW - 500 }
const CHILD: PresentedToken = { id: 'd', parent: 'c', generation: 4, issuedAt: NOW - 100 }
const PREVIOUS: PresentedToken = { id: 'b', parent: 'a', generation: 2, issuedAt: NOW - 900 }
const SIBLING: PresentedToken = { id: 'x', parent: 'b', generation: 3, issuedAt: NOW - 500 }
const OLDER: PresentedToken = { id: 'a', parent: ROOT, generation: 1, issuedAt: NOW - 1000 }
const NIECE: PresentedToken = { id: 'y', parent: 'x', generation: 4, issuedAt: NOW }
const COUSIN: PresentedToken = { id: 'z', parent: 'w', generation: 3, issuedAt: NOW }
const AHEAD: PresentedToken = { id: 'e', parent: 'd', generation: 5, issuedAt: NOW - 100 }

const decide = (
  token: Partial<PresentedToken>,
  state: Partial<RotationState> = {},
  rules = RULES,
): RotationDecision => decideRotation({ ...STATE, ...state }, { ...CURRENT, ...token }, rules, NOW)

// The least age at which a use is noted, and the one before.
const NOTED = { lastUsedAt: NOW - 60_001 }
const RECENT = { lastUsedAt: NOW - 60_000 }
const USED = { ...PLACE, lastUsedAt: NOW }

describe('current', () => {
  test.each<[string, Partial<RotationState>, object | null]>([
    ['just after the session moved on', { movedAt: NOW }, null],
    ['long after', { movedAt: 0 }, null],
    ['when the last use is noted well enough', RECENT, null],
    ['when it is not', NOTED, USED],
    ['when that is ahead of the clock', { lastUsedAt: NOW + 9999 }, null],
  ])('is repeated %s', (_when, state, place) => {
    expect(decide(CURRENT, state)).toEqual({ outcome: 'repeat', place })
  })
})

describe('a child of current', () => {
  const advanced = { current: 'd', previous: 'c', generation: 4, movedAt: NOW, lastUsedAt: NOW }

  test.each<[string, number, Partial<RotationState>, object | null]>([
    ['in the millisecond it was made', NOW, {}, null],
    ['until the grace is over', NOW - 99, RECENT, null],
    ['and the use is noted', NOW - 99, NOTED, USED],
    ['by a clock that went back a little', NOW + 99, {}, null],
  ])('is kept %s', (_when, issuedAt, state, place) => {
    expect(decide({ ...CHILD, issuedAt }, state)).toEqual({ outcome: 'keep', place })
  })

  test.each<[string, number]>([
    ['when the grace is over', NOW - 100],
    ['by a clock that went back', NOW + 100],
  ])('moves the session on %s', (_when, issuedAt) => {
    expect(decide({ ...CHILD, issuedAt })).toEqual({ outcome: 'advance', place: advanced })
  })

  test('moves the session on immediately without a grace', () => {
    const rules = { ...RULES, graceMs: 0 }
    expect(decide({ ...CHILD, issuedAt: NOW }, {}, rules)).toEqual({ outcome: 'advance', place: advanced })
  })
})

describe('the token of the login', () => {
  const state = { ...toFirstPlace(NOW - 100), until: NOW + 1, isRevoked: false }

  test.each([NOW, NOW - 99, NOW - 100])('of %d moves the session on', (issuedAt) => {
    expect(decideRotation(state, { ...OLDER, issuedAt }, RULES, NOW)).toMatchObject({ outcome: 'advance' })
  })

  test('is current after that', () => {
    const decision = decideRotation(state, { ...OLDER, issuedAt: NOW - 100 }, RULES, NOW)
    const place = { current: 'a', previous: ROOT, generation: 1, movedAt: NOW, lastUsedAt: NOW }
    expect(decision).toEqual({ outcome: 'advance', place })
    expect(decideRotation({ ...state, ...place }, OLDER, RULES, NOW)).toEqual({
      outcome: 'repeat',
      place: null,
    })
  })
})

describe.each([
  ['previous', PREVIOUS],
  ['a sibling of current', SIBLING],
])('%s', (_name, token) => {
  test.each<[string, number, RotationDecision['outcome']]>([
    ['in the millisecond of the move', NOW, 'superseded'],
    ['until the grace is over', NOW - 99, 'superseded'],
    ['when the grace is over', NOW - 100, 'reuse'],
    ['by a clock that went back a little', NOW + 99, 'superseded'],
    ['by a clock that went back', NOW + 100, 'reuse'],
  ])('%s', (_when, movedAt, outcome) => {
    expect(decide(token, { movedAt })).toEqual({ outcome })
  })

  test('is a reuse immediately without a grace', () => {
    expect(decide(token, { movedAt: NOW }, { ...RULES, graceMs: 0 })).toEqual({ outcome: 'reuse' })
  })
})

describe('a token ahead of the store', () => {
  test('moves the session on from its parent', () => {
    const place = { current: 'e', previous: 'd', generation: 5, movedAt: NOW, lastUsedAt: NOW }
    expect(decide(AHEAD)).toEqual({ outcome: 'advance', place })
  })

  test('is kept while it is young, and its parent is current', () => {
    const place = { current: 'd', previous: null, generation: 4, movedAt: 0, lastUsedAt: NOW }
    const decision = decide({ ...AHEAD, issuedAt: NOW - 99 })
    expect(decision).toEqual({ outcome: 'keep', place })
    expect(decide(CHILD, place)).toEqual({ outcome: 'repeat', place: null })
    // Nobody knows what was before: within any grace, the next older token is a reuse.
    expect(decide(CURRENT, place)).toEqual({ outcome: 'reuse' })
  })

  test('by one is not: it is a child of somebody else', () => {
    expect(decide({ ...AHEAD, generation: 4 })).toEqual({ outcome: 'reuse' })
  })
})

test.each([
  ['an older token', OLDER],
  ['a sibling of previous', { ...PREVIOUS, id: 'w' }],
  ['a child of a sibling', NIECE],
  ['a child of a sibling of previous', COUSIN],
])('%s is a reuse, also within the grace', (_name, token) => {
  for (const movedAt of [NOW, NOW - 100]) expect(decide(token, { movedAt })).toEqual({ outcome: 'reuse' })
})

describe('a session has ended', () => {
  const tokens = [CURRENT, CHILD, PREVIOUS, SIBLING, OLDER, NIECE, COUSIN, AHEAD]
  const IDLE = { graceMs: 100, idleMs: 5000 }

  test.each<[string, RotationState | null]>([
    ['that is not known', null],
    ['that is revoked', { ...STATE, isRevoked: true }],
    ['at its end', { ...STATE, until: NOW }],
    ['that nobody used for too long', { ...STATE, lastUsedAt: NOW - 5001 }],
  ])('%s', (_name, state) => {
    for (const token of tokens) {
      const old = { ...token, issuedAt: NOW - 5001 }
      expect(decideRotation(state, old, IDLE, NOW)).toEqual({ outcome: 'end' })
    }
  })

  test('no sooner than the row and the token are both idle', () => {
    const idle = { lastUsedAt: NOW - 5001 }
    expect(decide({ ...CHILD, issuedAt: NOW - 5001 }, idle, IDLE)).toEqual({ outcome: 'end' })
    expect(decide({ ...CHILD, issuedAt: NOW - 5000 }, idle, IDLE)).toMatchObject({ outcome: 'advance' })
    expect(decide({ ...CHILD, issuedAt: 0 }, { lastUsedAt: NOW - 5000 }, IDLE)).toMatchObject({
      outcome: 'advance',
    })
    expect(decide({ ...CHILD, issuedAt: 0 }, { lastUsedAt: 0 })).toMatchObject({ outcome: 'advance' })
  })
})

test.each([
  [FOREVER, 60_000],
  [240_000, 0],
])('with an idle limit of %d ms, uses are noted to within %d ms', (idleMs, coarseMs) => {
  expect(toCoarseMs({ graceMs: 0, idleMs })).toBe(coarseMs)
})

test('an answer has what the session was before', () => {
  const client = { ip: '192.0.2.1', userAgent: 'curl/8' }
  const session = { generation: 3, movedAt: 5, expiresAt: 9, ...client }
  const granted = { now: NOW, movedAt: 5, expiresAt: 9, client }
  for (const [outcome, answered] of [
    ['repeat', 'repeated'],
    ['keep', 'kept'],
    ['advance', 'advanced'],
  ] as const) {
    const rotation = toRotation({ outcome, place: null }, session, NOW)
    expect(rotation).toEqual({ outcome: answered, ...granted })
    expect(toPresentation(rotation)).toEqual({ outcome: 'current' })
  }
  for (const [outcome, answer] of [
    ['superseded', { outcome: 'superseded' }],
    ['reuse', { outcome: 'reused', generation: 3, client }],
    ['end', { outcome: 'ended' }],
  ] as const) {
    const rotation = toRotation({ outcome }, session, NOW)
    expect(rotation).toEqual(answer)
    expect(toPresentation(rotation)).toEqual(answer)
  }
  expect(toRotation({ outcome: 'end' }, null, NOW)).toEqual({ outcome: 'ended' })
})
