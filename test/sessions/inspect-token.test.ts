import { expect, test } from 'vitest'
import type { RevocationStore } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock } from '../helpers/manager.js'
import { advance, createRevocable, outcomeOf } from '../helpers/revocable.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'
import { openBound } from '../security/harness/prover.js'

test('both tokens of a session are inspected, with their claims', async () => {
  const { tokens } = createRevocable()
  const pair = await tokens.sessions.open({ uid: 'ada', role: 'reader' })
  expect(await internalsOf(tokens).inspectToken(pair.accessToken)).toMatchObject({
    sub: 'ada',
    type: 'access',
  })
  expect(await internalsOf(tokens).inspectToken(pair.refreshToken)).toMatchObject({
    sub: 'ada',
    role: 'reader',
    gen: 1,
  })
})

test('a used refresh token is refused, within the grace and after it, and its session goes on', async () => {
  const revocable = createRevocable()
  const { tokens, clock } = revocable
  const events: string[] = []
  tokens.on('reuseDetected', () => events.push('reuseDetected'))
  tokens.on('revoked', () => events.push('revoked'))
  const first = await tokens.sessions.open({ uid: 'ada' })
  const second = await advance(revocable, first.refreshToken)
  // It is used up when its successor is.
  expect(await outcomeOf(internalsOf(tokens).inspectToken(first.refreshToken))).toBe('ok')
  const third = await advance(revocable, second.refreshToken)
  expect(await outcomeOf(internalsOf(tokens).inspectToken(first.refreshToken))).toBe('REFRESH_SUPERSEDED')
  clock.seconds += 3600
  expect(await outcomeOf(internalsOf(tokens).inspectToken(first.refreshToken))).toBe('TOKEN_REVOKED')
  for (const { refreshToken } of [second, third]) {
    expect(await outcomeOf(internalsOf(tokens).inspectToken(refreshToken))).toBe('ok')
  }
  expect(events).toEqual([])
  expect(await outcomeOf(tokens.sessions.refresh(third.refreshToken))).toBe('ok')
})

test('a refresh token of no session is inspected; one of an ended session is refused', async () => {
  const { tokens } = createRevocable()
  expect(await outcomeOf(internalsOf(tokens).inspectToken(tokens.createRefreshToken({ uid: 'ada' })))).toBe(
    'ok',
  )
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  await tokens.revoke.user('ada')
  expect(await outcomeOf(internalsOf(tokens).inspectToken(refreshToken))).toBe('TOKEN_REVOKED')
})

test.each([
  { current: undefined },
  { current: null },
  { previous: undefined },
  { generation: undefined },
  { generation: 0.5 },
  { movedAt: Number.NaN },
  { lastUsedAt: undefined },
])('a store that does not tell where a session stands leaves it open: %j', async (part) => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const get: NonNullable<RevocationStore['sessions']>['get'] = async (sid, rules) =>
    ({ ...(await store.sessions!.get(sid, rules)), ...part }) as never
  const { tokens } = createRevocable(
    {},
    { clock, store: { ...store, sessions: { ...store.sessions!, get } } },
  )
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  expect(await outcomeOf(internalsOf(tokens).inspectToken(refreshToken))).toBe('REVOCATION_UNAVAILABLE')
})

test('a bound token is inspected without a proof, which only its holder could make', async () => {
  const { tokens, accessToken, refreshToken, client } = await openBound()
  expect(await outcomeOf(tokens.verify(accessToken))).toBe('PROOF_REQUIRED')
  for (const token of [accessToken, refreshToken]) {
    const payload = await internalsOf(tokens).inspectToken(token)
    expect(payload).toMatchObject({ sub: 'ada', cnf: { jkt: client.jkt } })
  }
})
