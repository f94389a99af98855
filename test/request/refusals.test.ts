import { describe, expect, test } from 'vitest'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { createChunks, isSmallBody } from '../../packages/tokenlib/src/http/body.js'
import { toRequestView } from '../../packages/tokenlib/src/http/request-source.js'
import { createManager } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { createJsonRequest, createRequest, type RequestOptions } from '../helpers/requests.js'

const EVERYWHERE = ['headers', 'cookies', 'json', 'query'] as const
const { tokens } = createManager({ JWT_TOKEN_LOCATION: EVERYWHERE })

describe('a request with an ambiguous token is refused', () => {
  test.each<[what: string, request: Request]>([
    ['two credentials', createRequest({ headers: { authorization: 'Bearer a, Bearer b' } })],
    ['two cookies', createRequest({ headers: { cookie: 'access_token_cookie=a; access_token_cookie=b' } })],
    ['a number', createJsonRequest({ access_token: 7 })],
    ['two parameters', createRequest({ path: '/?token=a&token=b' })],
  ])('%s', async (_what, request) => {
    await expect(tokens.getTokenFromRequest(request)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })
})

describe('what is missing is named', () => {
  test('where a token was looked for, each place once', async () => {
    const messageOf = async (options: object): Promise<string> => {
      const error: unknown = await tokens
        .require(options)(createRequest())
        .catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'TOKEN_MISSING' })
      return (error as Error).message
    }
    const places = ['Authorization', 'access_token_cookie', 'access_token ', 'token ']
    const placesOfBoth = [...places, 'refresh_token_cookie', 'refresh_token ']
    const count = (message: string, place: string) => message.split(` ${place.trim()}`).length - 1
    const message = await messageOf({})
    for (const place of places) expect(message).toContain(place)
    expect(message).not.toContain('refresh')
    const messageOfBoth = await messageOf({ type: 'any' })
    for (const place of placesOfBoth) expect(messageOfBoth).toContain(place)
    expect(count(messageOfBoth, 'Authorization')).toBe(1)
    expect(await messageOf({ locations: [] })).not.toContain('Authorization')
  })

  test.each<[options: TokenConfigOptions, named: RegExp]>([
    [{}, /X-CSRF-TOKEN(?!.*csrf_token)/],
    [{ JWT_CSRF_CHECK_FORM: true }, /X-CSRF-TOKEN.*csrf_token/],
  ])('a CSRF value that is missing, with %o', async (options, named) => {
    const manager = createManager({ JWT_TOKEN_LOCATION: 'cookies', ...options }).tokens
    const cookies = { access_token_cookie: manager.createAccessToken({ uid: 'ada' }) }
    for (const headers of [{}, { 'x-csrf-token': '' }]) {
      const request = createRequest({ method: 'POST', cookies, headers })
      await expect(manager.accessTokenRequired(request)).rejects.toMatchObject({
        code: 'CSRF_MISSING',
        message: expect.stringMatching(named) as string,
      })
    }
  })

  test('a cookie token without a CSRF value of its own', async () => {
    const cookies = { access_token_cookie: createManager().tokens.createAccessToken({ uid: 'ada' }) }
    const request = createRequest({ method: 'POST', cookies, headers: { 'x-csrf-token': 'x' } })
    await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({
      code: 'CSRF_MISMATCH',
    })
  })

  test('a handshake from another origin', async () => {
    const cookies = { access_token_cookie: tokens.createAccessToken({ uid: 'ada' }) }
    const policy = { origins: ['https://app.example'] }
    for (const headers of [{ origin: 'https://evil.example' }, {}] as RequestOptions['headers'][]) {
      const request = createRequest({ cookies, ...(headers && { headers }) })
      await expect(tokens.sockets.authenticate(request, policy)).rejects.toMatchObject({
        code: 'CSRF_MISMATCH',
      })
    }
  })
})

describe('what is no request is a mistake of the program', () => {
  const NO_REQUEST = naming('TypeError', 'Fetch Request', 'Node request', 'headers', 'RequestView')

  test.each<[unknown]>([[undefined], [null], ['GET /'], [{}], [{ headers: null }], [{ headers: 'x' }]])(
    '%j',
    (source) => {
      expect(() => toRequestView(source as never)).toThrow(NO_REQUEST)
    },
  )

  test('a context', () => {
    const headers = { origin: 'https://app.example' }
    expect(() => toRequestView({ req: {}, request: {}, headers } as never)).toThrow(
      naming('TypeError', 'ctx.req'),
    )
    for (const request of [
      { req: {}, headers },
      { request: {}, headers },
    ]) {
      expect(toRequestView(request as never).header('origin')).toBe('https://app.example')
    }
  })

  const view = { method: 'GET', url: '/', header: () => null, body: async () => undefined }

  test('a view is one only with all of its members', () => {
    expect(toRequestView(view)).toBe(view)
    for (const name of ['method', 'url', 'header', 'body']) {
      expect(() => toRequestView({ ...view, [name]: undefined }), name).toThrow(NO_REQUEST)
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
