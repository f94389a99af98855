import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { TokenEvents, TokenStore } from '../../src/index.js'
import { createMemoryStore } from '../../src/stores/memory.js'
import { createClock, NOW, SECRET } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'

type Sessions = NonNullable<TokenStore['sessions']>

/** A manager on a memory store, some methods of its sessions replaced. */
function createWith(sessions: Partial<Sessions>) {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const store = { ...memory, sessions: { ...memory.sessions, ...sessions } as Sessions }
  const { tokens } = createRevocable({}, { clock, store })
  const unavailable: TokenEvents['storeUnavailable'][] = []
  tokens.on('storeUnavailable', (event) => unavailable.push(event))
  return { tokens, store, unavailable }
}

describe('an answer that is none is told with the operation and what is wrong with it', () => {
  test.each([undefined, null, {}, { sid: '' }, { sid: 7 }])('open: %j', async (answer) => {
    const { tokens, unavailable } = createWith({ open: async () => answer as never })
    expect(await outcomeOf(tokens.createTokenPair({ uid: 'ada' }))).toBe('REVOCATION_UNAVAILABLE')
    expect(unavailable).toEqual([
      {
        operation: 'open',
        cause: new TypeError('sessions.open() must return the id of the new session'),
      },
    ])
  })

  test.each([undefined, null, {}, [undefined], [{ sid: 7 }]])('list: %j', async (answer) => {
    const { tokens, unavailable } = createWith({ list: async () => answer as never })
    expect(await outcomeOf(tokens.listSessions('ada'))).toBe('REVOCATION_UNAVAILABLE')
    expect(unavailable).toEqual([
      {
        operation: 'list',
        cause: new TypeError('sessions.list() must return an array of sessions'),
      },
    ])
  })

  test.each([
    undefined,
    {},
    { outcome: 'rotated', generation: 1, expiresAt: 0.5 },
    { outcome: 'replayed', generation: 2, expiresAt: 1 },
  ])('rotate: %j', async (answer) => {
    const { tokens, unavailable } = createWith({ rotate: async () => answer as never })
    const { refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
    expect(await outcomeOf(tokens.refresh(refreshToken))).toBe('REVOCATION_UNAVAILABLE')
    expect(unavailable).toEqual([
      {
        operation: 'rotate',
        cause: new TypeError('sessions.rotate() must return an outcome: rotated, replayed, reused or ended'),
      },
    ])
  })

  test('a store that no longer keeps sessions', async () => {
    const { tokens, store, unavailable } = createWith({})
    Object.assign(store, { sessions: undefined })
    expect(await outcomeOf(tokens.listSessions('ada'))).toBe('REVOCATION_UNAVAILABLE')
    expect(unavailable).toEqual([{ operation: 'list', cause: new TypeError('The store keeps no sessions') }])
  })
})

describe('what is listed', () => {
  test('a session that was not used for too long is listed no more, but revoked with the others', async () => {
    const { tokens, clock } = createRevocable({ JWT_REFRESH_IDLE_EXPIRES: '1h' })
    const idle = await tokens.createTokenPair({ uid: 'ada' })
    clock.seconds = NOW + 1800
    const mine = await tokens.createTokenPair({ uid: 'ada' })
    clock.seconds = NOW + 3600
    expect(await tokens.listSessions('ada')).toHaveLength(2)
    clock.seconds = NOW + 3600.001
    const [listed, ...more] = await tokens.listSessions('ada')
    const payload = tokens.verifyTokenWithoutRevocation(mine.accessToken, { allowExpired: true })
    expect([listed?.id, more]).toEqual([payload.sid, []])
    const revoked: string[] = []
    tokens.on('revoked', ({ id }) => revoked.push(id))
    expect(await tokens.revokeOtherSessions(payload)).toBe(1)
    const { sid } = tokens.verifyTokenWithoutRevocation(idle.accessToken, { allowExpired: true })
    expect(revoked).toEqual([sid])
  })

  test('an end is shown for as long as a Date can show it', async () => {
    const { tokens } = createRevocable()
    await tokens.createTokenPair({ uid: 'ada' }, { refresh: { expiresAt: new Date(8.64e15) } })
    expect(await tokens.listSessions('ada')).toMatchObject([{ expiresAt: new Date(8.64e15) }])
  })

  test('an empty text is nothing known, and anything but a text is a mistake that is named', async () => {
    const { tokens } = createRevocable()
    await tokens.createTokenPair({ uid: 'ada' }, { ip: '', userAgent: '' })
    expect(await tokens.listSessions('ada')).toMatchObject([{ ip: null, userAgent: null }])
    for (const option of ['ip', 'userAgent']) {
      await expect(tokens.createTokenPair({ uid: 'ada' }, { [option]: 7 })).rejects.toThrow(
        new TypeError(`${option} must be a string`),
      )
    }
  })
})

test('a refresh that was second within the grace is told as a replay', async () => {
  const { tokens } = createRevocable()
  const refreshed: boolean[] = []
  tokens.on('refreshed', ({ isReplay }) => refreshed.push(isReplay))
  const { refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
  await tokens.refresh(refreshToken)
  await tokens.refresh(refreshToken)
  expect(refreshed).toEqual([false, true])
})

test('a session of the configured length asks nothing more of the store than the start did', async () => {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const needs: number[] = []
  const store: TokenStore = {
    ...memory,
    async prepare(need) {
      needs.push(need.longestLifetime)
      return memory.prepare(need)
    },
  }
  const { tokens } = createRevocable({ JWT_REFRESH_TOKEN_EXPIRES: '30d' }, { clock, store })
  await tokens.ready()
  await tokens.createTokenPair({ uid: 'ada' })
  expect(needs).toHaveLength(1)
})

test.each([
  ['no session id', { gen: 0 }],
  ['no generation', { sid: 'abc' }],
])('a genuine refresh token with %s belongs to no session', async (_what, part) => {
  const { tokens } = createRevocable()
  const claims = { sub: 'ada', type: 'refresh', jti: 'x', iat: NOW, exp: NOW + 60, ...part }
  const input = [{ alg: 'HS256' }, claims]
    .map((json) => Buffer.from(JSON.stringify(json)).toString('base64url'))
    .join('.')
  const token = `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`
  await expect(tokens.refresh(token)).rejects.toMatchObject({
    code: 'TOKEN_INVALID',
    message: 'Refresh token belongs to no session',
  })
})
