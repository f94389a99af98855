import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  setAccessCookies,
  type TokenConfigOptions,
} from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'

const CRLF = 'a\r\nSet-Cookie: x=y'

describe('a cookie that a browser would drop is refused when the manager is built', () => {
  const NAMES = ['JWT_ACCESS_COOKIE_NAME', 'JWT_REFRESH_COOKIE_NAME', 'JWT_ACCESS_CSRF_COOKIE_NAME'] as const

  // RFC 6265bis §4.1.3.
  test.each(NAMES)('a __Host- or __Secure- name in %s needs what it promises', (field) => {
    const path = field.replace('_NAME', '_PATH')
    const host: TokenConfigOptions = { [field]: '__Host-x' }
    expect(() => createManager(host)).not.toThrow()
    expect(() => createManager({ ...host, JWT_COOKIE_SECURE: false })).toThrow(ConfigurationError)
    expect(() => createManager({ ...host, JWT_COOKIE_DOMAIN: 'example.com' })).toThrow(ConfigurationError)
    expect(() => createManager({ ...host, [path]: '/app' })).toThrow(ConfigurationError)
    expect(() => createManager({ [field]: '__host-x', [path]: '/app' })).toThrow(ConfigurationError)

    const secure: TokenConfigOptions = { [field]: '__Secure-x' }
    expect(() => createManager({ ...secure, JWT_COOKIE_DOMAIN: 'example.com', [path]: '/app' })).not.toThrow()
    expect(() => createManager({ ...secure, JWT_COOKIE_SECURE: false })).toThrow(ConfigurationError)
    expect(() => createManager({ [field]: '__SECURE-x', JWT_COOKIE_SECURE: false })).toThrow(
      ConfigurationError,
    )
  })

  test('SameSite=None needs Secure', () => {
    expect(() => createManager({ JWT_COOKIE_SAMESITE: 'none' })).not.toThrow()
    const insecure = { JWT_COOKIE_SAMESITE: 'none', JWT_COOKIE_SECURE: false } as const
    expect(() => createManager(insecure)).toThrow(ConfigurationError)
  })

  test('a lifetime needs JWT_SESSION_COOKIE off', () => {
    expect(() => createManager({ JWT_COOKIE_MAX_AGE: 60 })).toThrow(ConfigurationError)
    expect(() => createManager({ JWT_COOKIE_MAX_AGE: 60, JWT_SESSION_COOKIE: false })).not.toThrow()
  })

  test('two cookies cannot share a name', () => {
    expect(() => createManager({ JWT_ACCESS_COOKIE_NAME: 'x', JWT_REFRESH_COOKIE_NAME: 'x' })).toThrow(
      ConfigurationError,
    )
    expect(() => createManager({ JWT_ACCESS_CSRF_COOKIE_NAME: 'access_token_cookie' })).toThrow(
      ConfigurationError,
    )
  })

  test.each(['', 'a b', 'a;b', 'a=b', 'a,b', 'é', '\u00a0a', CRLF])('no cookie is called %j', (name) => {
    for (const field of NAMES) expect(() => createManager({ [field]: name })).toThrow(ConfigurationError)
  })

  test.each(['', 'app', '/;x', '/a; Domain=evil.example', '/é', `/${CRLF}`])('no path is %j', (path) => {
    for (const field of NAMES)
      expect(() => createManager({ [field.replace('_NAME', '_PATH')]: path })).toThrow(ConfigurationError)
  })

  test.each([
    '',
    'exa mple.com',
    'example.com; Secure',
    'example..com',
    'http://example.com',
    'example.com:80',
    'exämple.com',
    CRLF,
    // RFC 1123 §2.1: a label starts and ends with a letter or digit, and has at most 63 characters.
    '-example.com',
    'example-.com',
    `${'a'.repeat(64)}.com`,
  ])('no domain is %j', (domain) => {
    expect(() => createManager({ JWT_COOKIE_DOMAIN: domain })).toThrow(ConfigurationError)
  })

  test.each(['example.com', '.example.com', 'a.b-c.example', 'localhost', 'EXAMPLE.com'])(
    'a domain may be %j',
    (domain) => {
      const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies', JWT_COOKIE_DOMAIN: domain })
      const [cookie] = setAccessCookies(tokens, tokens.createAccessToken({ uid: 'ada' }))
      expect(cookie).toContain(`; Domain=${domain}`)
    },
  )

  test.each(['Lax', 'strict; Secure', '', 'default'])('no SameSite is %j', (value) => {
    expect(() => createManager({ JWT_COOKIE_SAMESITE: value as 'lax' })).toThrow(ConfigurationError)
  })

  test.each([0, -1, '60', '1 h', '500ms', Number.NaN, Infinity])('no lifetime is %j', (age) => {
    expect(() => createManager({ JWT_SESSION_COOKIE: false, JWT_COOKIE_MAX_AGE: age })).toThrow(
      ConfigurationError,
    )
  })
})
