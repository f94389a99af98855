import { describe, expect, test } from 'vitest'
import { MissingTokenError, type TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import type { TokenLocation } from '../../packages/tokenlib/src/kit.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { createRequest, csrfOf, type RequestOptions } from '../helpers/requests.js'

const ALL = ['headers', 'cookies', 'json', 'query'] as const
const manager = (options: TokenConfigOptions) => createManager(options).tokens
const tokens = manager({ JWT_TOKEN_LOCATION: ALL })
const ACCESS = tokens.createAccessToken({ uid: 'ada' })
const REFRESH = tokens.createRefreshToken({ uid: 'ada' })

/** A POST with one token in each of the given places. */
function withTokens(places: Partial<Record<TokenLocation, string>>): Request {
  const { headers, cookies, json, query } = places
  const options: RequestOptions = {
    method: 'POST',
    path: query === undefined ? '/' : `/?token=${query}`,
    headers: {
      'content-type': 'application/json',
      'x-csrf-token': csrfOf(ACCESS),
      ...(headers !== undefined && { authorization: `Bearer ${headers}` }),
    },
    ...(cookies !== undefined && { cookies: { access_token_cookie: cookies } }),
    body: JSON.stringify(json === undefined ? {} : { access_token: json }),
  }
  return createRequest(options)
}

describe('several locations', () => {
  test.each(ALL)('with all four configured a token in %s is found and passes', async (location) => {
    const request = withTokens({ [location]: ACCESS })
    await expect(tokens.getTokenFromRequest(request)).resolves.toMatchObject({ token: ACCESS, location })
    await expect(tokens.accessTokenRequired(request)).resolves.toMatchObject({ sub: 'ada' })
  })

  test.each(ALL)('JWT_TOKEN_LOCATION %s: the other three are not read', async (location) => {
    const only = manager({ JWT_TOKEN_LOCATION: location })
    const everywhere = { headers: 'H', cookies: 'C', json: 'J', query: 'Q' }
    const found = await only.getTokenFromRequest(withTokens(everywhere))
    expect(found).toMatchObject({ token: everywhere[location], location })
    const others = { ...everywhere, [location]: undefined }
    await expect(only.getTokenFromRequest(withTokens(others))).resolves.toBeNull()
  })

  test.each([
    [['headers', 'cookies', 'json', 'query'], 'H'],
    [['cookies', 'headers'], 'C'],
    [['json', 'query', 'headers'], 'J'],
    [['query', 'json', 'cookies', 'headers'], 'Q'],
  ] as const)('with tokens everywhere the first of %j wins', async (locations, token) => {
    const request = withTokens({ headers: 'H', cookies: 'C', json: 'J', query: 'Q' })
    const found = await manager({ JWT_TOKEN_LOCATION: locations }).getTokenFromRequest(request)
    expect(found).toMatchObject({ token, location: locations[0] })
  })

  test.each([
    ['headers', { headers: 'bad', cookies: ACCESS, json: ACCESS, query: ACCESS }],
    ['cookies', { cookies: 'bad', json: ACCESS, query: ACCESS }],
    ['json', { json: 'bad', query: ACCESS }],
  ])('a bad token in %s is an error although a later location has a good one', async (_, places) => {
    await expect(tokens.accessTokenRequired(withTokens(places))).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
    })
    await expect(tokens.accessTokenOptional(withTokens(places))).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
    })
  })

  test('so is one that expired or has the wrong type', async () => {
    const { tokens, clock } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'query'] })
    const old = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: '1m' })
    clock.seconds += 60
    const expired = createRequest({ path: `/?token=${ACCESS}`, headers: { authorization: `Bearer ${old}` } })
    await expect(tokens.accessTokenRequired(expired)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
    const wrong = createRequest({
      path: `/?token=${ACCESS}`,
      headers: { authorization: `Bearer ${REFRESH}` },
    })
    await expect(tokens.accessTokenRequired(wrong)).rejects.toMatchObject({ code: 'ACCESS_TOKEN_REQUIRED' })
  })
})

describe('locations of one call or route', () => {
  const request = () => withTokens({ headers: 'H', cookies: 'C', json: 'J', query: 'Q' })

  test('replace the configured order', async () => {
    const options = { locations: ['query', 'headers'] } as const
    await expect(tokens.getTokenFromRequest(request(), options)).resolves.toMatchObject({ token: 'Q' })
    const route = tokens.require({ locations: ['json', 'headers'] })
    await expect(route(withTokens({ headers: 'bad', json: ACCESS }))).resolves.toMatchObject({ sub: 'ada' })
  })

  test('replace the configured set', async () => {
    const headersOnly = manager({})
    const options = { locations: ['query'] } as const
    await expect(headersOnly.getTokenFromRequest(request(), options)).resolves.toMatchObject({ token: 'Q' })
    const route = headersOnly.require(options)
    await expect(route(withTokens({ query: ACCESS }))).resolves.toMatchObject({ sub: 'ada' })
    await expect(route(withTokens({ headers: ACCESS }))).rejects.toBeInstanceOf(MissingTokenError)
  })

  test('hold for refresh tokens too', async () => {
    const route = manager({}).require({ type: 'refresh', locations: ['query'] })
    await expect(route(createRequest({ path: `/?token=${REFRESH}` }))).resolves.toMatchObject({
      type: 'refresh',
    })
  })

  test('a route restricted to headers refuses a cookie token, and the reverse', async () => {
    const inHeader = withTokens({ headers: ACCESS })
    const inCookie = withTokens({ cookies: ACCESS })
    const headers = tokens.require({ locations: ['headers'] })
    const cookies = tokens.require({ locations: ['cookies'] })
    await expect(headers(inHeader)).resolves.toMatchObject({ sub: 'ada' })
    await expect(cookies(inCookie)).resolves.toMatchObject({ sub: 'ada' })
    await expect(headers(inCookie)).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
    await expect(cookies(inHeader)).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
  })

  test('an empty list finds nothing', async () => {
    await expect(tokens.getTokenFromRequest(request(), { locations: [] })).resolves.toBeNull()
    await expect(tokens.require({ locations: [] })(request())).rejects.toBeInstanceOf(MissingTokenError)
    await expect(tokens.require({ locations: [], optional: true })(request())).resolves.toBeNull()
  })
})

describe('the error for no token', () => {
  test('names every place that was tried, by its configured name', async () => {
    const custom = manager({
      JWT_TOKEN_LOCATION: ALL,
      JWT_HEADER_NAME: 'X-My-Header',
      JWT_ACCESS_COOKIE_NAME: 'my_cookie',
      JWT_JSON_KEY: 'my_key',
      JWT_QUERY_STRING_NAME: 'my_parameter',
    })
    const refused = custom.accessTokenRequired(createRequest())
    for (const name of ['X-My-Header', 'my_cookie', 'my_key', 'my_parameter'])
      await expect(refused).rejects.toThrow(name)
  })

  test('names no place that was not', async () => {
    const refused = tokens.require({ locations: ['query'] })(createRequest())
    await expect(refused).rejects.toThrow('query')
    await expect(refused).rejects.not.toThrow(/header|cookie|json/i)
  })

  test('names the places of both types where either would do', async () => {
    const refused = tokens.tokenRequired(createRequest())
    for (const name of ['access_token_cookie', 'refresh_token_cookie', 'refresh_token of'])
      await expect(refused).rejects.toThrow(name)
  })
})

describe('refresh tokens', () => {
  test('headers alone serve refresh routes too', async () => {
    const headersOnly = manager({})
    await expect(headersOnly.refreshTokenRequired(withBearer(REFRESH))).resolves.toMatchObject({
      type: 'refresh',
    })
  })

  test('JWT_REFRESH_TOKEN_LOCATION: refresh tokens are looked for there and nowhere else', async () => {
    const split = manager({ JWT_TOKEN_LOCATION: 'headers', JWT_REFRESH_TOKEN_LOCATION: ['query'] })
    const inQuery = (token: string) => createRequest({ path: `/?token=${token}` })
    await expect(split.refreshTokenRequired(inQuery(REFRESH))).resolves.toMatchObject({ type: 'refresh' })
    await expect(split.refreshTokenRequired(withBearer(REFRESH))).rejects.toMatchObject({
      code: 'TOKEN_MISSING',
    })
    await expect(split.accessTokenRequired(withBearer(ACCESS))).resolves.toMatchObject({ type: 'access' })
    await expect(split.accessTokenRequired(inQuery(ACCESS))).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
    await expect(split.tokenRequired(inQuery(REFRESH))).resolves.toMatchObject({ type: 'refresh' })
    await expect(split.tokenRequired(withBearer(ACCESS))).resolves.toMatchObject({ type: 'access' })
  })
})
