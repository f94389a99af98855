import { expect, test } from 'vitest'
import { toErrorResponse } from '../../packages/tokenlib/src/index.js'
import { CsrfError, MissingCsrfTokenError } from '../../packages/tokenlib/src/errors.js'
import { enforce, handleErrors } from '../../packages/tokenlib/src/frameworks/fetch.js'
import { createRefusal } from '../../packages/tokenlib/src/sockets/accept-upgrade.js'
import { createConsole } from '../../packages/console/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createRevocable } from '../helpers/revocable.js'

// A client tells a CSRF refusal by its code. It must not have to know which part of the library has answered.
const { tokens } = createRevocable({ JWT_TOKEN_LOCATION: ['cookies'] })
const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
const cookie = `access_token_cookie=${accessToken}; refresh_token_cookie=${refreshToken}`
const sessions = createSessionRoutes(tokens, { logIn: () => ({ uid: 'ada' }) })
const console = createConsole(tokens, { allow: () => 'grace' })
const protect = handleErrors()
const route = protect(enforce(tokens.accessTokenRequired)(() => new Response('ran')))

const forge = (path: string, headers: Record<string, string>): Request =>
  new Request(`https://app.example${path}`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/json', ...headers },
    body: '{}',
  })
const CROSS_SITE = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
const WRONG = { 'x-csrf-token': 'x' }

test.each<[name: string, code: string, send: () => Promise<Response | null> | Response]>([
  ['a route, without the value', 'CSRF_MISSING', () => route(forge('/', {}))],
  ['a route, with another value', 'CSRF_MISMATCH', () => route(forge('/', WRONG))],
  ['a refresh, without the value', 'CSRF_MISSING', () => sessions.handle(forge('/auth/refresh', {}))],
  ['a refresh, with another value', 'CSRF_MISMATCH', () => sessions.handle(forge('/auth/refresh', WRONG))],
  ['a logout, with another value', 'CSRF_MISMATCH', () => sessions.handle(forge('/auth/logout', WRONG))],
  ['a login of another site', 'CSRF_MISMATCH', () => sessions.handle(forge('/auth/login', CROSS_SITE))],
  ['the console', 'CSRF_MISMATCH', () => console.handle(forge('/console/api/revoke', CROSS_SITE))],
  [
    'a handshake of another origin',
    'CSRF_MISMATCH',
    async () => {
      const headers = { cookie, origin: 'https://evil.example', upgrade: 'websocket' }
      const error: unknown = await tokens.sockets
        .authenticate(new Request('https://app.example/', { headers }), {
          origins: ['https://app.example'],
        })
        .catch((thrown: unknown) => thrown)
      const { status, headers: answered, body } = createRefusal(error, tokens)
      return new Response(body, { status, headers: answered })
    },
  ],
])('%s is refused with 401', async (_, code, send) => {
  const response = await send()
  const { status } = toErrorResponse(code === 'CSRF_MISSING' ? new MissingCsrfTokenError() : new CsrfError())
  expect(status).toBe(401)
  expect([response?.status, await response?.json()]).toMatchObject([status, { code }])
  expect(response?.headers.get('www-authenticate')).toContain('error="invalid_request"')
})
