import { describe, expect, test } from 'vitest'
import { setCookies, type TokenPair } from '../../packages/tokenlib/src/index.js'
import { parseSetCookie } from '../helpers/cookie-jar.js'
import { advance, createRevocable } from '../helpers/revocable.js'

const LIFETIMES = { JWT_ACCESS_TOKEN_EXPIRES: '15m', JWT_REFRESH_TOKEN_EXPIRES: '1d' } as const

function open(fields: { readonly JWT_SESSION_COOKIE?: boolean } = {}) {
  const { tokens, clock } = createRevocable({ JWT_TOKEN_LOCATION: 'cookies', ...LIFETIMES, ...fields })
  const agesOf = (pair: TokenPair): unknown[] =>
    setCookies(tokens, pair)
      .map(parseSetCookie)
      .map(({ attributes }) => attributes['max-age'] ?? null)
  return { tokens, clock, agesOf }
}

const SESSION_COOKIES = [null, null, null]

describe.each([true, false])('JWT_SESSION_COOKIE: %s', (isSessionCookie) => {
  test('cookies of a remembered session last as long as their tokens, also after a refresh', async () => {
    const { tokens, clock, agesOf } = open({ JWT_SESSION_COOKIE: isSessionCookie })
    const first = await tokens.sessions.open({ uid: 'ada' }, { remember: true })
    expect(agesOf(first)).toEqual(['900', '86400', '86400'])
    clock.seconds += 3540
    expect(agesOf(await advance({ tokens, clock }, first.refreshToken))).toEqual(['900', '82800', '82800'])
  })

  test('cookies of a session that is not to be remembered end with the browser session', async () => {
    const { tokens, clock, agesOf } = open({ JWT_SESSION_COOKIE: isSessionCookie })
    const first = await tokens.sessions.open({ uid: 'ada' }, { remember: false })
    expect(agesOf(first)).toEqual(SESSION_COOKIES)
    expect(agesOf(await advance({ tokens, clock }, first.refreshToken))).toEqual(SESSION_COOKIES)
  })

  test('without it, the configuration decides', async () => {
    const { tokens, agesOf } = open({ JWT_SESSION_COOKIE: isSessionCookie })
    const pair = await tokens.sessions.open({ uid: 'ada' })
    expect(agesOf(pair)).toEqual(isSessionCookie ? SESSION_COOKIES : ['900', '86400', '86400'])
    expect('remember' in (await tokens.verify(pair.accessToken))).toBe(false)
  })
})

test('anything but true or false is refused', async () => {
  const { tokens } = open()
  const remember = 'yes' as unknown as boolean
  await expect(tokens.sessions.open({ uid: 'ada' }, { remember })).rejects.toThrow(TypeError)
})
