import { expect, test } from 'vitest'
import type { RevocationStore } from '../../src/index.js'
import { createMemoryStore } from '../../src/stores/memory.js'
import { createClock } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'

test('both tokens of a session are inspected, with their claims', async () => {
  const { tokens } = createRevocable()
  const pair = await tokens.createTokenPair({ uid: 'ada', role: 'reader' })
  expect(await tokens.inspectToken(pair.accessToken)).toMatchObject({ sub: 'ada', type: 'access' })
  expect(await tokens.inspectToken(pair.refreshToken)).toMatchObject({ sub: 'ada', role: 'reader', gen: 0 })
})

test('a used refresh token is refused, within the grace and after it, and its session goes on', async () => {
  const { tokens, clock } = createRevocable()
  const events: string[] = []
  tokens.on('reuseDetected', () => events.push('reuseDetected'))
  tokens.on('revoked', () => events.push('revoked'))
  const first = await tokens.createTokenPair({ uid: 'ada' })
  const second = await tokens.refresh(first.refreshToken)
  expect(await outcomeOf(tokens.inspectToken(first.refreshToken))).toBe('TOKEN_REVOKED')
  clock.seconds += 3600
  const third = await tokens.refresh(second.refreshToken)
  for (const { refreshToken } of [first, second]) {
    expect(await outcomeOf(tokens.inspectToken(refreshToken))).toBe('TOKEN_REVOKED')
  }
  expect(events).toEqual([])
  expect(await outcomeOf(tokens.inspectToken(third.refreshToken))).toBe('ok')
  expect(await outcomeOf(tokens.refresh(third.refreshToken))).toBe('ok')
})

test('a refresh token of no session is inspected; one of an ended session is refused', async () => {
  const { tokens } = createRevocable()
  expect(await outcomeOf(tokens.inspectToken(tokens.createRefreshToken({ uid: 'ada' })))).toBe('ok')
  const { refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
  await tokens.revokeUser('ada')
  expect(await outcomeOf(tokens.inspectToken(refreshToken))).toBe('TOKEN_REVOKED')
})

test('a store that does not tell the generation leaves it open: nothing is said to be good', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const get: NonNullable<RevocationStore['sessions']>['get'] = async (sid, rules) => {
    const { generation: _generation, ...found } = (await store.sessions!.get(sid, rules))!
    return found as never
  }
  const { tokens } = createRevocable(
    {},
    { clock, store: { ...store, sessions: { ...store.sessions!, get } } },
  )
  const { refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
  expect(await outcomeOf(tokens.inspectToken(refreshToken))).toBe('REVOCATION_UNAVAILABLE')
})
