import { describe, expect, test, vi } from 'vitest'
import type { TokenConfigOptions, TokenEvents, RevocationStore } from '../../packages/tokenlib/src/index.js'
import { openToken, withBearer } from '../helpers/manager.js'
import { createRevocable, outcomeOf, toPair } from '../helpers/revocable.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

/** A session that was refreshed so many times, ten seconds apart, and what happens to it from then on. */
async function rotate(times: number, options: TokenConfigOptions = {}) {
  const { tokens, clock, store } = createRevocable({ JWT_REFRESH_GRACE: 0, ...options })
  const first = await tokens.sessions.open({ uid: 'ada' })
  let last = first
  for (let turn = 0; turn < times; turn++) {
    clock.seconds += 10
    last = toPair(await tokens.sessions.refresh(last.refreshToken))
  }
  const reuses: TokenEvents['reuseDetected'][] = []
  const revoked: TokenEvents['revoked'][] = []
  tokens.on('reuseDetected', (event) => reuses.push(event))
  tokens.on('revoked', (event) => revoked.push(event))
  const sid = openToken(first.refreshToken).claims['sid'] as string
  return { tokens, clock, store, first, last, reuses, revoked, sid }
}

type Case = Awaited<ReturnType<typeof rotate>>

const ENTRY_POINTS: readonly (readonly [
  string,
  (tokens: Case['tokens'], token: string) => Promise<unknown>,
])[] = [
  ['refresh', (tokens, token) => tokens.sessions.refresh(token)],
  ['refreshTokenRequired', (tokens, token) => tokens.refreshTokenRequired(withBearer(token))],
  ['tokenRequired', (tokens, token) => tokens.tokenRequired(withBearer(token))],
  ['require', (tokens, token) => tokens.require({ type: 'refresh', optional: true })(withBearer(token))],
  ['verify', (tokens, token) => tokens.verify(token, { type: 'refresh' })],
  [
    'sockets.authenticate',
    (tokens, token) => tokens.sockets.authenticate(withBearer(token), { type: 'refresh' }),
  ],
]

describe.each(ENTRY_POINTS)('%s', (_name, present) => {
  test('refuses a used refresh token, ends its session and raises the alarm once', async () => {
    const { tokens, first, last, reuses, revoked, sid } = await rotate(50)
    expect(await outcomeOf(present(tokens, first.refreshToken))).toBe('REFRESH_TOKEN_REUSED')
    expect(reuses).toEqual([
      expect.objectContaining({ sid, sub: 'ada', presented: 1, current: 50 }) as TokenEvents['reuseDetected'],
    ])
    expect(revoked).toMatchObject([{ kind: 'session', id: sid, sub: 'ada', reason: 'reuse' }])
    expect(await outcomeOf(tokens.verify(last.accessToken))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.sessions.refresh(last.refreshToken))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(present(tokens, first.refreshToken))).toBe('TOKEN_REVOKED')
    expect(reuses).toHaveLength(1)
  })

  test('takes the newest one, and the one before it until the newest is used', async () => {
    const { tokens, clock, first, last, reuses } = await rotate(1)
    clock.seconds += 3600
    expect(await outcomeOf(present(tokens, first.refreshToken))).toBe('ok')
    expect(await outcomeOf(present(tokens, last.refreshToken))).toBe('ok')
    expect(reuses).toEqual([])
  })

  test('refuses one whose successor was just used, and ends nothing', async () => {
    const { tokens, clock, first, last, reuses } = await rotate(2, { JWT_REFRESH_GRACE: '10s' })
    clock.seconds += 9
    expect(await outcomeOf(present(tokens, first.refreshToken))).toBe('REFRESH_SUPERSEDED')
    expect(await outcomeOf(present(tokens, last.refreshToken))).toBe('ok')
    expect(reuses).toEqual([])
  })

  test('refuses a refresh token whose session nobody knows', async () => {
    const { tokens, store, last } = await rotate(0)
    const other = createRevocable().tokens
    expect(await outcomeOf(present(other, last.refreshToken))).toBe('TOKEN_REVOKED')
    await store.close()
    expect(await outcomeOf(present(tokens, last.refreshToken))).toBe('REVOCATION_UNAVAILABLE')
  })
})

test('looking at a refresh token does not use it up', async () => {
  const { tokens, last } = await rotate(3)
  for (const [, present] of ENTRY_POINTS.slice(1)) await present(tokens, last.refreshToken)
  expect(await outcomeOf(tokens.sessions.refresh(last.refreshToken))).toBe('ok')
})

test('an access token of an earlier generation stays good', async () => {
  const { tokens, first } = await rotate(3)
  expect(await outcomeOf(tokens.verify(first.accessToken))).toBe('ok')
  expect(await outcomeOf(tokens.tokenRequired(withBearer(first.accessToken)))).toBe('ok')
})

test('two dependencies of one request present the token once', async () => {
  const { tokens, first, reuses } = await rotate(2)
  const request = withBearer(first.refreshToken)
  expect(await outcomeOf(tokens.refreshTokenRequired(request))).toBe('REFRESH_TOKEN_REUSED')
  expect(await outcomeOf(tokens.tokenRequired(request))).toBe('REFRESH_TOKEN_REUSED')
  expect(reuses).toHaveLength(1)
})

test('a route that guards with the refresh token and then refreshes works', async () => {
  const { tokens, last } = await rotate(2)
  const request = withBearer(last.refreshToken)
  await tokens.refreshTokenRequired(request)
  expect(await outcomeOf(tokens.sessions.refresh(request))).toBe('ok')
})

test('where the revocation check is left out, so is this', async () => {
  const { tokens, first } = await rotate(2)
  expect(await outcomeOf(tokens.verify(first.refreshToken, { type: 'refresh', skipRevocation: true }))).toBe(
    'ok',
  )
  expect(internalsOf(tokens).verifyWithoutRevocation(first.refreshToken, { type: 'refresh' }).gen).toBe(1)
})

test('a refresh token of no session is no concern of the store', async () => {
  const { tokens } = createRevocable()
  const token = tokens.createRefreshToken({ uid: 'ada' })
  expect(await outcomeOf(tokens.refreshTokenRequired(withBearer(token)))).toBe('ok')
})

test('a socket that was opened with a refresh token outlives the rotation of that token', async () => {
  const { tokens, clock, last, reuses } = await rotate(0)
  const upgrade = await tokens.sockets.authenticate(withBearer(last.refreshToken), { type: 'refresh' })
  await tokens.sessions.refresh(last.refreshToken)
  clock.seconds += 3600
  const closed: number[] = []
  const socket = { close: (code: number) => void closed.push(code), addEventListener() {} }
  vi.useFakeTimers()
  try {
    const stop = tokens.sockets.closeWhenInvalid(socket, upgrade, { every: '1s' })
    await vi.advanceTimersByTimeAsync(3000)
    stop()
  } finally {
    vi.useRealTimers()
  }
  expect([closed, reuses]).toEqual([[], []])
})

describe.each([
  'a store that answers immediately',
  'a store that answers later',
  'a callback next to the store',
])('a request that refreshes, with %s', (kind) => {
  async function create() {
    const made = await rotate(2)
    const { store } = made
    const later: RevocationStore = { ...store, lookup: async (keys) => store.lookup(keys) }
    const { tokens } = createRevocable(
      { JWT_REFRESH_GRACE: 0 },
      { clock: made.clock, store: kind === 'a store that answers later' ? later : store },
    )
    if (kind === 'a callback next to the store') tokens.setTokenBlocklist(() => false)
    return { ...made, tokens }
  }

  test('and is refused, is refused by its other dependencies too', async () => {
    const { tokens, first } = await create()
    const request = withBearer(first.refreshToken)
    expect(await outcomeOf(tokens.sessions.refresh(request))).toBe('REFRESH_TOKEN_REUSED')
    expect(await outcomeOf(tokens.refreshTokenRequired(request))).toBe('REFRESH_TOKEN_REUSED')
    expect(await outcomeOf(tokens.tokenRequired(request))).toBe('REFRESH_TOKEN_REUSED')
  })

  test('does not take its own refresh for a reuse', async () => {
    const { tokens, last } = await create()
    const request = withBearer(last.refreshToken)
    const next = toPair(await tokens.sessions.refresh(request))
    await tokens.sessions.refresh(next.refreshToken)
    expect(await outcomeOf(tokens.refreshTokenRequired(request))).toBe('ok')
    expect(await outcomeOf(tokens.verify(next.accessToken))).toBe('ok')
    expect(await outcomeOf(tokens.refreshTokenRequired(withBearer(last.refreshToken)))).toBe(
      'REFRESH_TOKEN_REUSED',
    )
  })
})
