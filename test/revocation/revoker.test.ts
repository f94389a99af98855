import { describe, expect, test } from 'vitest'
import type { TokenEvents, RevocationStore } from '../../packages/tokenlib/src/index.js'
import { isWatermark } from '../../packages/tokenlib/src/revocation/revocation.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, NOW } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'

test('users and everybody are revoked up to a moment, all else for good', () => {
  const kinds = ['token', 'session', 'user', 'key', 'all'] as const
  expect(kinds.filter(isWatermark)).toEqual(['user', 'all'])
})

test('a token that no store has seen is revoked, even by a clock that was set back since', async () => {
  const { tokens, clock } = createRevocable()
  const first = tokens.createAccessToken({ uid: 'ada' })
  clock.seconds = NOW - 10
  const early = tokens.createAccessToken({ uid: 'ada' })
  await tokens.revoke.user('ada')
  clock.seconds = NOW
  expect(await outcomeOf(tokens.verify(first))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(early))).toBe('TOKEN_REVOKED')
})

describe('what cannot be revoked is said by name', () => {
  const { tokens } = createRevocable()
  const noJti = 'The token has no jti: revoke its session or its user. jti must be a non-empty string'

  test.each<[string, () => Promise<unknown>, string]>([
    ['a token without id', () => tokens.revoke.token({}), noJti],
    ['a token with a number for an id', () => tokens.revoke.token({ jti: 7 as never }), noJti],
    ['a session without id', () => tokens.revoke.session(''), 'A session id must be a non-empty string'],
    ['a user without id', () => tokens.revoke.user(''), 'uid must be a non-empty string'],
    [
      'a user with a number for an id',
      () => tokens.revoke.user(7 as never),
      'uid must be a non-empty string',
    ],
    ['a key without id', () => tokens.revoke.key(null as never), 'kid must be a non-empty string'],
  ])('%s', async (_what, revoke, message) => {
    await expect(revoke()).rejects.toThrow(new TypeError(message))
  })
})

describe('the clock that a store answers with', () => {
  /** The outcome of a revocation that the store answers so, and what is told of it. */
  async function revokeAnswered(answer: unknown) {
    const clock = createClock()
    const store: RevocationStore = { ...createMemoryStore({ clock }), revoke: async () => answer as never }
    const { tokens } = createRevocable({}, { clock, store })
    const unavailable: TokenEvents['storeUnavailable'][] = []
    tokens.on('storeUnavailable', (event) => unavailable.push(event))
    return { outcome: await outcomeOf(tokens.revoke.user('ada')), unavailable }
  }

  test.each([0, 2 ** 47 - 1])('may be %d', async (now) => {
    expect(await revokeAnswered({ position: 'p', now })).toEqual({ outcome: 'ok', unavailable: [] })
  })

  // Moments of ids have 48 bits; a later one would make tokens that nobody can read.
  test.each([-1, 2 ** 47, Number.NaN, undefined])('cannot be %d', async (now) => {
    expect(await revokeAnswered({ position: 'p', now })).toEqual({
      outcome: 'REVOCATION_UNAVAILABLE',
      unavailable: [
        {
          operation: 'revoke',
          cause: new TypeError('revoke() must return the position and the clock of the store'),
        },
      ],
    })
  })
})
