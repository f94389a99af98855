import { describe, expect, test } from 'vitest'
import type { TokenPair } from '../../packages/tokenlib/src/index.js'
import { createClock, createManager, openToken, SECRET } from '../helpers/manager.js'
import { createRequest, csrfOf } from '../helpers/requests.js'
import { advance, createRevocable, outcomeOf, toPair } from '../helpers/revocable.js'
import { forge } from '../security/harness/forge.js'

const COOKIES = { JWT_TOKEN_LOCATION: 'cookies' } as const

/** A POST as a browser sends it: the newest cookies, and a CSRF value that a page read at some time. */
const post = ({ accessToken, refreshToken }: TokenPair, csrf: string): Request =>
  createRequest({
    method: 'POST',
    headers: { 'x-csrf-token': csrf },
    cookies: { access_token_cookie: accessToken, refresh_token_cookie: refreshToken },
  })

const valuesOf = ({ accessToken, refreshToken }: TokenPair): unknown[] =>
  [accessToken, refreshToken].map((token) => openToken(token).claims['csrf'])

describe('the CSRF value of a session', () => {
  test('both tokens of a pair carry the same, whether a store keeps the session or not', async () => {
    for (const { tokens } of [createRevocable(COOKIES), createManager(COOKIES)]) {
      const pair = await tokens.sessions.open({ uid: 'ada' })
      expect(csrfOf(pair.accessToken)).toMatch(/^[\w-]{22}$/)
      expect(csrfOf(pair.refreshToken)).toBe(csrfOf(pair.accessToken))
    }
  })

  test('a value read at any time is valid for every token of the session', async () => {
    const { tokens, clock } = createRevocable(COOKIES)
    const pairs = [await tokens.sessions.open({ uid: 'ada' })]
    for (let at = 0; at < 3; at++) {
      clock.seconds += 60
      const newest = pairs.at(-1) as TokenPair
      for (const { accessToken } of pairs) {
        const csrf = csrfOf(accessToken)
        expect(await outcomeOf(tokens.accessTokenRequired(post(newest, csrf)))).toBe('ok')
        expect(await outcomeOf(tokens.refreshTokenRequired(post(newest, csrf)))).toBe('ok')
      }
      pairs.push(
        toPair(await tokens.sessions.refresh(post(newest, csrfOf((pairs[0] as TokenPair).refreshToken)))),
      )
    }
    expect(new Set(pairs.flatMap(valuesOf)).size).toBe(1)
  })

  test('refreshes of one token at the same time give one value', async () => {
    const { tokens, clock } = createRevocable(COOKIES)
    const first = await tokens.sessions.open({ uid: 'ada' })
    clock.seconds += 60
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => tokens.sessions.refresh(first.refreshToken)),
    )
    const pairs = answers.map(toPair)
    expect(new Set([first, ...pairs].flatMap(valuesOf)).size).toBe(1)
    // So does one that leaves the refresh token as it is.
    const kept = await tokens.sessions.refresh((pairs[0] as TokenPair).refreshToken)
    expect([kept.refreshToken, csrfOf(kept.accessToken)]).toEqual([null, csrfOf(first.accessToken)])
  })

  test('another session of the same user has another', async () => {
    const { tokens } = createRevocable(COOKIES)
    const [one, other] = [
      await tokens.sessions.open({ uid: 'ada' }),
      await tokens.sessions.open({ uid: 'ada' }),
    ]
    const foreign = csrfOf(other.accessToken)
    expect(await outcomeOf(tokens.accessTokenRequired(post(one, foreign)))).toBe('CSRF_MISMATCH')
    expect(await outcomeOf(tokens.sessions.refresh(post(one, foreign)))).toBe('CSRF_MISMATCH')
  })

  test('tokens that are made alone have their own', () => {
    const { tokens } = createManager(COOKIES)
    const values = [
      tokens.createAccessToken({ uid: 'ada' }),
      tokens.createAccessToken({ uid: 'ada' }),
      tokens.createRefreshToken({ uid: 'ada' }),
    ].map(csrfOf)
    expect(new Set(values).size).toBe(3)
  })
})

describe('a refresh token that was made under another configuration', () => {
  const clock = createClock()

  test('without a CSRF value: the new pair shares a new one, and keeps it', async () => {
    const { tokens: before, store } = createRevocable({}, { clock })
    const { tokens } = createRevocable(COOKIES, { clock, store })
    const old = await before.sessions.open({ uid: 'ada' })
    expect(valuesOf(old)).toEqual([undefined, undefined])
    const first = await advance({ tokens, clock }, old.refreshToken)
    expect(csrfOf(first.accessToken)).toMatch(/^[\w-]{22}$/)
    const second = await advance({ tokens, clock }, first.refreshToken)
    expect(new Set([first, second].flatMap(valuesOf)).size).toBe(1)
  })

  test('with a CSRF value that nobody needs any more: the new pair has none', async () => {
    const { tokens: before, store } = createRevocable(COOKIES, { clock })
    const { tokens } = createRevocable({ ...COOKIES, JWT_COOKIE_CSRF_PROTECT: false }, { clock, store })
    const { refreshToken } = await before.sessions.open({ uid: 'ada' })
    expect(valuesOf(await advance({ tokens, clock }, refreshToken))).toEqual([undefined, undefined])
  })

  test('with a value that makes the pair too long: the refresh fails, and costs the session nothing', async () => {
    const { tokens, store } = createRevocable(COOKIES, { clock })
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const { header, claims } = openToken(refreshToken)
    const long = forge({ header, claims: { ...claims, csrf: 'x'.repeat(600) }, key: SECRET })
    const strict = createRevocable({ ...COOKIES, JWT_MAX_TOKEN_LENGTH: long.length }, { clock, store }).tokens
    clock.seconds += 60
    await expect(strict.sessions.refresh(long)).rejects.toThrow(TypeError)
    expect(await outcomeOf(advance({ tokens, clock }, refreshToken))).toBe('ok')
  })
})
