import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { TokenDecodeError } from '../../packages/tokenlib/src/errors.js'
import { readBearer } from '../../packages/tokenlib/src/http/credentials.js'
import { parseBody, toFields } from '../../packages/tokenlib/src/http/body.js'
import type { NodeRequest } from '../../packages/tokenlib/src/http/node-view.js'
import { toRequestView } from '../../packages/tokenlib/src/http/request-source.js'
import { RequestToken } from '../../packages/tokenlib/src/http/read-token.js'
import { createManager } from '../helpers/manager.js'
import { receive, toHttpText } from '../helpers/requests.js'

describe('a body', () => {
  test('of another type is not read as JSON', () => {
    expect(parseBody('text/plain', '{"a":1}')).toBeUndefined()
    expect(parseBody(null, '{"a":1}')).toBeUndefined()
  })

  test('has a list for a field that was sent more than once', () => {
    expect({ ...toFields(new URLSearchParams('a=1&b=2&a=3&a=4')) }).toEqual({ a: ['1', '3', '4'], b: '2' })
    expect({ ...toFields(new URLSearchParams('a=1&a=2')) }).toEqual({ a: ['1', '2'] })
  })

  test('that breaks off has no token in it', async () => {
    const body = new ReadableStream({
      start: (controller) => controller.error(new Error('gone')),
    })
    const headers = { 'content-type': 'application/json' }
    const request = new Request('http://localhost/', { method: 'POST', headers, body, duplex: 'half' })
    expect(await toRequestView(request).body()).toBeUndefined()
  })
})

describe('a Node request', () => {
  const header = (request: Partial<NodeRequest>, name: string) =>
    toRequestView({ headers: {}, ...request }).header(name)

  test('what a middleware has made of a header counts, unless more of them came', () => {
    const rawHeaders = ['Authorization', 'Bearer old']
    expect(header({ headers: { authorization: 'Bearer new' }, rawHeaders }, 'authorization')).toBe(
      'Bearer new',
    )
    const odd = ['Authorization', 'Bearer old', 'Authorization']
    expect(header({ headers: { authorization: 'Bearer new' }, rawHeaders: odd }, 'authorization')).toBe(
      'Bearer new',
    )
  })

  test('two spellings of a name are two values, whatever the raw headers say', () => {
    const headers = { authorization: 'Bearer a', Authorization: 'Bearer b' }
    for (const rawHeaders of [[], ['Host', 'x'], undefined]) {
      const request = { headers, ...(rawHeaders && { rawHeaders }) }
      expect(header(request, 'authorization')).toBe('Bearer a, Bearer b')
    }
  })

  test('a list of one value is that value, with raw headers and without', () => {
    const headers = { authorization: ['Bearer a'] }
    expect(header({ headers, rawHeaders: ['Authorization', 'Bearer a'] }, 'authorization')).toBe('Bearer a')
    expect(header({ headers }, 'authorization')).toBe('Bearer a')
  })

  test('without a socket has no address', () => {
    expect(toRequestView({ headers: {} }).ip).toBeNull()
    expect(toRequestView({ headers: {}, socket: null }).ip).toBeNull()
    expect(toRequestView({ headers: {}, socket: { remoteAddress: '192.0.2.1' } }).ip).toBe('192.0.2.1')
  })

  test('headers of one name are put together up to a mebibyte, and then refused', () => {
    const half = 'x'.repeat(524_288)
    expect(header({ headers: { 'x-one': [half, half] } }, 'x-one')).toBe(`${half}, ${half}`)
    expect(() => header({ headers: { 'x-one': [half, `${half}x`] } }, 'x-one')).toThrow(
      'The header is longer than 1048576 characters',
    )
    expect(() => header({ headers: { cookie: [half, `${half}x`] } }, 'cookie')).toThrow(TokenDecodeError)
  })

  test('a header without a value is none', () => {
    expect(header({ headers: { authorization: undefined } }, 'authorization')).toBeNull()
  })

  const POST = toHttpText('POST /', [
    ['Content-Type', 'application/json'],
    ['Content-Length', '7'],
  ])

  test('its body is the same each time, and no listener stays behind', async () => {
    await receive(`${POST}{"a":1}`, async (request) => {
      const count = () => ['readable', 'end', 'close', 'error'].map((event) => request.listenerCount(event))
      const before = count()
      const view = toRequestView(request)
      expect([await view.body(), await view.body()]).toEqual([{ a: 1 }, { a: 1 }])
      expect(count()).toEqual(before)
    })
  })

  test('what somebody left in `body` comes before an unread stream', async () => {
    await receive(`${POST}{"a":1}`, async (request) => {
      request.body = { b: 2 }
      expect(await toRequestView(request).body()).toEqual({ b: 2 })
    })
  })

  /** A stream that looks like a request whose body is still to come. */
  function createStream(given: object = {}, options: object = {}) {
    const stream = new Readable({ read() {}, ...options })
    const headers = { 'content-type': 'application/json', 'content-length': '10' }
    return Object.assign(stream, { method: 'POST', url: '/', complete: false, headers, ...given })
  }

  test.each<[string, object, (stream: Readable) => unknown]>([
    ['closed', {}, (stream) => stream.destroy()],
    ['broken', { emitClose: false }, (stream) => stream.destroy(new Error('reset'))],
    ['ended early', { autoDestroy: false, emitClose: false }, (stream) => stream.push(null)],
  ])('a stream that is %s has no body', async (_how, options, end) => {
    const stream = createStream({}, options)
    const body = toRequestView(stream).body()
    end(stream)
    expect(await body).toBeUndefined()
  })

  test.each<[string, object]>([
    ['is of no known kind', { complete: undefined }],
    ['has another type', { headers: { 'content-type': 'text/plain', 'content-length': '10' } }],
  ])('a stream that %s stays untouched', async (_what, given) => {
    const stream = createStream(given)
    expect(await toRequestView(stream).body()).toBeUndefined()
    expect(stream.readableDidRead).toBe(false)
    expect(stream.listenerCount('readable')).toBe(0)
  })
})

describe('a token', () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['cookies', 'query'], JWT_CSRF_CHECK_FORM: true })

  test('needs a question mark before it in a URL, and a URL of some length', async () => {
    expect(await tokens.getTokenFromRequest({ headers: {}, url: 'token=abc' })).toBeNull()
    const url = `/?token=${'x'.repeat(80_000)}`
    await expect(tokens.getTokenFromRequest({ headers: {}, url })).rejects.toThrow(
      `The URL is longer than ${8192 + 65_536} characters`,
    )
  })

  test('is not in a cookie that is only a name', async () => {
    const headers = { cookie: 'access_token_cookiex; access_token_cookie' }
    expect(await tokens.getTokenFromRequest({ headers })).toBeNull()
  })

  test('in a cookie has no CSRF value in a form that is null', async () => {
    const token = tokens.createAccessToken({ uid: 'ada' })
    const headers = {
      cookie: `access_token_cookie=${token}`,
      'content-type': 'application/x-www-form-urlencoded',
    }
    const request = { method: 'POST', url: '/', headers, body: null }
    await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({ code: 'CSRF_MISSING' })
  })

  test('shows that it has a CSRF value, and not which', () => {
    expect(JSON.parse(JSON.stringify(new RequestToken('t', 'access', 'cookies', 'c')))).toEqual({
      token: '[hidden]',
      type: 'access',
      location: 'cookies',
      csrf: '[hidden]',
    })
  })

  test.each<[string, string, string | null]>([
    ['  abc ', '', 'abc'],
    ['   ', '', null],
    [' Bearer abc ', 'Bearer', 'abc'],
    ['Bearerabc', 'Bearer', null],
    ['Bearerx abc', 'Bearer', null],
  ])('of the header %j with the scheme %j is %j', (header, scheme, token) => {
    expect(readBearer(header, scheme)).toBe(token)
  })
})
