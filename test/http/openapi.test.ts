import { expect, test } from 'vitest'
import { securityRequirements, securitySchemes, TokenConfig } from '../../packages/tokenlib/src/index.js'

test('a bearer token in the Authorization header is an http scheme', () => {
  const config = new TokenConfig()
  expect(securitySchemes(config)).toEqual({
    bearerAuth: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
  })
  expect(securityRequirements(config)).toEqual([{ bearerAuth: [] }])
})

test('another header, or one without a scheme, is an API key', () => {
  expect(securitySchemes(new TokenConfig({ JWT_HEADER_NAME: 'X-Token' }))).toEqual({
    bearerAuth: { type: 'apiKey', in: 'header', name: 'X-Token' },
  })
  expect(securitySchemes(new TokenConfig({ JWT_HEADER_TYPE: '' }))).toEqual({
    bearerAuth: { type: 'apiKey', in: 'header', name: 'Authorization' },
  })
  expect(securitySchemes(new TokenConfig({ JWT_HEADER_TYPE: 'JWT' }))).toMatchObject({
    bearerAuth: { scheme: 'jwt' },
  })
})

test('every location of access tokens is an alternative, and a cookie needs its CSRF value where methods say so', () => {
  const config = new TokenConfig({
    JWT_TOKEN_LOCATION: ['cookies', 'query', 'json'],
    JWT_REFRESH_TOKEN_LOCATION: ['headers'],
    JWT_ACCESS_COOKIE_NAME: 'session',
    JWT_QUERY_STRING_NAME: 't',
    JWT_ACCESS_CSRF_HEADER_NAME: 'X-Double',
    JWT_CSRF_METHODS: ['post'],
  })
  expect(securitySchemes(config)).toEqual({
    bearerAuth: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    cookieAuth: { type: 'apiKey', in: 'cookie', name: 'session' },
    csrfToken: { type: 'apiKey', in: 'header', name: 'X-Double' },
    queryAuth: { type: 'apiKey', in: 'query', name: 't' },
  })
  expect(securityRequirements(config)).toEqual([{ cookieAuth: [] }, { queryAuth: [] }])
  expect(securityRequirements(config, 'post')).toEqual([{ cookieAuth: [], csrfToken: [] }, { queryAuth: [] }])
  expect(securityRequirements(config, 'DELETE')).toEqual([{ cookieAuth: [] }, { queryAuth: [] }])
})

test('without CSRF protection there is no CSRF scheme', () => {
  const config = new TokenConfig({ JWT_TOKEN_LOCATION: 'cookies', JWT_COOKIE_CSRF_PROTECT: false })
  expect(Object.keys(securitySchemes(config))).toEqual(['cookieAuth', 'refreshCookieAuth'])
  expect(securityRequirements(config, 'POST')).toEqual([{ cookieAuth: [] }])
})

const BOTH = new TokenConfig({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })

test('a refresh token has its own cookie, and shares what is sent the same way', () => {
  expect(securitySchemes(BOTH)).toEqual({
    bearerAuth: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    cookieAuth: { type: 'apiKey', in: 'cookie', name: 'access_token_cookie' },
    refreshCookieAuth: { type: 'apiKey', in: 'cookie', name: 'refresh_token_cookie' },
    csrfToken: { type: 'apiKey', in: 'header', name: 'X-CSRF-TOKEN' },
  })
  expect(securityRequirements(BOTH, 'GET', 'refresh')).toEqual([
    { bearerAuth: [] },
    { refreshCookieAuth: [] },
  ])
  expect(securityRequirements(BOTH, 'POST', 'refresh')).toEqual([
    { bearerAuth: [] },
    { refreshCookieAuth: [], csrfToken: [] },
  ])
  expect(securityRequirements(BOTH, 'GET', 'any')).toEqual([
    { bearerAuth: [] },
    { cookieAuth: [] },
    { refreshCookieAuth: [] },
  ])
})

test('each type has the schemes of its own locations', () => {
  const config = new TokenConfig({
    JWT_TOKEN_LOCATION: 'headers',
    JWT_REFRESH_TOKEN_LOCATION: ['cookies', 'json'],
  })
  expect(Object.keys(securitySchemes(config)).toSorted()).toEqual([
    'bearerAuth',
    'csrfToken',
    'refreshCookieAuth',
  ])
  expect(securityRequirements(config)).toEqual([{ bearerAuth: [] }])
  expect(securityRequirements(config, 'GET', 'refresh')).toEqual([{ refreshCookieAuth: [] }])
})
