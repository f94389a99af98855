import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type RefreshedTokens, setRefreshCookies } from '../../packages/tokenlib/src/index.js'
import { ADA, createPauses, BOB, hold, openServer } from './open-server.js'

const EXPIRED = 16 * 60

describe('a login after which the CSRF cookie cannot be read', () => {
  test.each([
    { JWT_COOKIE_SECURE: true },
    { JWT_ACCESS_CSRF_COOKIE_NAME: 'other' },
    { JWT_CSRF_IN_COOKIES: false },
  ])('%o', async (config) => {
    const { createCookieClient } = await openServer({ JWT_TOKEN_LOCATION: 'cookies', ...config })
    const { client } = createCookieClient(
      // As browsers do with secure cookies of a page without https.
      'JWT_COOKIE_SECURE' in config ? { readCookie: () => null } : {},
    )
    await expect(client.logIn(ADA)).rejects.toMatchObject({ code: 'COOKIES_MISSING' })
  })

  test('is fine if the client expects none', async () => {
    const { createCookieClient } = await openServer({
      JWT_TOKEN_LOCATION: 'cookies',
      JWT_COOKIE_CSRF_PROTECT: false,
    })
    const { client } = createCookieClient({ csrfCookie: '' })
    expect((await client.logIn(ADA)).sub).toBe('ada')
  })
})

test('a logout of a page that knew nothing, and that is not confirmed: nothing is refreshed', async () => {
  const { createCookieClient, origin, plan, clock, sent } = await openServer({
    JWT_TOKEN_LOCATION: 'cookies',
  })
  const { client, reload } = createCookieClient()
  await client.logIn(ADA)
  const loaded = reload()
  plan('POST /auth/logout', () => new Response(null, { status: 502 }))
  await expect(loaded.logOut()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  clock.seconds += 16 * 60
  expect((await loaded.fetch(`${origin}/notes`)).status).toBe(401)
  expect(sent()).not.toContain('POST /auth/refresh')
})

test('a request that waits for a refresh is not sent as a user who has logged in in another tab since', async () => {
  const { createCookieClient, origin, plan, clock, sent } = await openServer({
    JWT_TOKEN_LOCATION: 'cookies',
  })
  const { client, reload } = createCookieClient()
  await client.logIn(ADA)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 16 * 60 * 1000 })
  onTestFinished(() => void vi.useRealTimers())
  clock.seconds += 16 * 60
  const refresh = hold(plan, 'POST /auth/refresh', new Response(null, { status: 503 }))
  const note = client.fetch(`${origin}/notes`, { method: 'POST', body: 'of ada' })
  const outcome = expect(note).rejects.toMatchObject({ code: 'SESSION_CHANGED' })
  await refresh.reached
  await reload().logIn(BOB)
  refresh.release()
  await outcome
  expect(sent()).not.toContain('POST /notes')
})

test('outside of browsers, a redirect of a request with a CSRF value is returned', async () => {
  const { createCookieClient, origin, plan, sent } = await openServer({ JWT_TOKEN_LOCATION: 'cookies' })
  const { client } = createCookieClient()
  await client.logIn(ADA)
  plan('POST /notes', () => new Response(null, { status: 307, headers: { location: '/moved' } }))
  expect((await client.fetch(`${origin}/notes`, { method: 'POST', body: 'milk' })).status).toBe(307)
  expect(sent()).not.toContain('POST /moved')
})

test('a refresh that another tab has superseded is repeated with the newest cookies', async () => {
  const { createCookieClient, origin, tokens, clock, plan } = await openServer({
    JWT_TOKEN_LOCATION: 'cookies',
  })
  const { pauses, clock: clientClock } = createPauses()
  const { client, jar } = createCookieClient({ clock: clientClock })
  await client.logIn(ADA)
  const store = ({ refreshToken }: RefreshedTokens): void =>
    jar.store(setRefreshCookies(tokens, refreshToken))
  const readRefreshToken = (): string =>
    /refresh_token_cookie=([^;]+)/.exec(jar.headers()['cookie'] ?? '')?.[1] as string

  // Two tabs exchange the same token, and the cookies of one answer replace those of the other.
  clock.seconds += EXPIRED
  const [first, second] = [
    await tokens.sessions.refresh(readRefreshToken()),
    await tokens.sessions.refresh(readRefreshToken()),
  ]
  store(first)
  clock.seconds += EXPIRED
  const statuses: number[] = []
  plan('POST /auth/refresh', async (_request, next) => {
    // This request is under way with the first of them while another tab uses the second.
    store(second)
    store(await tokens.sessions.refresh(readRefreshToken()))
    const { status, headers, body } = await next()
    statuses.push(status)
    expect(headers.getSetCookie()).toEqual([])
    expect(headers.get('retry-after')).toBe('1')
    // As a page on another origin gets it, which cannot read the header.
    return new Response(body, { status })
  })
  expect((await client.fetch(`${origin}/notes`)).status).toBe(200)
  expect(statuses).toEqual([409])
  expect(pauses).toEqual([1000])
  expect(await tokens.sessions.list('ada')).toHaveLength(1)
})
