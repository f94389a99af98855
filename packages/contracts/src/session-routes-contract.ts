import { deepEqual, equal, notEqual, ok } from 'node:assert/strict'
import type { ContractRunner, RunningApplication } from './application-contract.js'
import {
  assertDeletion,
  assertRefused,
  createSessionBrowser,
  type SentRequest,
  type SessionBody,
  type SessionBrowser,
} from './session-browser.js'
import { attackCases } from './session-routes-attacks.js'
import { sessionListCases } from './session-routes-lists.js'
import { createSetup, type SessionCases, type SessionRoutesSetup } from './session-routes-setup.js'

/** Starts an application that has mounted `createSessionRoutes(tokens, options)`; the routes are below `/auth`. */
export type StartSessionRoutes = (setup: SessionRoutesSetup) => Promise<RunningApplication>

/**
 * Drives session routes that are mounted in an application over real HTTP: cookies and bearer tokens, every route, and
 * attacks on each. The mount under it proves itself by that.
 */
export function sessionRoutesContract(name: string, start: StartSessionRoutes, runner: ContractRunner): void {
  runner.describe(`${name}: session routes`, () => {
    const setup = createSetup()
    let app: RunningApplication
    let users = 0
    runner.beforeAll(async () => {
      app = await start({ tokens: setup.tokens, options: setup.options })
    })
    runner.afterAll(() => app.close())

    const openBrowser = (): SessionBrowser => createSessionBrowser(`${app.url}/auth`)
    const test: SessionCases['test'] = (title, run) =>
      runner.test(title, async () => {
        await run({ ...setup, user: `user-${users++}`, browser: openBrowser(), openBrowser })
      })
    cookieCases({ test })
    bearerCases({ test })
    outageCases({ test })
    sessionListCases({ test })
    attackCases({ test })
  })
}

const ALL_COOKIES = ['access_token_cookie', 'csrf_access_token', 'refresh_token_cookie']

function cookieCases({ test }: SessionCases): void {
  test('a login sets three cookies and returns the session', async ({ browser, user }) => {
    const response = await browser.send('POST login', { body: { name: user, password: 'secret' } })
    equal(response.status, 200)
    equal(response.headers.get('cache-control'), 'private, no-store')
    equal(response.headers.getSetCookie().length, 3)
    deepEqual(browser.cookieNames().toSorted(), ALL_COOKIES)
    const { session, ...members } = (await response.json()) as SessionBody
    deepEqual(members, {})
    ok(session.accessExpiresIn > 0 && session.expiresIn > session.accessExpiresIn)
    const { id: _id, accessExpiresIn: _access, expiresIn: _expires, ...rest } = session
    deepEqual(rest, { sub: user, claims: { role: 'reader' }, scopes: [], fresh: true })
  })

  test('a session lives from login through refresh to logout', async ({ browser, user, clock }) => {
    const { session } = await browser.logIn(user)
    clock.advance('16m')
    await assertRefused(await browser.send('GET session'), 401, 'TOKEN_EXPIRED')
    const refreshed = await browser.send('POST refresh')
    equal(refreshed.status, 200)
    const { session: next } = (await refreshed.json()) as SessionBody
    deepEqual([next.id, next.sub, next.fresh], [session.id, user, false])
    const current = await browser.send('GET session')
    deepEqual(await current.json(), { session: next })
    const stolen = browser.copy()
    const logout = await browser.send('POST logout')
    equal(logout.status, 204)
    assertDeletion(logout, browser)
    await assertRefused(await stolen.send('GET session'), 401, 'TOKEN_REVOKED')
    const dead = await stolen.send('POST refresh')
    equal(dead.headers.getSetCookie().length, 0)
    await assertRefused(dead, 401, 'TOKEN_REVOKED')
    equal((await browser.send('POST logout')).status, 204)
  })

  test('wrong credentials are 401 without a challenge, and set nothing', async ({ browser, user }) => {
    const response = await browser.send('POST login', { body: { name: user, password: 'wrong' } })
    equal(response.headers.get('www-authenticate'), null)
    deepEqual(browser.cookieNames(), [])
    await assertRefused(response, 401, 'CREDENTIALS_INVALID')
  })

  test('a login while logged in ends the previous session', async ({ browser, user, openBrowser }) => {
    await browser.logIn(user)
    const old = browser.copy()
    await browser.logIn(`${user}-other`)
    await assertRefused(await old.send('GET session'), 401, 'TOKEN_REVOKED')
    equal((await browser.send('GET session')).status, 200)
    const other = openBrowser()
    await other.logIn(user)
    equal((await browser.send('GET session')).status, 200)
  })

  test('a late refresh leaves the cookies of a newer login', async ({ browser, user }) => {
    await browser.logIn(user)
    const tab = browser.copy()
    await browser.logIn(user)
    const late = await tab.send('POST refresh')
    browser.keep(late)
    await assertRefused(late, 401, 'TOKEN_REVOKED')
    equal((await browser.send('GET session')).status, 200)
  })

  test('"remember me" decides whether cookies outlive the browser, also after a refresh', async (given) => {
    const { browser, user, openBrowser, clock } = given
    for (const [remember, ages] of [
      [true, 3],
      [false, 0],
    ] as const) {
      const own = openBrowser()
      const body = { name: user, password: 'secret', remember }
      const login = await own.send('POST login', { body })
      clock.advance('10s')
      for (const { headers } of [login, await own.send('POST refresh')]) {
        equal(headers.getSetCookie().filter((cookie) => /max-age/i.test(cookie)).length, ages)
      }
    }
    const body = { name: user, password: 'secret', remember: 'yes' }
    await assertRefused(await browser.send('POST login', { body }), 400, 'REQUEST_INVALID')
  })

  test('a step-up makes the access token of the same session fresh', async ({ browser, user }) => {
    const { session } = await browser.logIn(user)
    await browser.send('POST refresh')
    const wrong = await browser.send('POST step-up', { body: { name: user, password: 'wrong' } })
    await assertRefused(wrong, 401, 'CREDENTIALS_INVALID')
    const other = await browser.send('POST step-up', { body: { name: `${user}-other`, password: 'secret' } })
    await assertRefused(other, 401, 'CREDENTIALS_INVALID')
    deepEqual(browser.cookieNames().toSorted(), ALL_COOKIES)
    const response = await browser.send('POST step-up', { body: { name: user, password: 'secret' } })
    equal(response.status, 200)
    const { session: fresh } = (await response.json()) as SessionBody
    deepEqual([fresh.id, fresh.fresh], [session.id, true])
  })

  test('refreshes at the same time converge, and the session goes on', async ({ browser, user, clock }) => {
    await browser.logIn(user)
    for (const wait of ['0s', '10s'] as const) {
      clock.advance(wait)
      const tabs = Array.from({ length: 5 }, () => browser.copy())
      const answers = await Promise.all(tabs.map((tab) => tab.send('POST refresh')))
      deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 200, 200],
      )
      for (const tab of tabs) equal((await tab.send('POST refresh')).status, 200)
    }
  })

  test('a refresh token that is young stays, and its cookies are not set again', async (given) => {
    const { browser, user, clock } = given
    await browser.logIn(user)
    for (const [wait, expected] of [
      ['10s', ALL_COOKIES],
      ['9s', ALL_COOKIES.slice(0, 2)],
      ['1s', ALL_COOKIES],
    ] as const) {
      clock.advance(wait)
      const { status, headers } = await browser.send('POST refresh')
      const names = headers.getSetCookie().map((cookie) => cookie.split('=')[0] ?? '')
      deepEqual([status, names.toSorted()], [200, expected])
    }
  })

  test('a logout during refreshes leaves no valid token', async ({ browser, user }) => {
    await browser.logIn(user)
    const tabs = Array.from({ length: 4 }, () => browser.copy())
    const [logout, ...answers] = await Promise.all([
      browser.send('POST logout'),
      ...tabs.map((tab) => tab.send('POST refresh')),
    ])
    equal(logout.status, 204)
    ok(answers.every(({ status }) => status === 200 || status === 401))
    for (const tab of tabs) equal((await tab.send('GET session')).status, 401)
  })

  test('an administrator who is demoted loses the scope with the next refresh', async (context) => {
    const { browser, user, admins } = context
    admins.add(user)
    deepEqual((await browser.logIn(user)).session.scopes, ['admin'])
    deepEqual(await readScopes(await browser.send('POST refresh')), ['admin'])
    admins.delete(user)
    deepEqual(await readScopes(await browser.send('POST refresh')), [])
    deepEqual(await readScopes(await browser.send('GET session')), [])
  })

  test('a user who is gone cannot log in, and gets the answer to wrong credentials', async (context) => {
    const { browser, user, gone } = context
    gone.add(user)
    const response = await browser.send('POST login', { body: { name: user, password: 'secret' } })
    await assertRefused(response, 401, 'CREDENTIALS_INVALID')
    deepEqual(browser.cookieNames(), [])
  })

  test('a user who is gone is logged out by the next refresh', async ({ browser, user, gone }) => {
    await browser.logIn(user)
    const other = browser.copy()
    gone.add(user)
    const response = await browser.send('POST refresh')
    assertDeletion(response, browser)
    await assertRefused(response, 401, 'SUBJECT_NOT_FOUND')
    await assertRefused(await other.send('GET session'), 401, 'TOKEN_REVOKED')
  })

  test('an attempt over the rate limit is 429 with the time to wait', async ({ browser }) => {
    const response = await browser.send('POST login', { body: { name: 'flood', password: 'secret' } })
    equal(response.headers.get('retry-after'), '30')
    deepEqual(browser.cookieNames(), [])
    await assertRefused(response, 429, 'RATE_LIMITED')
  })
}

const bearer = (token?: string): SentRequest => ({ headers: { authorization: `Bearer ${token}` } })

function bearerCases({ test }: SessionCases): void {
  test('a bearer client gets its tokens in the answer, and no cookie', async ({
    openBrowser,
    user,
    clock,
  }) => {
    const client = openBrowser()
    const first = await client.logIn(user, { transport: 'bearer' })
    deepEqual(client.cookieNames(), [])
    const { session, accessToken, refreshToken, ...rest } = first
    deepEqual(rest, { tokenType: 'bearer' })
    equal((await client.send('GET session', bearer(accessToken))).status, 200)
    clock.advance('10s')
    const response = await client.send('POST refresh', bearer(refreshToken))
    const second = (await response.json()) as SessionBody
    equal(second.session.id, session.id)
    notEqual(second.refreshToken, refreshToken)
    deepEqual(client.cookieNames(), [])
    const stepUp = { body: { name: user, password: 'secret' }, ...bearer(second.refreshToken) }
    const third = (await (await client.send('POST step-up', stepUp)).json()) as SessionBody
    // The client keeps the refresh token that it has.
    deepEqual([third.session.fresh, third.refreshToken], [true, undefined])
    clock.advance('10s')
    equal((await client.send('POST refresh', bearer(second.refreshToken))).status, 200)
    const superseded = await client.send('POST refresh', bearer(refreshToken))
    await assertRefused(superseded, 409, 'REFRESH_SUPERSEDED')
    clock.advance('10s')
    const reuse = await client.send('POST refresh', bearer(refreshToken))
    equal(reuse.headers.getSetCookie().length, 0)
    await assertRefused(reuse, 401, 'REFRESH_TOKEN_REUSED')
    await assertRefused(await client.send('GET session', bearer(third.accessToken)), 401, 'TOKEN_REVOKED')
    const again = await client.logIn(user, { transport: 'bearer' })
    equal((await client.send('POST logout', bearer(again.accessToken))).status, 204)
    await assertRefused(await client.send('POST refresh', bearer(again.refreshToken)), 401, 'TOKEN_REVOKED')
  })
}

function outageCases({ test }: SessionCases): void {
  test('without the store, nothing is set, deleted or lost', async ({ browser, user, setStoreDown }) => {
    await browser.logIn(user)
    const body = { name: user, password: 'secret' }
    setStoreDown(true)
    try {
      for (const [route, sent] of [
        ['POST login', { body }],
        ['POST refresh', {}],
        ['POST step-up', { body }],
        ['POST logout', {}],
        ['POST logout-everywhere', {}],
        ['GET session', {}],
        ['GET sessions', {}],
        ['DELETE sessions', {}],
        ['DELETE sessions/AZt22qgA5nHACQzu3oa8Gg', {}],
      ] as const) {
        const response = await browser.send(route, sent)
        equal(response.headers.getSetCookie().length, 0)
        equal(response.headers.get('retry-after'), '1')
        await assertRefused(response, 503, 'REVOCATION_UNAVAILABLE')
      }
    } finally {
      setStoreDown(false)
    }
    equal((await browser.send('POST refresh')).status, 200)
  })
}

async function readScopes(response: Response): Promise<readonly string[]> {
  return ((await response.json()) as SessionBody).session.scopes
}
