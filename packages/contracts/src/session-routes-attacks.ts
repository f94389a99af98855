import { deepEqual, equal, ok } from 'node:assert/strict'
import { assertDeletion, assertRefused, type SentRequest, type SessionBody } from './session-browser.js'
import type { SessionCases } from './session-routes-setup.js'

const UNSAFE_ROUTES = [
  'POST refresh',
  'POST step-up',
  'POST logout',
  'POST logout-everywhere',
  'DELETE sessions',
  'DELETE sessions/:own',
  'DELETE sessions/:other',
]

const CROSS_SITE = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }

// What another site can make a browser send with its cookies: no CSRF value, or one of its own.
const FORGERIES: readonly (readonly [code: string, sent: SentRequest])[] = [
  ['CSRF_MISSING', { csrf: null }],
  ['CSRF_MISSING', { csrf: null, headers: CROSS_SITE }],
  ['CSRF_MISMATCH', { csrf: 'forged', headers: CROSS_SITE }],
]

/** The cases about requests that an attacker makes, or makes a browser send. */
export function attackCases({ test }: SessionCases): void {
  for (const route of UNSAFE_ROUTES) {
    test(`a request of another site changes nothing: ${route}`, async ({ user, openBrowser }) => {
      const [browser, other] = [openBrowser(), openBrowser()]
      const { session: own } = await browser.logIn(user)
      const { session: second } = await other.logIn(user)
      const path = route.replace(':own', own.id).replace(':other', second.id)
      for (const [code, forged] of FORGERIES) {
        const body = { name: user, password: 'secret' }
        const response = await browser.send(path, { ...forged, ...(route === 'POST step-up' && { body }) })
        equal(response.headers.getSetCookie().length, 0)
        await assertRefused(response, 401, code)
      }
      equal((await browser.send('GET session')).status, 200)
      equal((await other.send('POST refresh')).status, 200)
    })
  }

  test('another site that gets no cookies sent cannot delete them either', async ({ openBrowser }) => {
    for (const route of ['POST logout', 'POST refresh']) {
      const response = await openBrowser().send(route, { headers: CROSS_SITE })
      deepEqual([response.status, response.headers.getSetCookie().length], [401, 0])
    }
  })

  test('a token of another key is refused, and its cookie stays', async ({ browser }) => {
    const cookie = 'refresh_token_cookie=eyJhbGciOiJIUzI1NiJ9.e30.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    for (const headers of [{ cookie }, { cookie, ...CROSS_SITE }]) {
      const response = await browser.send('POST refresh', { headers })
      deepEqual([response.status, response.headers.getSetCookie().length], [401, 0])
    }
  })

  test('no page of another origin can log its visitor in', async ({ user, browser }) => {
    const body = JSON.stringify({ name: user, password: 'secret' })
    for (const site of ['cross-site', 'same-site']) {
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': site }
      await assertRefused(await browser.send('POST login', { body, headers }), 401, 'CSRF_MISMATCH')
    }
    // What forms send without a pre-flight.
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const response = await browser.send('POST login', { body, headers: { 'content-type': type } })
      await assertRefused(response, 415, 'MEDIA_TYPE_UNSUPPORTED')
    }
    deepEqual(browser.cookieNames(), [])
    for (const site of ['same-origin', 'none']) {
      const response = await browser.send('POST login', { body, headers: { 'sec-fetch-site': site } })
      equal(response.status, 200)
    }
  })

  test('GET and HEAD change nothing, and other methods are 405', async ({ user, browser }) => {
    await browser.logIn(user)
    for (const route of ['login', 'refresh', 'logout', 'logout-everywhere', 'step-up']) {
      const response = await browser.send(`GET ${route}`)
      equal(response.headers.get('allow'), 'POST')
      await assertRefused(response, 405, 'METHOD_NOT_ALLOWED')
    }
    equal((await browser.send('PUT sessions')).headers.get('allow'), 'GET, HEAD, DELETE')
    const head = await browser.send('HEAD session')
    deepEqual([head.status, await head.text()], [200, ''])
    const { status } = await browser.send('OPTIONS session')
    ok(status !== 401 && status !== 405 && status < 500, `answered ${status}`)
  })

  test('a slash at the end is another path, and ends nothing', async ({ user, openBrowser }) => {
    const [browser, other] = [openBrowser(), openBrowser()]
    await browser.logIn(user)
    await other.logIn(user)
    for (const route of ['DELETE sessions/', 'POST logout/', 'POST logout-everywhere/', 'GET nowhere']) {
      equal((await browser.send(route)).status, 404)
    }
    equal((await other.send('GET session')).status, 200)
    equal((await browser.send('GET session')).status, 200)
  })

  test('bodies without credentials are rejected', async ({ browser }) => {
    for (const body of ['', '{', '[]', 'null', '"text"', '{"a":1,"a":2}', '{"__proto__":{"name":"x"}}']) {
      await assertRefused(await browser.send('POST login', { body }), 400, 'REQUEST_INVALID')
    }
    const deep = `{"a":${'['.repeat(100)}${']'.repeat(100)}}`
    await assertRefused(await browser.send('POST login', { body: deep }), 400, 'REQUEST_INVALID')
    const large = JSON.stringify({ name: 'x'.repeat(70_000) })
    await assertRefused(await browser.send('POST login', { body: large }), 413, 'REQUEST_TOO_LARGE')
    for (const name of [7, null, ['x'], { $ne: null }]) {
      const response = await browser.send('POST login', { body: { name, password: 'secret' } })
      await assertRefused(response, 401, 'CREDENTIALS_INVALID')
    }
  })

  test('what came in a cookie never goes into a body', async ({ user, browser }) => {
    await browser.logIn(user)
    const body = { name: user, password: 'secret', transport: 'bearer' }
    for (const route of ['POST refresh', 'POST step-up']) {
      const answer = (await (await browser.send(route, { body })).json()) as SessionBody
      deepEqual(Object.keys(answer), ['session'])
    }
  })

  test('a stolen refresh token ends the session of both ends', async ({ user, browser, clock }) => {
    await browser.logIn(user)
    clock.advance('10s')
    equal((await browser.send('POST refresh')).status, 200)
    const thief = browser.copy()
    // Until a token that the thief has not got is used, nobody knows of him.
    for (const one of [browser, thief, browser]) {
      clock.advance('10s')
      equal((await one.send('POST refresh')).status, 200)
    }
    const superseded = await thief.send('POST refresh')
    equal(superseded.headers.get('retry-after'), '1')
    equal(superseded.headers.getSetCookie().length, 0)
    await assertRefused(superseded, 409, 'REFRESH_SUPERSEDED')
    clock.advance('10s')
    const reuse = await thief.send('POST refresh')
    assertDeletion(reuse, thief)
    await assertRefused(reuse, 401, 'REFRESH_TOKEN_REUSED')
    await assertRefused(await browser.send('POST refresh'), 401, 'TOKEN_REVOKED')
  })
}
