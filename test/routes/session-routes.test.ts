import { describe, expect, test } from 'vitest'
import { createRoutes, outcome } from './routes.js'

describe('login', () => {
  test('sets three cookies, and answers with the session', async () => {
    const { createBrowser } = createRoutes()
    const response = await createBrowser().logIn()
    expect(response.status).toBe(200)
    expect(response.headers.getSetCookie()).toHaveLength(3)
    expect(response.headers.get('cache-control')).toBe('private, no-store')
    expect(await response.json()).toEqual({
      session: {
        id: expect.any(String) as string,
        sub: 'ada',
        claims: { role: 'reader' },
        scopes: [],
        fresh: true,
        accessExpiresIn: 900,
        expiresIn: 1_728_000,
      },
    })
  })

  test('the same through refresh, session, sessions and logout', async () => {
    const browser = createRoutes().createBrowser()
    await browser.logIn()
    expect((await browser.send('POST /auth/refresh')).status).toBe(200)
    expect(await outcome(await browser.send('GET /auth/session'))).toEqual([200, undefined])
    const { sessions } = (await (await browser.send('GET /auth/sessions')).json()) as { sessions: object[] }
    expect(sessions).toEqual([expect.objectContaining({ isCurrent: true })])
    const logout = await browser.send('POST /auth/logout')
    expect([logout.status, logout.headers.getSetCookie().length]).toEqual([204, 3])
    expect(browser.jar.headers('/auth')).toEqual({})
  })
})
