import { deepEqual, equal, ok } from 'node:assert/strict'
import { assertDeletion, assertRefused } from './session-browser.js'
import type { SessionCases } from './session-routes-setup.js'

interface SessionPage {
  readonly sessions: readonly {
    readonly id: string
    readonly isCurrent: boolean
    readonly createdAt: string
  }[]
  readonly next: string | null
}

// What no session has as its id: among it what some routers decode, split or take for another path.
const NO_IDS = ['x', '%20', '%', '%00', 'a%2Fb', '..%2Fsession', 'AZt22qgA5nHACQzu3oa8Gg', 'z'.repeat(1000)]

/** The cases about the list of sessions. */
export function sessionListCases({ test }: SessionCases): void {
  test('the sessions of the user come newest first, a page at a time', async (given) => {
    const { user, openBrowser, clock } = given
    const browsers = [openBrowser(), openBrowser(), openBrowser()] as const
    const ids: string[] = []
    for (const browser of browsers) {
      ids.unshift((await browser.logIn(user)).session.id)
      clock.advance('1s')
    }
    const read = async (query: string): Promise<SessionPage> =>
      (await browsers[0].send(`GET sessions${query}`)).json() as Promise<SessionPage>
    const all = await read('')
    deepEqual(
      all.sessions.map(({ id }) => id),
      ids,
    )
    deepEqual(
      all.sessions.map(({ isCurrent }) => isCurrent),
      [false, false, true],
    )
    equal(all.next, null)
    ok(all.sessions.every(({ createdAt }) => new Date(createdAt).toISOString() === createdAt))
    const first = await read('?limit=2')
    deepEqual([first.sessions.map(({ id }) => id), first.next], [ids.slice(0, 2), ids[1]])
    const second = await read(`?limit=1&before=${first.next}`)
    deepEqual([second.sessions.map(({ id }) => id), second.next], [ids.slice(2), null])
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=1e1',
      'limit=',
      'limit=1&limit=2',
      'before=x',
      'before=',
    ]) {
      await assertRefused(await browsers[0].send(`GET sessions?${query}`), 400, 'REQUEST_INVALID')
    }
  })

  test('one of the sessions can be ended; if it is the own one, the cookies go', async ({
    user,
    openBrowser,
  }) => {
    const [browser, other] = [openBrowser(), openBrowser()]
    const { session: own } = await browser.logIn(user)
    const { session } = await other.logIn(user)
    const response = await browser.send(`DELETE sessions/${session.id}`)
    deepEqual([response.status, response.headers.getSetCookie().length], [204, 0])
    await assertRefused(await other.send('GET session'), 401, 'TOKEN_REVOKED')
    await assertRefused(await browser.send(`DELETE sessions/${session.id}`), 404, 'SESSION_NOT_FOUND')
    const last = await browser.send(`DELETE sessions/${own.id}`)
    equal(last.status, 204)
    assertDeletion(last, browser)
  })

  test('a session of somebody else, or of nobody, is not found', async ({ user, openBrowser }) => {
    const [browser, victim] = [openBrowser(), openBrowser()]
    await browser.logIn(user)
    const { session } = await victim.logIn(`${user}-other`)
    await assertRefused(await browser.send(`DELETE sessions/${session.id}`), 404, 'SESSION_NOT_FOUND')
    equal((await victim.send('GET session')).status, 200)
    for (const id of NO_IDS) {
      const { status } = await browser.send(`DELETE sessions/${id}`)
      // Some servers refuse what is no percent-encoding, or too long for a parameter, before any route sees it.
      const refusals = id === '%' ? [404, 400] : [404, 414]
      ok(refusals.includes(status), `${id}: ${status}`)
    }
    equal((await browser.send('GET session')).status, 200)
  })

  test('all other sessions can be ended, and the own one stays', async ({ user, openBrowser }) => {
    const browsers = [openBrowser(), openBrowser(), openBrowser()] as const
    for (const browser of browsers) await browser.logIn(user)
    const response = await browsers[0].send('DELETE sessions')
    deepEqual([response.status, await response.json()], [200, { ended: 2 }])
    const statuses = await Promise.all(
      browsers.map(async (browser) => (await browser.send('GET session')).status),
    )
    deepEqual(statuses, [200, 401, 401])
  })

  test('a log-out everywhere ends every session of the user and of nobody else', async ({
    user,
    openBrowser,
  }) => {
    const browsers = [openBrowser(), openBrowser(), openBrowser()] as const
    for (const [at, browser] of browsers.entries()) await browser.logIn(at === 2 ? `${user}-other` : user)
    const response = await browsers[0].send('POST logout-everywhere')
    equal(response.status, 204)
    assertDeletion(response, browsers[0])
    await assertRefused(await browsers[1].send('POST refresh'), 401, 'TOKEN_REVOKED')
    equal((await browsers[2].send('GET session')).status, 200)
  })
}
