import { describe, expect, test } from 'vitest'
import { MissingTokenError, type TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { TokenDecodeError } from '../../packages/tokenlib/src/errors.js'
import { createManager } from '../helpers/manager.js'
import { createJsonRequest, createRequest } from '../helpers/requests.js'

const manager = (options: TokenConfigOptions) => createManager(options).tokens

describe('the query string', () => {
  const tokens = manager({ JWT_TOKEN_LOCATION: 'query' })
  const ACCESS = tokens.createAccessToken({ uid: 'ada' })
  const at = (path: string): Request => createRequest({ path })

  test('?token= yields the location query', async () => {
    const found = await tokens.getTokenFromRequest(at(`/?token=${ACCESS}`))
    expect({ ...found }).toEqual({ token: ACCESS, type: 'access', location: 'query', csrf: null })
    await expect(tokens.accessTokenRequired(at(`/?token=${ACCESS}`))).resolves.toMatchObject({ sub: 'ada' })
  })

  test.each(['/?a=1&token=T&b=2', '/?token=T#token=U', '/?%74oken=T', '/?x=?&token=T'])(
    'the parameter is found in %s',
    async (path) => {
      await expect(tokens.getTokenFromRequest(at(path))).resolves.toMatchObject({ token: 'T' })
    },
  )

  test('the path and query that a Node server gets are read too', async () => {
    const found = await tokens.getTokenFromRequest({ url: '/me?token=T', headers: {} })
    expect(found).toMatchObject({ token: 'T', location: 'query' })
  })

  test.each([
    '/',
    '/?',
    '/?token',
    '/?token=',
    '/?tokens=T',
    '/?Token=T',
    '/?a=token=T',
    '/token=T',
    '/#?token=T',
  ])('there is none in %s', async (path) => {
    await expect(tokens.getTokenFromRequest({ url: path, headers: {} })).resolves.toBeNull()
    await expect(tokens.accessTokenRequired({ url: path, headers: {} })).rejects.toBeInstanceOf(
      MissingTokenError,
    )
  })

  test('JWT_QUERY_STRING_NAME: the custom name is read and the default one ignored', async () => {
    const custom = manager({ JWT_TOKEN_LOCATION: 'query', JWT_QUERY_STRING_NAME: 'jwt' })
    await expect(custom.getTokenFromRequest(at('/?jwt=T&token=U'))).resolves.toMatchObject({ token: 'T' })
    await expect(custom.getTokenFromRequest(at('/?token=U'))).resolves.toBeNull()
  })

  test('the query is not read unless it is configured', async () => {
    await expect(manager({}).getTokenFromRequest(at(`/?token=${ACCESS}`))).resolves.toBeNull()
  })

  test('a refresh token in the query passes a refresh route', async () => {
    const request = at(`/?token=${tokens.createRefreshToken({ uid: 'ada' })}`)
    await expect(tokens.refreshTokenRequired(request)).resolves.toMatchObject({ type: 'refresh' })
  })

  test.each(['T&token=U', 'T&token=T', 'T&token=', '&token=T'])(
    'a parameter sent twice is refused: ?token=%s',
    async (rest) => {
      await expect(tokens.getTokenFromRequest(at(`/?token=${rest}`))).rejects.toBeInstanceOf(TokenDecodeError)
    },
  )
})

describe('the JSON body', () => {
  const tokens = manager({ JWT_TOKEN_LOCATION: 'json' })
  const ACCESS = tokens.createAccessToken({ uid: 'ada' })
  const REFRESH = tokens.createRefreshToken({ uid: 'ada' })
  const find = (body: unknown, contentType?: string) =>
    tokens.getTokenFromRequest(createJsonRequest(body, contentType))

  test('access_token yields the location json, and needs no CSRF value', async () => {
    const request = createJsonRequest({ access_token: ACCESS })
    const found = await tokens.getTokenFromRequest(request)
    expect({ ...found }).toEqual({ token: ACCESS, type: 'access', location: 'json', csrf: null })
    await expect(tokens.accessTokenRequired(request)).resolves.toMatchObject({ sub: 'ada' })
  })

  test('refresh_token is used for refresh reads, access_token is not', async () => {
    const both = { access_token: ACCESS, refresh_token: REFRESH }
    await expect(tokens.refreshTokenRequired(createJsonRequest(both))).resolves.toMatchObject({
      type: 'refresh',
    })
    const onlyAccess = createJsonRequest({ access_token: REFRESH })
    await expect(tokens.refreshTokenRequired(onlyAccess)).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'text/json',
    'application/jsonp',
    'json',
    '',
  ])('the content type %j is not JSON', async (type) => {
    await expect(find({ access_token: ACCESS }, type)).resolves.toBeNull()
    const request = createJsonRequest({ access_token: ACCESS }, type)
    await expect(tokens.accessTokenRequired(request)).rejects.toBeInstanceOf(MissingTokenError)
  })

  test.each([
    'application/json; charset=UTF-8',
    'application/json;charset=utf-8',
    'Application/JSON',
    ' application/json ; x=y',
    'application/vnd.api+json',
  ])('the content type %j is JSON', async (type) => {
    await expect(find({ access_token: ACCESS }, type)).resolves.toMatchObject({ token: ACCESS })
  })

  test('JWT_JSON_KEY and JWT_REFRESH_JSON_KEY: only the custom keys are read', async () => {
    const custom = manager({ JWT_TOKEN_LOCATION: 'json', JWT_JSON_KEY: 'a', JWT_REFRESH_JSON_KEY: 'r' })
    const named = createJsonRequest({ a: ACCESS, r: REFRESH })
    await expect(custom.accessTokenRequired(named)).resolves.toMatchObject({ type: 'access' })
    await expect(custom.refreshTokenRequired(named)).resolves.toMatchObject({ type: 'refresh' })
    const standard = createJsonRequest({ access_token: ACCESS, refresh_token: REFRESH })
    await expect(custom.accessTokenRequired(standard)).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
    await expect(custom.refreshTokenRequired(standard)).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'the key may be %s, and is then only what the body says',
    async (key) => {
      const custom = manager({ JWT_TOKEN_LOCATION: 'json', JWT_JSON_KEY: key })
      const found = await custom.getTokenFromRequest(createJsonRequest(`{"${key}":"T"}`))
      expect(found).toMatchObject({ token: 'T', location: 'json' })
      await expect(custom.getTokenFromRequest(createJsonRequest('{}'))).resolves.toBeNull()
    },
  )

  test.each([42, 0, true, false, ['T'], { token: 'T' }, {}, []])(
    'a token that is %j is refused',
    async (value) => {
      await expect(find({ access_token: value })).rejects.toBeInstanceOf(TokenDecodeError)
    },
  )

  test.each([
    ['empty', { access_token: '' }],
    ['null', { access_token: null }],
    ['under another key', { token: ACCESS }],
    ['nested', { data: { access_token: ACCESS } }],
    ['in a list', [{ access_token: ACCESS }]],
    ['in a list with names', ['access_token', ACCESS]],
    ['the body itself', JSON.stringify(ACCESS)],
    ['in a body of null', 'null'],
    ['in an empty body', ''],
    ['in a malformed body', `{"access_token":"${ACCESS}"`],
    ['in a prototype', `{"__proto__":{"access_token":"${ACCESS}"}}`],
  ])('a token %s is absent', async (_, body) => {
    await expect(find(body)).resolves.toBeNull()
  })
})
