import { deepEqual, equal, ok } from 'node:assert/strict'
import { assertDeletion, assertRefused } from './session-browser.js'
import type { SessionCases } from './session-routes-setup.js'

interface SessionPage {
  readonly sessions: readonly {
    readonly id: string
    readonly isCurrent: boolean
    readonly createdAt: string
    readonly data: { readonly label?: string } | null
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
      // Some servers reject invalid percent-encoding and long parameters before any route sees them.
      const refusals = id === '%' ? [404, 400] : [404, 414]
      ok(refusals.includes(status), `${id}: ${status}`)
    }
    equal((await browser.send('GET session')).status, 200)
  })

  test('a session is named by its user, and the rest of its data stays', async ({ user, openBrowser }) => {
    const [browser, other, victim] = [openBrowser(), openBrowser(), openBrowser()]
    const { session: own } = await browser.logIn(user, { device: "Ada's phone" })
    const { session } = await other.logIn(user)
    const { session: foreign } = await victim.logIn(`${user}-other`)
    const name = (id: string, label: unknown, more = {}): Promise<Response> =>
      browser.send(`PATCH sessions/${id}`, { body: { label }, ...more })
    const read = async (): Promise<Record<string, unknown>> => {
      const { sessions } = (await (await browser.send('GET sessions')).json()) as SessionPage
      return Object.fromEntries(sessions.map(({ id, data }) => [id, data]))
    }
    deepEqual(await read(), { [own.id]: { label: "Ada's phone", tenant: 'north' }, [session.id]: null })
    for (const label of ['Work 💻', 'x'.repeat(100)]) {
      const response = await name(own.id, label)
      deepEqual([response.status, await response.text()], [204, ''])
      equal((await name(session.id, label)).status, 204)
      deepEqual(await read(), { [own.id]: { label, tenant: 'north' }, [session.id]: { label } })
    }
    for (const id of [own.id, session.id]) equal((await name(id, null)).status, 204)
    const after = { [own.id]: { tenant: 'north' }, [session.id]: null }
    deepEqual(await read(), after)

    for (const label of [
      undefined,
      5,
      true,
      {},
      [],
      '',
      ' ',
      'x'.repeat(101),
      'a\0b',
      '\u001b[2J',
      '\ud800',
    ]) {
      await assertRefused(await name(own.id, label), 400, 'REQUEST_INVALID')
    }
    for (const body of [{}, { label: 'a', tenant: 'south' }, { tenant: 'south' }, []]) {
      await assertRefused(await browser.send(`PATCH sessions/${own.id}`, { body }), 400, 'REQUEST_INVALID')
    }
    const text = { body: '{"label":"a"}', headers: { 'content-type': 'text/plain' } }
    await assertRefused(await browser.send(`PATCH sessions/${own.id}`, text), 415, 'MEDIA_TYPE_UNSUPPORTED')
    await assertRefused(await name(own.id, 'a', { csrf: null }), 401, 'CSRF_MISSING')
    await assertRefused(await name(own.id, 'a', { csrf: 'x' }), 401, 'CSRF_MISMATCH')
    await assertRefused(
      await openBrowser().send(`PATCH sessions/${own.id}`, { body: { label: 'a' } }),
      401,
      'TOKEN_MISSING',
    )
    for (const id of [foreign.id, 'x', 'AZt22qgA5nHACQzu3oa8Gg']) {
      await assertRefused(await name(id, 'a'), 404, 'SESSION_NOT_FOUND')
    }
    deepEqual(await read(), after)
    await other.send('POST logout')
    await assertRefused(await name(session.id, 'a'), 404, 'SESSION_NOT_FOUND')
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

  test('logging out everywhere ends every session of the user and no other', async ({
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
