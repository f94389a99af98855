import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict'
import {
  isTokenError,
  setAccessCookies,
  TokenConfig,
  TokenError,
  TokenExpiredError,
  TokenManager,
} from 'tokenlib'
import { enforce, handleErrors, inject } from 'tokenlib/fetch'
import { auth0, trustIssuer } from '@tokenlib/issuers'
import { createMemoryStore } from 'tokenlib/memory'
import { createManager, keyFields, refuses } from './managers.js'

const URL = 'https://api.example/route'

/** Reading requests, answering them, and what can be imported. */
export const steps = [
  ['reads a token from the Authorization header', readHeader],
  ['refuses two tokens, another scheme and a header that is too long', refuseHeaders],
  ['reads a token from a cookie with its CSRF value', readCookie],
  ['reads a token from a JSON body and leaves the body readable', readJson],
  ['reads a CSRF value from a form', readForm],
  ['reads a token from the query', readQuery],
  ['reads a plain object with headers', readPlain],
  ['guards a Fetch handler and answers as RFC 6750 says', tryFetch],
  ['refreshes and logs out by request', tryRequests],
  ['verifies and revokes a token of an identity provider', tryProvider],
  ['one class identity, whichever entry point is used', tryIdentity],
  ['require and import give the same classes', tryRequire],
  ['a client is created without sending anything, and refuses unknown options', tryClient],
  ['every entry point that needs no other package can be imported', tryImports],
]

const send = (init = {}, url = URL) => new Request(url, init)
const bearer = (token) => send({ headers: { authorization: `Bearer ${token}` } })

async function readHeader() {
  const tokens = createManager()
  const token = tokens.createAccessToken({ uid: 'ada', name: 'Ада 👩‍💻' })
  const { sub, name } = await tokens.accessTokenRequired(bearer(token))
  deepStrictEqual([sub, name], ['ada', 'Ада 👩‍💻'])
  await refuses(tokens.accessTokenRequired(send()), 'TOKEN_MISSING')
}

async function refuseHeaders() {
  const tokens = createManager()
  const token = tokens.createAccessToken({ uid: 'ada' })
  const headers = new Headers({ authorization: `Bearer ${token}` })
  headers.append('authorization', `Bearer ${token}`)
  await refuses(tokens.accessTokenRequired(send({ headers })), 'TOKEN_INVALID')
  await refuses(
    tokens.accessTokenRequired(send({ headers: { authorization: 'Basic YTpi' } })),
    'TOKEN_MISSING',
  )
  await refuses(tokens.accessTokenRequired(bearer(`${token}${'a'.repeat(20_000)}`)), 'TOKEN_INVALID')
}

async function readCookie() {
  const tokens = createManager({ JWT_TOKEN_LOCATION: 'cookies' })
  const [access, csrf] = setAccessCookies(tokens, tokens.createAccessToken({ uid: 'ada' })).map(
    (cookie) => cookie.split(';')[0],
  )
  const cookie = `other=1; ${access}`
  const value = csrf.split('=')[1]
  const post = (headers) =>
    tokens.accessTokenRequired(send({ method: 'POST', headers: { cookie, ...headers } }))
  strictEqual((await tokens.accessTokenRequired(send({ headers: { cookie } }))).sub, 'ada')
  strictEqual((await post({ 'x-csrf-token': value })).sub, 'ada')
  await refuses(post({}), 'CSRF_MISSING')
  await refuses(post({ 'x-csrf-token': `${value}x` }), 'CSRF_MISMATCH')
}

async function readJson() {
  const tokens = createManager({ JWT_TOKEN_LOCATION: 'json' })
  const body = JSON.stringify({ access_token: tokens.createAccessToken({ uid: 'ada' }) })
  const request = send({ method: 'POST', headers: { 'content-type': 'application/json' }, body })
  strictEqual((await tokens.accessTokenRequired(request)).sub, 'ada')
  strictEqual(await request.text(), body)
}

async function readForm() {
  const tokens = createManager({ JWT_TOKEN_LOCATION: 'cookies', JWT_CSRF_CHECK_FORM: true })
  const [access, csrf] = setAccessCookies(tokens, tokens.createAccessToken({ uid: 'ada' })).map(
    (cookie) => cookie.split(';')[0],
  )
  const body = new URLSearchParams({ csrf_token: csrf.split('=')[1] })
  const request = send({ method: 'POST', headers: { cookie: access }, body })
  strictEqual((await tokens.accessTokenRequired(request)).sub, 'ada')
}

async function readQuery() {
  const tokens = createManager({ JWT_TOKEN_LOCATION: 'query' })
  const token = tokens.createAccessToken({ uid: 'ada' })
  const name = tokens.config.JWT_QUERY_STRING_NAME
  strictEqual((await tokens.accessTokenRequired(send({}, `${URL}?${name}=${token}`))).sub, 'ada')
}

async function readPlain() {
  const tokens = createManager()
  const headers = { authorization: `Bearer ${tokens.createAccessToken({ uid: 'ada' })}` }
  strictEqual((await tokens.accessTokenRequired({ headers, method: 'GET', url: '/' })).sub, 'ada')
}

async function tryFetch() {
  const tokens = createManager()
  const answer = inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json(payload.sub))
  const handler = handleErrors({ config: tokens.config })(enforce(tokens.accessTokenRequired)(answer))
  const passed = await handler(bearer(tokens.createAccessToken({ uid: 'ada' })))
  deepStrictEqual([passed.status, await passed.json()], [200, 'ada'])
  const refused = await handler(bearer('aaaaa.bbbbb.ccccc'))
  strictEqual(refused.status, 401)
  strictEqual((await refused.json()).code, 'TOKEN_INVALID')
  ok(refused.headers.get('www-authenticate').startsWith('Bearer realm="api"'))
}

async function tryRequests() {
  const tokens = createManager({}, { store: createMemoryStore(), clock: () => Date.now() })
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  const next = await tokens.sessions.refresh(bearer(refreshToken))
  strictEqual((await tokens.logout(bearer(next.accessToken))).sub, 'ada')
  await refuses(tokens.accessTokenRequired(bearer(next.accessToken)), 'TOKEN_REVOKED')
  await refuses(tokens.sessions.refresh(bearer(next.refreshToken)), 'TOKEN_REVOKED')
}

async function tryIdentity() {
  const errors = await import('tokenlib/errors')
  strictEqual(errors.isTokenError, isTokenError)
  strictEqual(errors.TokenError, TokenError)
  strictEqual((await import('tokenlib')).TokenError, TokenError)
  const tokens = createManager()
  const token = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
  const later = createManager({}, { clock: () => Date.now() })
  let caught
  const route = enforce(later.accessTokenRequired)(() => new Response())
  await Promise.resolve(route(bearer(token))).catch((error) => (caught = error))
  ok(caught instanceof TokenExpiredError && caught instanceof TokenError && isTokenError(caught))
}

async function tryRequire() {
  if (globalThis.navigator?.userAgent === 'Cloudflare-Workers')
    return 'a Worker is one bundle, without require'
  const { createRequire } = await import('node:module')
  const required = createRequire(import.meta.url)('tokenlib')
  strictEqual(required.TokenError, TokenError)
}

async function tryClient() {
  const { createTokenClient } = await import('@tokenlib/client')
  const sent = []
  const client = createTokenClient({
    path: 'https://api.example/auth',
    fetch: async (request) => {
      sent.push(request.headers.get('authorization'))
      return new Response(null, { status: 204 })
    },
  })
  strictEqual(await client.session(), null)
  deepStrictEqual(sent, [])
  strictEqual((await client.fetch('https://api.example/notes', { method: 'POST', body: 'a' })).status, 204)
  deepStrictEqual(sent, [null])
  throws(() => createTokenClient({ unknown: true }), TypeError)
}

async function tryProvider() {
  const clock = () => Date.now()
  const provider = createManager({ JWT_ALGORITHM: 'RS256', ...keyFields('RS256') }, { clock })
  const { options } = auth0({ domain: 'example.auth0.com', audience: 'https://api.example' })
  const issuer = trustIssuer({ ...options, keys: provider.keys.jwks() })
  const tokens = new TokenManager({
    config: new TokenConfig(),
    issuers: [issuer],
    store: createMemoryStore({ clock }),
    clock,
  })
  const token = provider.createAccessToken(
    { uid: 'ada', azp: 'client', scope: 'read write' },
    { issuer: issuer.issuer, audience: 'https://api.example' },
  )
  const { sub, iss, scopes } = await tokens.accessTokenRequired(bearer(token))
  deepStrictEqual([sub, iss, scopes], ['ada', 'https://example.auth0.com/', ['read', 'write']])
  await tokens.revoke.user('ada', { issuer: iss })
  await refuses(tokens.accessTokenRequired(bearer(token)), 'TOKEN_REVOKED')
  await refuses(tokens.verify(provider.createAccessToken({ uid: 'ada' })), 'TOKEN_INVALID')
}

async function tryImports() {
  const modules = [
    await import('tokenlib'),
    await import('tokenlib/kit'),
    await import('@tokenlib/client'),
    await import('@tokenlib/client/bundle'),
    await import('@tokenlib/client/dpop'),
    await import('@tokenlib/console'),
    await import('@tokenlib/contracts'),
    await import('tokenlib/elysia'),
    await import('tokenlib/errors'),
    await import('tokenlib/express'),
    await import('tokenlib/fastify'),
    await import('tokenlib/fetch'),
    await import('tokenlib/h3'),
    await import('tokenlib/hono'),
    await import('tokenlib/koa'),
    await import('@tokenlib/issuers'),
    await import('tokenlib/session-routes'),
    await import('tokenlib/durable-objects'),
    await import('tokenlib/memory'),
    await import('tokenlib/mysql'),
    await import('tokenlib/postgres'),
    await import('tokenlib/redis'),
    await import('tokenlib/replica'),
    await import('tokenlib/sqlite'),
    await import('tokenlib/testing'),
  ]
  for (const module of modules) ok(Object.keys(module).length > 0)
}
