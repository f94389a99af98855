import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { type RevocationStore, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import {
  createSessionRoutes,
  describeSessionRoutes,
  type OpenApiOperation,
} from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import type { SessionStore } from '../../packages/tokenlib/src/kit.js'
import { createClock, SECRET } from '../helpers/manager.js'

/** Routes, and what they were observed to answer: the statuses of each operation, with every body checked. */
function createObserved(locations: 'headers' | ['headers', 'cookies']) {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const outage = { isOn: false }
  const failing =
    <Given extends unknown[], Answer>(call: (...given: Given) => Promise<Answer>) =>
    (...given: Given): Promise<Answer> =>
      outage.isOn ? Promise.reject(new Error('ECONNREFUSED')) : call(...given)
  const sessions = memory.sessions as Required<SessionStore>
  const store: RevocationStore = {
    ...memory,
    lookup: failing(memory.lookup),
    revoke: failing((batch) => memory.revoke(batch)),
    sessions: {
      ...sessions,
      openLimited: failing((session, limit) => sessions.openLimited(session, limit)),
      open: failing((session) => sessions.open(session)),
    },
  }
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_TOKEN_LOCATION: locations })
  const tokens = new TokenManager({ config, store, clock })
  const routes = createSessionRoutes(tokens, {
    logIn: ({ name, password }) => (password === 'right' ? { uid: String(name), role: 'editor' } : null),
    rateLimit: { before: ({ credentials }) => (credentials['name'] === 'slow' ? 7 : null) },
    maxSessions: 3,
    whenFull: 'refuse',
  })
  const { paths } = describeSessionRoutes(tokens)
  const ajv = addFormats.default(new Ajv({ strict: true, allErrors: true }))
  const observed: Record<string, Set<number>> = {}

  const send = async (
    name: string,
    init: { token?: string; body?: unknown; headers?: object; query?: string } = {},
  ) => {
    const [method = '', path = ''] = name.split(' ')
    const { token, body, headers, query = '' } = init
    const request = new Request(`https://app.example/auth/${path}${query}`, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const response = (await routes.handle(request)) as Response
    const pattern = path.replace(/^sessions\/.+/, 'sessions/{id}')
    const operation = paths[`/auth/${pattern}`]?.[method.toLowerCase()] as OpenApiOperation
    ;(observed[operation.operationId] ??= new Set()).add(response.status)
    const described = operation.responses[response.status]
    expect(described, `${name} ${response.status}`).toBeDefined()
    const text = await response.text()
    const schema = described?.content?.['application/json'].schema
    expect(text === '').toBe(schema === undefined)
    if (schema === undefined) return null
    const sent = JSON.parse(text) as Record<string, unknown>
    expect(ajv.validate(schema, sent), ajv.errorsText()).toBe(true)
    // Nothing is sent that the description does not have.
    const known = Object.keys((schema as { properties: object }).properties)
    expect(known).toEqual(expect.arrayContaining(Object.keys(sent)))
    return sent
  }

  const logIn = async (name = 'ada') => {
    const pair = await send('POST login', { body: { name, password: 'right', transport: 'bearer' } })
    return pair as { accessToken: string; refreshToken: string; session: { id: string } }
  }
  return { tokens, clock, paths, observed, outage, send, logIn }
}

const toStatuses = (paths: ReturnType<typeof createObserved>['paths']) =>
  Object.fromEntries(
    Object.values(paths)
      .flatMap((operations) => Object.values(operations))
      .map(({ operationId, responses }) => [operationId, Object.keys(responses).map(Number)]),
  )

describe('the description of the session routes', () => {
  test('has exactly the statuses that are observed, and the bodies', async () => {
    const { tokens, clock, paths, observed, outage, send, logIn } = createObserved(['headers', 'cookies'])
    const pair = await logIn()
    const token = pair.accessToken
    const body = { name: 'ada', password: 'wrong' }
    const large = { ...body, filler: 'x'.repeat(65 * 1024) }

    await send('POST login', { body: { name: 'bob', password: 'right' } })
    await send('POST login', { body: { remember: 1 } })
    await send('POST login', { body })
    await send('POST login', { body, headers: { 'sec-fetch-site': 'cross-site' } })
    await send('POST login', { body: large })
    await send('POST login', { body: '', headers: { 'content-type': 'text/plain' } })
    await send('POST login', { body: { ...body, name: 'slow' } })
    for (const _ of [1, 2, 3]) await send('POST login', { body: { name: 'ada', password: 'right' } })

    const refresh = { token: pair.refreshToken }
    await send('POST step-up', { ...refresh, body: { remember: 1 } })
    await send('POST step-up', { ...refresh, body })
    await send('POST step-up', { ...refresh, body: large })
    await send('POST step-up', { ...refresh, body: '', headers: { 'content-type': 'text/plain' } })
    await send('POST step-up', { ...refresh, body: { ...body, name: 'slow' } })
    await send('POST step-up', { ...refresh, body: { name: 'ada', password: 'right' } })

    const cookie = `access_token_cookie=${token}; refresh_token_cookie=${pair.refreshToken}`
    for (const route of [
      'POST refresh',
      'POST logout',
      'POST logout-everywhere',
      'DELETE sessions',
      'DELETE sessions/x',
      'POST step-up',
    ]) {
      await send(route, { headers: { cookie }, ...(route === 'POST step-up' && { body }) })
    }
    for (const route of [
      'POST refresh',
      'POST logout-everywhere',
      'GET session',
      'GET sessions',
      'DELETE sessions',
      'DELETE sessions/x',
    ])
      await send(route)

    const rename = `PATCH sessions/${pair.session.id}`
    await send(rename, { token, body: { label: "Ada's phone" } })
    await send(rename, { token, body: { label: 5 } })
    await send(rename, { token, body: large })
    await send(rename, { token, body: '', headers: { 'content-type': 'text/plain' } })
    await send(rename, { headers: { cookie }, body: { label: 'x' } })
    await send('PATCH sessions/unknown', { token, body: { label: 'x' } })

    await send('GET session', { token })
    await send('GET sessions', { token })
    await send('GET sessions', { token, query: '?limit=0' })
    await send('DELETE sessions/unknown', { token })
    await send('DELETE sessions', { token: tokens.createAccessToken({ uid: 'ada', role: 'editor' }) })

    outage.isOn = true
    await send('POST login', { body: { name: 'eve', password: 'right' } })
    for (const route of [
      'POST refresh',
      'POST logout',
      'POST logout-everywhere',
      'GET session',
      'GET sessions',
      'DELETE sessions',
      'DELETE sessions/x',
    ]) {
      await send(route, { token: route === 'POST refresh' ? pair.refreshToken : token })
    }
    await send('POST step-up', { ...refresh, body })
    await send(rename, { token, body: { label: 'x' } })
    outage.isOn = false

    const other = await logIn('carl')
    clock.seconds += 60
    const next = await send('POST refresh', { token: other.refreshToken })
    const successor = next?.['refreshToken'] as string
    expect(await send('POST refresh', { token: successor })).not.toHaveProperty('refreshToken')
    clock.seconds += 60
    await send('POST refresh', { token: successor })
    await send('POST refresh', { token: other.refreshToken })
    await send('POST step-up', { token: other.refreshToken, body })
    await send('DELETE sessions', { token: other.accessToken })
    await send(`DELETE sessions/${other.session.id}`, { token: other.accessToken })
    await send('POST logout', { token })
    await send('POST logout-everywhere', { token: (await logIn('dora')).accessToken })

    const expected = toStatuses(paths)
    for (const [name, statuses] of Object.entries(expected)) {
      expect([name, [...(observed[name] ?? [])].toSorted((a, b) => a - b)]).toEqual([name, statuses])
    }
  })

  test('has the security of each route', () => {
    const { paths } = createObserved(['headers', 'cookies'])
    const csrf = { csrfToken: [] }
    expect(paths['/auth/login']?.['post']?.security).toEqual([])
    expect(paths['/auth/session']?.['get']?.security).toEqual([{ bearerAuth: [] }, { cookieAuth: [] }])
    expect(paths['/auth/refresh']?.['post']?.security).toEqual([
      { bearerAuth: [] },
      { refreshCookieAuth: [], ...csrf },
    ])
    expect(paths['/auth/logout']?.['post']?.security).toEqual([
      {},
      { bearerAuth: [] },
      { cookieAuth: [], ...csrf },
      { refreshCookieAuth: [], ...csrf },
    ])
  })

  test('knows no CSRF value where tokens come in headers only', () => {
    const { paths } = createObserved('headers')
    expect(Object.keys(paths['/auth/logout']?.['post']?.responses ?? {})).toEqual(['204', '503'])
  })

  test('leaves the body of refusals open where formatError decides it', () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    const { paths } = describeSessionRoutes(new TokenManager({ config, formatError: () => ({}) }), {
      path: '/api',
    })
    expect(paths['/api/session']?.['get']?.responses['401']?.content?.['application/json'].schema).toEqual({
      type: 'object',
      additionalProperties: true,
    })
  })

  test('refuses unknown options and bad paths', () => {
    const { tokens } = createObserved('headers')
    expect(() => describeSessionRoutes(tokens, { prefix: '/api' } as object)).toThrow(TypeError)
    expect(() => describeSessionRoutes(tokens, { path: 'api/' })).toThrow(TypeError)
  })
})
