import { describe, expect, test } from 'vitest'
import {
  setAccessCookies,
  setRefreshCookies,
  type TokenPayload,
  unsetCookies,
} from '../../../packages/tokenlib/src/index.js'
import { createCookieJar } from '../../helpers/cookie-jar.js'
import { createManager } from '../../helpers/manager.js'
import { byName, type Framework } from './framework.js'

const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['cookies'], JWT_SESSION_COOKIE: false })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })

/** Cookies on their way to a browser, and back. */
export function describeCookies(frameworks: readonly Framework[]): void {
  describe.each(byName(frameworks))('%s', (_, framework) => {
    test('sendCookies adds cookies to those that are there and those that come later', async () => {
      const cookies = [...setAccessCookies(tokens, TOKEN), ...unsetCookies(tokens).slice(2)]
      const send = await framework.start(
        {
          '/users/login': {
            method: 'POST',
            run(_values, call) {
              call.setCookie('first', '1')
              call.sendCookies(cookies)
              call.sendCookies(['second=2'])
              call.setCookie('last', '9')
              return {}
            },
          },
        },
        {},
      )
      const sent = (await send('/users/login', { method: 'POST' })).headers.getSetCookie()
      // Koa writes `path` in lower case.
      const own = (cookie: string): unknown => expect.stringMatching(new RegExp(`^${cookie}; path=/$`, 'i'))
      expect(sent).toEqual([own('first=1'), ...cookies, 'second=2', own('last=9')])
    })

    test('the cookies log a browser in, refresh and out, and a forged request is refused', async () => {
      const jar = createCookieJar()
      const send = await framework.start(
        {
          '/users/login': {
            method: 'POST',
            async run(_values, call) {
              const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
              call.sendCookies(setAccessCookies(tokens, accessToken))
              call.sendCookies(setRefreshCookies(tokens, refreshToken))
              return {}
            },
          },
          '/users/me': {
            inject: { payload: tokens.accessTokenRequired },
            run: ({ payload }) => ({ id: (payload as TokenPayload).sub }),
          },
          '/users/refresh': {
            method: 'POST',
            inject: { payload: tokens.refreshTokenRequired },
            run: ({ payload }) => ({ type: (payload as TokenPayload).type }),
          },
          '/users/logout': {
            method: 'POST',
            enforce: [tokens.accessTokenRequired],
            run(_values, call) {
              call.sendCookies(unsetCookies(tokens))
              return {}
            },
          },
        },
        { handleErrors: true },
      )
      const get = (): Promise<Response> => send('/users/me', { headers: jar.headers('/users/me') })
      const post = async (path: string, csrf?: string): Promise<Response> => {
        const value = csrf === undefined ? undefined : jar.read(csrf)
        const headers = { ...jar.headers(path), ...(value !== undefined && { 'x-csrf-token': value }) }
        const response = await send(path, { method: 'POST', headers })
        jar.store(response.headers.getSetCookie())
        return response
      }

      expect((await get()).status).toBe(401)
      expect((await post('/users/login')).status).toBe(200)
      await expect((await get()).json()).resolves.toEqual({ id: 'ada' })
      const refreshed = await post('/users/refresh', 'csrf_access_token')
      await expect(refreshed.json()).resolves.toEqual({ type: 'refresh' })
      for (const path of ['/users/refresh', '/users/logout']) {
        const forged = await post(path)
        expect([forged.status, await forged.json()]).toMatchObject([401, { code: 'CSRF_MISSING' }])
      }
      const logout = await post('/users/logout', 'csrf_access_token')
      expect(logout.status).toBe(200)
      expect(logout.headers.getSetCookie()).toEqual(unsetCookies(tokens))
      expect((await get()).status).toBe(401)
    })
  })
}
