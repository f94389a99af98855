import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import {
  enforce,
  type FetchHandler,
  handleErrors,
  inject,
  sendCookies,
} from '../../packages/tokenlib/src/frameworks/fetch.js'
import { MissingTokenError } from '../../packages/tokenlib/src/index.js'
import { TokenDecodeError } from '../../packages/tokenlib/src/errors.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { createRequest } from '../helpers/requests.js'

// What every adapter does is in matrix.test.ts.
const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const COOKIES = ['a=1; Path=/', 'b=2; Path=/; Expires=Thu, 01 Jan 2026 00:00:00 GMT']

/** A handler that records its calls. */
const createHandler = () => vi.fn((..._given: readonly unknown[]) => new Response('ran'))

describe('enforce', () => {
  test('lets a good request through to the handler, with everything it was given', async () => {
    const handler = createHandler()
    const request = withBearer(TOKEN)
    const context = { params: { id: '1' } }
    const response = await enforce(tokens.accessTokenRequired)(handler)(request, context, 42)
    await expect(response.text()).resolves.toBe('ran')
    expect(handler).toHaveBeenCalledExactlyOnceWith(request, context, 42)
    expect(handler.mock.calls[0]?.[0]).toBe(request)
  })

  test('the handler does not run when the request is refused: the error is that of the handler', async () => {
    const handler = createHandler()
    const guarded = enforce(tokens.accessTokenRequired)(handler)
    await expect(guarded(createRequest())).rejects.toBeInstanceOf(MissingTokenError)
    await expect(guarded(withBearer('bad'))).rejects.toBeInstanceOf(TokenDecodeError)
    expect(handler).not.toHaveBeenCalled()
  })
})

describe('inject', () => {
  test('gives the handler the values, the request and the rest', async () => {
    const request = withBearer(TOKEN)
    const route = inject(
      { payload: tokens.accessTokenRequired, token: tokens.getTokenFromRequest },
      ({ payload, token }, given, context: { id: number }) =>
        Response.json([payload.sub, payload.age, token?.location, given === request, context.id]),
    )
    const response = await route(request, { id: 7 })
    await expect(response.json()).resolves.toEqual(['ada', 36, 'headers', true, 7])
  })

  test('the handler does not run when the request is refused', async () => {
    const handler = createHandler()
    await expect(
      inject({ payload: tokens.accessTokenRequired }, handler)(createRequest()),
    ).rejects.toBeInstanceOf(MissingTokenError)
    expect(handler).not.toHaveBeenCalled()
  })
})

// Next.js passes a subclass of Request, and in some cases a Proxy around it.
test('takes a subclass of Request, and a Proxy around one', async () => {
  class NextRequest extends Request {
    readonly nextUrl = new URL(this.url)
  }
  const request = new NextRequest('http://localhost/', { headers: { authorization: `Bearer ${TOKEN}` } })
  const wrapped = new Proxy(request, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const route = inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json(payload.sub))
  for (const given of [request, wrapped]) {
    const response = await route(given)
    await expect(response.json()).resolves.toBe('ada')
  }
})

describe('handleErrors', () => {
  test('what the handler returns and is given passes through', async () => {
    const handler = createHandler()
    const response = await handleErrors()(handler)(createRequest(), 'rest')
    await expect(response.text()).resolves.toBe('ran')
    expect(handler).toHaveBeenCalledExactlyOnceWith(expect.any(Request), 'rest')
  })

  test.each([
    ['an error', new Error('ours')],
    ['a TypeError', new TypeError('ours')],
    ['an object that only says it is one', { isTokenError: true, code: 'TOKEN_MISSING' }],
  ])('other errors pass through as they are: %s', async (_, error) => {
    const handler: FetchHandler = () => Promise.reject(error)
    await expect(handleErrors()(handler)(createRequest())).rejects.toBe(error)
  })
})

describe('sendCookies', () => {
  test('adds every cookie to a response, each in a header of its own', () => {
    expect(sendCookies(new Response(), COOKIES).headers.getSetCookie()).toEqual(COOKIES)
  })

  test('keeps the cookies that are there, those of the same name included', () => {
    const headers = new Headers([
      ['set-cookie', 'theme=dark'],
      ['set-cookie', 'a=0'],
    ])
    const response = sendCookies(new Response(null, { headers }), COOKIES)
    expect(response.headers.getSetCookie()).toEqual(['theme=dark', 'a=0', ...COOKIES])
  })

  test('keeps the status, its text, the headers and the body', async () => {
    const init = { status: 201, statusText: 'Made', headers: { 'x-own': 'yes' } }
    const response = sendCookies(Response.json({ ok: true }, init), COOKIES)
    expect([response.status, response.statusText]).toEqual([201, 'Made'])
    expect(response.headers.get('x-own')).toBe('yes')
    expect(response.headers.get('content-type')).toBe('application/json')
    await expect(response.json()).resolves.toEqual({ ok: true })
  })

  test.each([204, 304])('takes a response of status %d, which has no body', (status) => {
    const response = sendCookies(new Response(null, { status }), COOKIES)
    expect([response.status, response.body]).toEqual([status, null])
    expect(response.headers.getSetCookie()).toEqual(COOKIES)
  })

  test('takes a redirect, whose headers cannot change', () => {
    const redirect = Response.redirect('http://localhost/home', 303)
    expect(() => redirect.headers.append('set-cookie', 'a=1')).toThrow(TypeError)
    const response = sendCookies(redirect, COOKIES)
    expect([response.status, response.headers.get('location')]).toEqual([303, 'http://localhost/home'])
    expect(response.headers.getSetCookie()).toEqual(COOKIES)
  })

  test('takes a response that was fetched, whose headers cannot change either', async () => {
    const upstream = createServer((_, answer) => {
      answer.setHeader('set-cookie', ['up=1', 'stream=2']).end('from upstream')
    }).listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    try {
      const fetched = await fetch(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)
      const response = sendCookies(fetched, COOKIES)
      expect(response.headers.getSetCookie()).toEqual(['up=1', 'stream=2', ...COOKIES])
      await expect(response.text()).resolves.toBe('from upstream')
    } finally {
      upstream.close()
      upstream.closeAllConnections()
    }
  })

  test('leaves the headers of the given response as they were', () => {
    const given = new Response()
    sendCookies(given, COOKIES)
    expect(given.headers.getSetCookie()).toEqual([])
  })

  test('can be used more than once on the way out', () => {
    const response = sendCookies(sendCookies(new Response(), ['a=1']), ['b=2'])
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  })

  test('refuses a cookie that no header can carry', () => {
    expect(() => sendCookies(new Response(), ['a=1\r\nx-injected: yes'])).toThrow(TypeError)
  })
})
