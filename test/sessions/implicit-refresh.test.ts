import { describe, expect, test } from 'vitest'
import { implicitRefresh as implicitExpress } from '../../packages/tokenlib/src/frameworks/express.js'
import { implicitRefresh as implicitFetch } from '../../packages/tokenlib/src/frameworks/fetch.js'
import {
  ConfigurationError,
  refreshImplicitly,
  type TokenConfigOptions,
  type TokenManager,
} from '../../packages/tokenlib/src/index.js'
import type { ImplicitRefresh } from '../../packages/tokenlib/src/kit.js'
import { COOKIES, logIn } from '../adapters/logged-in.js'
import { moveMonotonicClock } from '../helpers/monotonic-clock.js'
import { advance, createRevocable, outcomeOf } from '../helpers/revocable.js'

const send = (headers: Record<string, string>, init: RequestInit = {}): Request =>
  new Request('http://localhost/', { ...init, headers })

/** A session whose access cookie has expired. */
async function expire(fields: TokenConfigOptions = {}) {
  const session = await logIn({}, fields)
  session.clock.seconds += 301
  return session
}

/** How many `Set-Cookie` headers the response of a refresh has, or `null` if nothing was refreshed. */
const countCookies = (refreshed: ImplicitRefresh | null): number | null =>
  refreshed && refreshed.headers.filter(([name]) => name === 'set-cookie').length

describe('a request is left alone', () => {
  const generationsOf = (tokens: TokenManager): number[] => {
    const generations: number[] = []
    tokens.on('refreshed', ({ generation }) => generations.push(generation))
    return generations
  }

  test('if its access cookie has not expired', async () => {
    const { tokens, jar } = await logIn()
    expect(await refreshImplicitly(tokens, send(jar.headers()))).toBeNull()
  })

  test('if it has no cookie, or none with a token', async () => {
    const { tokens } = await expire()
    expect(await refreshImplicitly(tokens, send({}))).toBeNull()
    expect(await refreshImplicitly(tokens, send({ cookie: 'theme=dark' }))).toBeNull()
  })

  test('if its access cookie is invalid for another reason than its age', async () => {
    const { tokens, pair } = await expire()
    const cookie = `access_token_cookie=a.b.c; refresh_token_cookie=${pair.refreshToken}`
    expect(await refreshImplicitly(tokens, send({ cookie }))).toBeNull()
  })

  test('if a program sends the access token in a header', async () => {
    const { tokens, pair, jar } = await expire({ JWT_REFRESH_TOKEN_LOCATION: ['cookies'] })
    const request = send({ ...jar.headers(), authorization: `Bearer ${pair.accessToken}` })
    expect(await refreshImplicitly(tokens, request)).toBeNull()
  })

  test('if a program sends the refresh token in a body', async () => {
    const { tokens, pair } = await expire({ JWT_TOKEN_LOCATION: ['cookies', 'json'] })
    const generations = generationsOf(tokens)
    const body = JSON.stringify({ refresh_token: pair.refreshToken })
    const headers = { cookie: 'theme=dark', 'content-type': 'application/json' }
    expect(await refreshImplicitly(tokens, send(headers, { method: 'POST', body }))).toBeNull()
    expect(generations).toEqual([])
  })

  test('if its refresh cookie came twice, with different values', async () => {
    const { tokens, jar } = await expire()
    const cookie = `${jar.headers()['cookie']}; refresh_token_cookie=planted`
    expect(await refreshImplicitly(tokens, send({ cookie }))).toBeNull()
  })

  test('if the CSRF value is missing, and the cookies stay', async () => {
    const { tokens, jar } = await expire()
    expect(await refreshImplicitly(tokens, send(jar.headers(), { method: 'POST' }))).toBeNull()
  })
})

describe('a failure that is not a refusal rejects', () => {
  test('a body that cannot be read', async () => {
    const { tokens, jar } = await expire({ JWT_TOKEN_LOCATION: ['json', 'cookies'] })
    const headers: Record<string, string> = { ...jar.headers(), 'content-type': 'application/json' }
    const view = {
      method: 'POST',
      url: '/',
      header: (name: string) => headers[name] ?? null,
      body: () => Promise.reject(new Error('socket hang up')),
    }
    await expect(refreshImplicitly(tokens, view)).rejects.toThrow('socket hang up')
  })

  test('something that is not a manager', async () => {
    const { tokens, jar } = await expire()
    const { config, sessions } = tokens
    const copy = { config, sessions, getTokenFromRequest: tokens.getTokenFromRequest.bind(tokens) }
    await expect(refreshImplicitly(copy, send(jar.headers()))).rejects.toThrow(TypeError)
  })
})

describe('the cookies of the request', () => {
  test('the new tokens replace the old ones, however they are spaced, and all others stay', async () => {
    const { tokens, pair } = await expire()
    const { accessToken, refreshToken } = pair
    const cookie = `theme=dark;;  access_token_cookie =${accessToken}; lang=en;refresh_token_cookie=${refreshToken}; `
    const refreshed = await refreshImplicitly(tokens, send({ cookie }))
    const added = (refreshed?.headers ?? [])
      .filter(([name]) => name === 'set-cookie')
      .map(([, value]) => value.split(';', 1)[0])
    expect(added).toHaveLength(3)
    expect(refreshed?.cookieHeader).toBe(['theme=dark', 'lang=en', ...added].join('; '))
  })

  test('a lost access cookie comes back', async () => {
    const { tokens, pair } = await logIn()
    const request = send({ cookie: `refresh_token_cookie=${pair.refreshToken}` })
    expect(countCookies(await refreshImplicitly(tokens, request))).toBe(3)
    expect(await tokens.accessTokenRequired(request)).toMatchObject({ sub: 'ada' })
  })

  test('the tokens of a session that is over go, and the response deletes them', async () => {
    const { tokens, jar } = await expire()
    await tokens.revoke.user('ada')
    const request = send({ cookie: `${jar.headers()['cookie']}; theme=dark` })
    const refreshed = await refreshImplicitly(tokens, request)
    expect(countCookies(refreshed)).toBe(3)
    expect(refreshed?.cookieHeader).toBe('theme=dark')
    expect(await outcomeOf(tokens.accessTokenRequired(request))).toBe('TOKEN_MISSING')
  })

  test('the tokens of a tab that was overtaken go, and the response deletes nothing', async () => {
    const session = await expire()
    const { tokens, jar, pair } = session
    // The browser has used the successor of the refresh token.
    const { refreshToken } = await advance(session, pair.refreshToken)
    await advance(session, refreshToken)
    const request = send({ cookie: `${jar.headers()['cookie']}; theme=dark` })
    const refreshed = await refreshImplicitly(tokens, request)
    expect(countCookies(refreshed)).toBe(0)
    expect(refreshed?.cookieHeader).toBe('theme=dark')
    expect(await outcomeOf(tokens.accessTokenRequired(request))).toBe('TOKEN_MISSING')
  })

  test('new ones are not sent an hour later: the browser may have newer ones', async () => {
    const { tokens, jar } = await expire()
    const monotonic = moveMonotonicClock()
    const refreshed = await refreshImplicitly(tokens, send(jar.headers()))
    expect(countCookies(refreshed)).toBe(3)
    monotonic.add(3_600_000)
    expect(countCookies(refreshed)).toBe(0)
  })
})

describe('describeUser and clientIp', () => {
  const ask = async (describeUser: () => object | null, clientIp = () => '192.0.2.7') => {
    let isLoggedIn = false
    const session = await logIn({
      clientIp,
      describeUser: () => (isLoggedIn ? describeUser() : {}),
    })
    isLoggedIn = true
    session.clock.seconds += 301
    const request = new Request('http://localhost/', { headers: session.jar.headers() })
    return { ...session, request, refreshed: await refreshImplicitly(session.tokens, request) }
  }

  test('describeUser changes the claims, as in the session routes', async () => {
    const { tokens, request, refreshed } = await ask(() => ({ claims: { role: 'reader' } }))
    expect(refreshed?.headers.map(([name]) => name)).toEqual([
      ...Array(3).fill('set-cookie'),
      'cache-control',
    ])
    expect(await tokens.accessTokenRequired(request)).toMatchObject({ sub: 'ada', role: 'reader' })
    expect((await tokens.sessions.list('ada'))[0]?.ip).toBe('192.0.2.7')
  })

  test('for a user who is gone the session ends', async () => {
    const gone = await ask(() => null)
    const headers = new Headers()
    gone.refreshed?.applyTo(headers)
    expect(headers.getSetCookie().map((cookie) => cookie.includes('Max-Age=0'))).toEqual(Array(3).fill(true))
    await expect(gone.tokens.accessTokenRequired(gone.request)).rejects.toMatchObject({
      code: 'TOKEN_MISSING',
    })
    expect(await gone.tokens.sessions.list('ada')).toEqual([])
  })

  test.each<[string, Parameters<typeof logIn>[0], string]>([
    ['an address that cannot be read', { clientIp: failing('no address', null) }, 'no address'],
    ['a description that fails', { describeUser: failing('no users', {}) }, 'no users'],
    [
      'claims that browsers would drop',
      { describeUser: () => ({ claims: isBroken ? { text: 'x'.repeat(4000) } : {} }) },
      'browsers drop',
    ],
  ])('%s: nothing is used up', async (_what, manager, message) => {
    isBroken = false
    const { tokens, clock, jar } = await logIn(manager)
    clock.seconds += 301
    const refresh = () =>
      refreshImplicitly(tokens, new Request('http://localhost/', { headers: jar.headers() }))
    isBroken = true
    await expect(refresh()).rejects.toThrow(message)
    // Longer than the grace.
    clock.seconds += 60
    isBroken = false
    expect((await refresh())?.headers).toHaveLength(4)
  })
})

let isBroken = false

function failing<Value>(message: string, value: Value): () => Value {
  return () => {
    if (isBroken) throw new Error(message)
    return value
  }
}

test('cookies that a browser would not send are refused when the middleware is made', () => {
  for (const fields of [
    { JWT_REFRESH_COOKIE_PATH: '/auth' },
    { JWT_ACCESS_COOKIE_PATH: '/application', JWT_REFRESH_COOKIE_PATH: '/app' },
    { JWT_TOKEN_LOCATION: 'headers' },
    { JWT_REFRESH_TOKEN_LOCATION: 'headers' },
    { JWT_TOKEN_LOCATION: 'headers', JWT_REFRESH_TOKEN_LOCATION: 'cookies' },
  ] as const) {
    const { tokens } = createRevocable({ ...COOKIES, ...fields })
    expect(() => implicitExpress(tokens)).toThrow(ConfigurationError)
    expect(() => implicitFetch(tokens)).toThrow(ConfigurationError)
  }
  const { tokens } = createRevocable({ ...COOKIES, JWT_ACCESS_COOKIE_PATH: '/app' })
  expect(() => implicitExpress(tokens)).not.toThrow()
})
