import { describe, expect, test } from 'vitest'
import type { TokenConfigOptions } from '../../src/index.js'
import { createChunks, isSmallBody } from '../../src/request/body.js'
import { toRequestView } from '../../src/request/request-source.js'
import { createManager } from '../helpers/manager.js'
import { createJsonRequest, createRequest, type RequestOptions } from '../helpers/requests.js'

const EVERYWHERE = ['headers', 'cookies', 'json', 'query'] as const
const { tokens } = createManager({ JWT_TOKEN_LOCATION: EVERYWHERE })

describe('a request that is refused says what is wrong with it', () => {
  test.each<[string, Request, string]>([
    [
      'two credentials',
      createRequest({ headers: { authorization: 'Bearer a, Bearer b' } }),
      'The request carries more than one Bearer credential',
    ],
    [
      'two cookies',
      createRequest({ headers: { cookie: 'access_token_cookie=a; access_token_cookie=b' } }),
      'The request carries the cookie "access_token_cookie" with different values',
    ],
    ['a number', createJsonRequest({ access_token: 7 }), '"access_token" of the JSON body must be a string'],
    [
      'two parameters',
      createRequest({ path: '/?token=a&token=b' }),
      'The query parameter "token" occurs more than once',
    ],
  ])('%s', async (_what, request, message) => {
    await expect(tokens.getTokenFromRequest(request)).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
      message,
    })
  })

  test('where a token was looked for, each place once', async () => {
    const messageOf = (options: object) =>
      tokens
        .require(options)(createRequest())
        .then(
          () => '',
          (error: Error) => error.message,
        )
    expect(await messageOf({})).toBe(
      'No token found in the request (looked in the Authorization header, the cookie access_token_cookie, ' +
        'access_token of the JSON body, token of the query string)',
    )
    expect(await messageOf({ type: 'any' })).toBe(
      'No token found in the request (looked in the Authorization header, the cookie access_token_cookie, ' +
        'access_token of the JSON body, token of the query string, the cookie refresh_token_cookie, ' +
        'refresh_token of the JSON body)',
    )
    expect(await messageOf({ locations: [] })).toBe('No token found: no location is read')
  })

  test.each<[TokenConfigOptions, string]>([
    [{}, 'A cookie token needs its CSRF value in the X-CSRF-TOKEN header'],
    [
      { JWT_CSRF_CHECK_FORM: true },
      'A cookie token needs its CSRF value in the X-CSRF-TOKEN header or the form field csrf_token',
    ],
  ])('a CSRF value that is missing, with %o', async (options, message) => {
    const manager = createManager({ JWT_TOKEN_LOCATION: 'cookies', ...options }).tokens
    const cookies = { access_token_cookie: manager.createAccessToken({ uid: 'ada' }) }
    for (const headers of [{}, { 'x-csrf-token': '' }]) {
      const request = createRequest({ method: 'POST', cookies, headers })
      await expect(manager.accessTokenRequired(request)).rejects.toMatchObject({
        code: 'CSRF_MISSING',
        message,
      })
    }
  })

  test('a cookie token without a CSRF value of its own', async () => {
    const cookies = { access_token_cookie: createManager().tokens.createAccessToken({ uid: 'ada' }) }
    const request = createRequest({ method: 'POST', cookies, headers: { 'x-csrf-token': 'x' } })
    await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({
      code: 'CSRF_MISMATCH',
      message: 'The token carries no CSRF value',
    })
  })

  test('a handshake from another origin', async () => {
    const cookies = { access_token_cookie: tokens.createAccessToken({ uid: 'ada' }) }
    const policy = { origins: ['https://app.example'] }
    for (const headers of [{ origin: 'https://evil.example' }, {}] as RequestOptions['headers'][]) {
      const request = createRequest({ cookies, ...(headers && { headers }) })
      await expect(tokens.authenticateUpgrade(request, policy)).rejects.toMatchObject({
        code: 'CSRF_MISMATCH',
        message: 'The handshake comes from another origin',
      })
    }
  })
})

describe('what is no request is told what one is', () => {
  const message = 'A request must be a Fetch Request, a Node request, an object with headers or a RequestView'

  test.each<[unknown]>([[undefined], [null], ['GET /'], [{}], [{ headers: null }], [{ headers: 'x' }]])(
    '%j',
    (source) => {
      expect(() => toRequestView(source as never)).toThrow(new TypeError(message))
    },
  )

  test('a context', () => {
    expect(() => toRequestView({ req: {}, request: {}, headers: {} } as never)).toThrow(
      new TypeError('A context is no request: pass ctx.req'),
    )
    expect(() => toRequestView({ req: {}, headers: {} } as never)).not.toThrow()
    expect(() => toRequestView({ request: {}, headers: {} } as never)).not.toThrow()
  })

  const view = { method: 'GET', url: '/', header: () => null, body: async () => undefined }

  test('a view is one only with all of its members', () => {
    expect(toRequestView(view)).toBe(view)
    for (const name of ['method', 'url', 'header', 'body']) {
      expect(() => toRequestView({ ...view, [name]: undefined }), name).toThrow(TypeError)
    }
  })
})

describe('a body', () => {
  test.each([
    ['1', true],
    ['1048576', true],
    ['1048577', false],
    ['0', false],
    ['', false],
    ['-1', false],
    ['x', false],
    [null, false],
  ])('of length %j is one to look into: %s', (length, expected) => {
    expect(isSmallBody(length)).toBe(expected)
  })

  test('in chunks is read up to a mebibyte', () => {
    const chunks = createChunks()
    expect(chunks.add(new Uint8Array(1_048_575))).toBe(true)
    expect(chunks.add(new Uint8Array(1))).toBe(true)
    expect(chunks.add(new Uint8Array(1))).toBe(false)
    expect(chunks.concat()).toHaveLength(1_048_577)
  })
})
