import { describe, expect, test } from 'vitest'
import { isTokenError, type RequestSource, type RequestView } from '../../packages/tokenlib/src/index.js'
import { toRequestView } from '../../packages/tokenlib/src/http/request-source.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { createJsonRequest, receive, toHttpText } from '../helpers/requests.js'

const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada' })

const createView = (header: string | null = `Bearer ${TOKEN}`): RequestView => ({
  method: 'GET',
  url: '/',
  header: (name) => (name.toLowerCase() === 'authorization' ? header : null),
  body: async () => undefined,
})

/** A source of each kind that carries the token, new each time. */
const SOURCES: readonly [kind: string, create: () => RequestSource][] = [
  ['a Fetch Request', () => withBearer(TOKEN)],
  ['a plain object', () => ({ headers: { authorization: `Bearer ${TOKEN}` } })],
  ['a RequestView', () => createView()],
]

describe('what a dependency can be called with', () => {
  test.each(SOURCES)('%s', async (_, create) => {
    const found = await tokens.getTokenFromRequest(create())
    expect(found).toMatchObject({ token: TOKEN, location: 'headers' })
    await expect(tokens.accessTokenRequired(create())).resolves.toMatchObject({ sub: 'ada' })
  })

  test('a Node request', async () => {
    const text = toHttpText('GET /', [['Authorization', `Bearer ${TOKEN}`]])
    await expect(receive(text, tokens.accessTokenRequired)).resolves.toMatchObject({ sub: 'ada' })
  })

  test.each(['authorization', 'Authorization', 'AUTHORIZATION', 'aUtHoRiZaTiOn'])(
    'a plain object that spells the header %s',
    async (name) => {
      const request = { headers: { [name]: `Bearer ${TOKEN}` } }
      await expect(tokens.getTokenFromRequest(request)).resolves.toMatchObject({ token: TOKEN })
    },
  )

  test('a plain object without a prototype', async () => {
    const headers = Object.assign(Object.create(null), { authorization: `Bearer ${TOKEN}` })
    await expect(tokens.getTokenFromRequest({ headers })).resolves.toMatchObject({ token: TOKEN })
  })

  test('a plain object with a list of two bearer credentials is refused', async () => {
    const one = { headers: { authorization: [`Bearer ${TOKEN}`] } }
    await expect(tokens.getTokenFromRequest(one)).resolves.toMatchObject({ token: TOKEN })
    const two = { headers: { authorization: [`Bearer ${TOKEN}`, `Bearer ${TOKEN}`] } }
    await expect(tokens.getTokenFromRequest(two)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  test('a plain object with a list of cookie headers', async () => {
    const cookies = createManager({ JWT_TOKEN_LOCATION: 'cookies' }).tokens
    const request = { headers: { Cookie: ['a=1', `access_token_cookie=${TOKEN}`] } }
    await expect(cookies.getTokenFromRequest(request)).resolves.toMatchObject({ token: TOKEN })
  })

  test.each([
    ['parsed', { access_token: 'T' }],
    ['as text', '{"access_token":"T"}'],
    ['as bytes', Buffer.from('{"access_token":"T"}')],
  ])('a plain object with a body, %s', async (_, body) => {
    const json = createManager({ JWT_TOKEN_LOCATION: 'json' }).tokens
    const request = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
    await expect(json.getTokenFromRequest(request)).resolves.toMatchObject({ token: 'T', location: 'json' })
  })

  test('a plain object with a body of another content type', async () => {
    const json = createManager({ JWT_TOKEN_LOCATION: 'json' }).tokens
    const request = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: { access_token: 'T' } }
    await expect(json.getTokenFromRequest(request)).resolves.toBeNull()
  })

  test.each([
    ['null', null],
    ['undefined', undefined],
    ['an empty object', {}],
    ['a text', 'GET / HTTP/1.1'],
    ['a number', 42],
    ['a list', []],
    ['a function', () => {}],
    ['headers that are null', { headers: null }],
    ['headers that are a text', { headers: 'authorization: Bearer x' }],
    ['half a view', { method: 'GET', url: '/', header: () => null }],
  ])("%s is the caller's mistake: TypeError, and no TokenError", async (_, source) => {
    const dependencies = [tokens.accessTokenRequired, tokens.accessTokenOptional, tokens.getTokenFromRequest]
    for (const dependency of dependencies) {
      const error = await dependency(source as unknown as RequestSource).then(
        () => null,
        (reason: unknown) => reason,
      )
      expect(error).toBeInstanceOf(TypeError)
      expect(isTokenError(error)).toBe(false)
    }
  })
})

describe('the view of a request', () => {
  test.each(SOURCES)('%s has one view, the same each time', (_, create) => {
    const source = create()
    expect(toRequestView(source)).toBe(toRequestView(source))
    expect(toRequestView(source)).not.toBe(toRequestView(create()))
  })

  test('a view is its own view', () => {
    const view = createView()
    expect(toRequestView(view)).toBe(view)
  })

  test('a request that says no method counts as unsafe, so a cookie token needs its CSRF value', async () => {
    expect(toRequestView({ headers: {} })).toMatchObject({ method: '', url: '/' })
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies' })
    const cookie = `access_token_cookie=${tokens.createAccessToken({ uid: 'u' })}`
    await expect(tokens.accessTokenRequired({ headers: { cookie } })).rejects.toMatchObject({
      code: 'CSRF_MISSING',
    })
    expect((await tokens.accessTokenRequired({ method: 'GET', headers: { cookie } })).sub).toBe('u')
  })

  test('one header in two spellings of its name is two credentials', async () => {
    const { tokens } = createManager()
    const headers = { Authorization: 'Bearer a', authorization: 'Bearer b' }
    await expect(tokens.getTokenFromRequest({ headers })).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })
})

describe('results are remembered per request', () => {
  /** A manager that counts the calls of its revocation callback. */
  function createCounting(answer: boolean) {
    const calls: string[] = []
    const { tokens } = createManager()
    tokens.setCallbackTokenBlocklist(async (token) => {
      calls.push(token)
      return answer
    })
    return { tokens, calls }
  }

  test.each(SOURCES)('one dependency used twice on %s asks once', async (_, create) => {
    const { tokens, calls } = createCounting(false)
    const source = create()
    const first = await tokens.accessTokenRequired(source)
    await expect(tokens.accessTokenRequired(source)).resolves.toBe(first)
    expect(calls).toEqual([TOKEN])
  })

  test.each(SOURCES)('one dependency used concurrently on %s asks once', async (_, create) => {
    const { tokens, calls } = createCounting(false)
    const source = create()
    const [first, second] = await Promise.all([
      tokens.accessTokenRequired(source),
      tokens.accessTokenRequired(source),
    ])
    expect(first).toBe(second)
    expect(calls).toEqual([TOKEN])
  })

  test.each(SOURCES)('two requests ask twice: %s', async (_, create) => {
    const { tokens, calls } = createCounting(false)
    await tokens.accessTokenRequired(create())
    await tokens.accessTokenRequired(create())
    expect(calls).toEqual([TOKEN, TOKEN])
  })

  test('a refusal is remembered too', async () => {
    const { tokens, calls } = createCounting(true)
    const request = withBearer(TOKEN)
    await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    expect(calls).toEqual([TOKEN])
  })

  test('each policy gets its own answer', async () => {
    const { tokens } = createCounting(false)
    const request = withBearer(TOKEN)
    await expect(tokens.accessTokenRequired(request)).resolves.toMatchObject({ sub: 'ada' })
    await expect(tokens.freshTokenRequired(request)).rejects.toMatchObject({ code: 'FRESH_TOKEN_REQUIRED' })
    await expect(tokens.refreshTokenRequired(request)).rejects.toMatchObject({
      code: 'REFRESH_TOKEN_REQUIRED',
    })
  })

  test('managers do not share answers', async () => {
    const request = withBearer(TOKEN)
    await expect(createCounting(false).tokens.accessTokenRequired(request)).resolves.toMatchObject({
      sub: 'ada',
    })
    await expect(createCounting(true).tokens.accessTokenRequired(request)).rejects.toMatchObject({
      code: 'TOKEN_REVOKED',
    })
  })

  test('several readers share one body', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'json' })
    const request = createJsonRequest({ access_token: TOKEN })
    const [found, payload] = await Promise.all([
      tokens.getTokenFromRequest(request),
      tokens.accessTokenRequired(request),
    ])
    expect(found).toMatchObject({ token: TOKEN })
    expect(payload).toMatchObject({ sub: 'ada' })
    await expect(request.json()).resolves.toEqual({ access_token: TOKEN })
  })
})
