import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { isTokenError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { mount } from '../../packages/tokenlib/src/frameworks/express.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { openToken } from '../helpers/manager.js'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'

// Chromium keeps such keys only in a TPM otherwise.
const SWITCHES = [
  '--enable-features=DeviceBoundSessions,EnableBoundSessionCredentialsSoftwareKeysForManualTesting',
]
const WAIT = { timeout: 20_000, interval: 100 }

/** An application over HTTP on localhost, whose access cookies last for two seconds, and what it has answered. */
async function startApplication() {
  const tokens = new TokenManager({
    config: new TokenConfig({
      JWT_SECRET_KEY: randomBytes(32),
      JWT_TOKEN_LOCATION: 'cookies',
      JWT_REFRESH_COOKIE_PATH: '/auth',
      JWT_ACCESS_TOKEN_EXPIRES: '12s',
    }),
    store: createMemoryStore(),
  })
  const answered: string[] = []
  const routes = mount(createSessionRoutes(tokens, { logIn: () => ({ uid: 'ada' }), deviceBound: true }))
  const answerPage = async (
    url: string | undefined,
    request: Request | object,
  ): Promise<[number, string]> => {
    if (url !== '/me') return [200, '<!doctype html>']
    try {
      return [200, (await tokens.accessTokenRequired(request as Request)).sub]
    } catch (error) {
      if (!isTokenError(error)) throw error
      return [401, error.code]
    }
  }
  const server = createServer((request, response) => {
    response.on('finish', () => answered.push(`${request.url ?? ''} ${response.statusCode}`))
    void routes(request, response, () => {
      void answerPage(request.url, request).then(([status, text]) =>
        response.writeHead(status, { 'content-type': 'text/html' }).end(text),
      )
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const count = (answer: string): number => answered.filter((text) => text === answer).length
  return { tokens, count, origin: `http://localhost:${(server.address() as AddressInfo).port}` }
}

const readCookie = async (context: BrowserContext, name: string): Promise<string | undefined> =>
  (await context.cookies()).find((cookie) => cookie.name === name)?.value

const ask = (page: Page, path: string): Promise<[number, string]> =>
  page.evaluate(`fetch('${path}').then(async (answer) => [answer.status, await answer.text()])`)

const post = (page: Page, path: string): Promise<[number, string]> =>
  page.evaluate(`fetch('${path}', {
    method: 'POST',
    body: '{}',
    headers: {
      'content-type': 'application/json',
      'x-csrf-token': /csrf_access_token=([^;]*)/.exec(document.cookie)?.[1] ?? '',
    },
  }).then(async (answer) => [answer.status, await answer.text()])`)

const isAccessCookieGone = (context: BrowserContext) => async (): Promise<boolean> =>
  (await readCookie(context, 'access_token_cookie')) === undefined

describeWithChromium(
  'sessions that are bound to a device',
  (browser) => {
    test('Chromium binds a session, renews it before a request, and forgets it when it is over', async ({
      skip,
    }) => {
      const version = Number.parseInt(browser().version(), 10)
      skip(version < 145, 'Chromium before 145 follows an older draft')
      skip(version > 155, 'Chromium 156 binds no session to a key in software')
      const { tokens, count, origin } = await startApplication()
      const context = await browser().newContext()
      onTestFinished(() => context.close())
      const page = await context.newPage()
      await page.goto(origin)

      expect((await post(page, '/auth/login'))[0]).toBe(200)
      await expect.poll(() => count('/auth/device/register 200'), WAIT).toBe(1)
      const bound = (await readCookie(context, 'refresh_token_cookie')) ?? ''
      expect(openToken(bound).claims['cnf']).toMatchObject({ jwk: { kty: 'EC', crv: 'P-256' } })

      await expect.poll(isAccessCookieGone(context), WAIT).toBe(true)
      expect(await ask(page, '/me')).toEqual([200, 'ada'])
      expect(count('/auth/device/refresh 403')).toBeGreaterThan(0)
      expect(count('/auth/device/refresh 200')).toBeGreaterThan(0)
      expect(count('/me 401')).toBe(0)

      // The client of the page refreshes as well, and is told what the browser has.
      const [status, text] = await post(page, '/auth/refresh')
      expect([status, text]).toEqual([200, expect.stringContaining('"sub":"ada"')])

      // The cookie alone is worth nothing.
      const csrf = (await readCookie(context, 'csrf_access_token')) ?? ''
      const stolen = await fetch(`${origin}/auth/refresh`, {
        method: 'POST',
        headers: { cookie: `refresh_token_cookie=${bound}`, 'x-csrf-token': csrf },
      })
      expect(await stolen.json()).toMatchObject({ code: 'PROOF_REQUIRED' })

      const { sid = '', sub } = openToken(bound).claims as { readonly sid?: string; readonly sub: string }
      await tokens.revoke.session({ sid, sub })
      await expect.poll(isAccessCookieGone(context), WAIT).toBe(true)
      expect((await ask(page, '/me'))[0]).toBe(401)
      await expect.poll(() => count('/auth/device/refresh 401'), WAIT).toBe(1)
      expect((await ask(page, '/me'))[0]).toBe(401)
      expect(count('/auth/device/refresh 401')).toBe(1)
    })
  },
  SWITCHES,
)
