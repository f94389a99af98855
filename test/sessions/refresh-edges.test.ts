import { describe, expect, test } from 'vitest'
import { createForeign, createReceiver } from '../helpers/foreign.js'
import { openToken } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { signClaims } from '../helpers/sign-claims.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

test('a use that does not advance the session keeps it from being idle everywhere', async () => {
  const { tokens, clock } = createRevocable({
    JWT_REFRESH_IDLE_EXPIRES: '4m',
    JWT_ACCESS_TOKEN_EXPIRES: '1m',
    JWT_REFRESH_GRACE: '30s',
  })
  const limit = { maxSessions: 1, whenFull: 'refuse' } as const
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' }, limit)
  await tokens.sessions.refresh(refreshToken)
  clock.seconds += 30
  const repeated = await tokens.sessions.refresh(refreshToken)
  clock.seconds += 239
  const token = repeated.refreshToken ?? ''
  expect(await tokens.sessions.list('ada')).toHaveLength(1)
  expect(await outcomeOf(tokens.sessions.open({ uid: 'ada' }, limit))).toBe('SESSION_LIMIT_REACHED')
  expect(await outcomeOf(internalsOf(tokens).inspectToken(token))).toBe('ok')
  expect(await outcomeOf(tokens.sessions.refresh(token))).toBe('ok')
})

test('nobody is told of a refresh whose tokens could not be made', async () => {
  let size = 1
  const describeUser = () => ({ claims: { text: 'x'.repeat(size) } })
  const { tokens, clock } = createRevocable({}, { describeUser })
  const events: string[] = []
  for (const name of ['refreshed', 'refreshRepeated'] as const) tokens.on(name, () => events.push(name))
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  size = 20_000
  for (let times = 0; times < 2; times++) {
    await expect(tokens.sessions.refresh(refreshToken)).rejects.toThrow(TypeError)
    clock.seconds += 100
  }
  expect(events).toEqual([])
  size = 1
  await tokens.sessions.refresh(refreshToken)
  expect(events).toEqual(['refreshed', 'refreshRepeated'])
})

test('a parent whose id is not plain ASCII is the parent of its successor', async () => {
  const { tokens, clock } = createRevocable()
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  const { claims } = openToken(refreshToken)
  const next = await tokens.sessions.refresh(signClaims({ ...claims, jti: 'é' }))
  clock.seconds += 1000
  expect(await outcomeOf(tokens.sessions.refresh(next.refreshToken ?? ''))).toBe('ok')
})

describe('claims that only our own refresh tokens have', () => {
  test.each([
    ['sat', 'Saturday'],
    ['par', { rank: 1 }],
    ['gen', 'x'],
  ])('%s may be anything in a token of another issuer', async (name, value) => {
    const issuer = createForeign('https://idp.example')
    const { tokens } = createReceiver([issuer.options({ profile: 'oidc-access' })])
    expect(await outcomeOf(tokens.verify(issuer.sign({ [name]: value })))).toBe('ok')
  })
})
