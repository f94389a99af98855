import { describe, expect, test } from 'vitest'
import { RevocationUnavailableError } from '../../packages/tokenlib/src/errors.js'
import {
  createEmptyAnswer,
  createJsonAnswer,
  createRoute,
  createRouter,
  MAX_BODY_BYTES,
  parseBodyText,
  RefusedRequest,
  type Route,
  toErrorAnswer,
} from '../../packages/tokenlib/src/routes/router.js'

const toAnswer = (error: unknown): Response =>
  toErrorAnswer(error, ({ code, message }) => ({ code, message }))

const send = (path: string, init?: RequestInit): Request => new Request(`https://api.example${path}`, init)

describe('a router', () => {
  const hello: Route = async () => new Response('hello')
  const router = createRouter({
    path: '/auth',
    routes: { '': hello, '/hello': hello },
    find: (rest) => (rest.startsWith('/people/') ? async () => new Response(rest) : null),
  })

  test.each(['/auth', '/auth/hello', '/auth/hello?a=b'])('answers %s', async (path) => {
    expect(await (await router.handle(send(path)))?.text()).toBe('hello')
  })

  test.each(['/', '/authentic', '/auth/', '/auth/hello/', '/auth/constructor', '/auth/__proto__', '/other'])(
    'leaves %s to the application',
    async (path) => {
      expect(await router.handle(send(path))).toBeNull()
    },
  )

  test('asks for routes whose path is not known before', async () => {
    expect(await (await router.handle(send('/auth/people/ada')))?.text()).toBe('/people/ada')
  })

  test('leaves pre-flights to the application', async () => {
    expect(await router.handle(send('/auth/hello', { method: 'OPTIONS' }))).toBeNull()
  })

  test('lists its paths only if it shares its path with the application', () => {
    expect(router.paths).toBeUndefined()
    const shared = createRouter({ path: '/.well-known', routes: { '/a': hello }, isPathShared: true })
    expect(shared.paths).toEqual(['/.well-known/a'])
  })
})

describe('a route', () => {
  const route = createRoute(
    { GET: () => createJsonAnswer({ a: 1 }), DELETE: () => createEmptyAnswer(204) },
    toAnswer,
  )

  test('answers HEAD as GET, without the body', async () => {
    const response = await route(send('/', { method: 'HEAD' }))
    expect([response.status, response.body, response.headers.get('content-type')]).toEqual([
      200,
      null,
      'application/json',
    ])
  })

  test.each(['POST', 'PUT', 'constructor'])('answers %s with 405 and the methods it has', async (method) => {
    const response = await route(send('/', { method }))
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, DELETE'])
    expect(await response.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED' })
  })

  test('without GET, HEAD is 405 and has no body either', async () => {
    const { status, body, headers } = await createRoute(
      { POST: () => new Response() },
      toAnswer,
    )(send('/', { method: 'HEAD' }))
    expect([status, body, headers.get('allow')]).toEqual([405, null, 'POST'])
  })

  test('cancels the body that HEAD does not get', async () => {
    let isCancelled = false
    const stream = new ReadableStream({ cancel: () => void (isCancelled = true) })
    await createRoute({ GET: () => new Response(stream) }, toAnswer)(send('/', { method: 'HEAD' }))
    expect(isCancelled).toBe(true)
  })

  test('passes further arguments on', async () => {
    const greet = createRoute({ GET: (_, name: string) => new Response(name) }, toAnswer)
    expect(await (await greet(send('/'), 'ada')).text()).toBe('ada')
  })
})

describe('what a route throws', () => {
  const answer = (error: unknown): Promise<Response> =>
    createRoute(
      {
        GET: () => {
          throw error
        },
      },
      toAnswer,
    )(send('/'))

  test('a refusal is answered with its status, code and headers, and is not cached', async () => {
    const response = await answer(new RefusedRequest(429, 'RATE_LIMITED', 'Too many', { 'retry-after': '5' }))
    expect([
      response.status,
      response.headers.get('retry-after'),
      response.headers.get('cache-control'),
      await response.json(),
    ]).toEqual([429, '5', 'no-store', { code: 'RATE_LIMITED', message: 'Too many' }])
  })

  test('a token error is answered as on guarded routes', async () => {
    expect((await answer(new RevocationUnavailableError(null))).status).toBe(503)
  })

  test('any other error is thrown on', async () => {
    const error = new Error('broken')
    await expect(answer(error)).rejects.toBe(error)
  })
})

describe('the text of a body', () => {
  const post = (body: string | Uint8Array<ArrayBuffer>, type: string): Request =>
    send('/', { method: 'POST', body, headers: { 'content-type': type } })

  test.each(['application/json', 'Application/JSON; charset=utf-8', 'application/json ;a=b'])(
    'is read if its type is %s, and the request can still be read',
    async (type) => {
      const request = post('{}', type)
      expect(await parseBodyText(request, 'application/json')).toBe('{}')
      expect(await request.text()).toBe('{}')
    },
  )

  test.each([
    ['another type', post('{}', 'text/plain'), 415, 'MEDIA_TYPE_UNSUPPORTED'],
    ['invalid UTF-8', post(new Uint8Array([0xff]), 'application/json'), 400, 'REQUEST_INVALID'],
    ['too many bytes', post('a'.repeat(MAX_BODY_BYTES + 1), 'application/json'), 413, 'REQUEST_TOO_LARGE'],
  ])('is refused for %s', async (_, request, status, code) => {
    await expect(parseBodyText(request, 'application/json')).rejects.toMatchObject({ status, code })
  })

  test('may have as many bytes as the limit', async () => {
    const text = 'a'.repeat(MAX_BODY_BYTES)
    expect(await parseBodyText(post(text, 'application/json'), 'application/json')).toBe(text)
  })
})
