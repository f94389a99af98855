import { describe, expect, test, vi } from 'vitest'
import {
  ConfigurationError,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { keyPairFor } from '../helpers/keys.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createManager, SECRET } from '../helpers/manager.js'

describe('a wrong value is an error that names the field', () => {
  test.each<[options: TokenConfigOptions, named: string[]]>([
    [{ JWT_ACCESS_CSRF_COOKIE_NAME: 'access_token_cookie' }, []],
    [{ JWT_COOKIE_SAMESITE: 'none', JWT_COOKIE_SECURE: false }, ['JWT_COOKIE_SAMESITE', 'JWT_COOKIE_SECURE']],
    [
      { JWT_CSRF_ORIGINS: 'https://app.example', JWT_COOKIE_CSRF_PROTECT: false },
      ['JWT_CSRF_ORIGINS', 'JWT_COOKIE_CSRF_PROTECT'],
    ],
    [{ JWT_COOKIE_MAX_AGE: '1d' }, ['JWT_COOKIE_MAX_AGE', 'JWT_SESSION_COOKIE']],
    [{ JWT_ACCESS_COOKIE_NAME: '__Secure-a', JWT_COOKIE_SECURE: false }, ['__Secure-a', 'JWT_COOKIE_SECURE']],
    [
      { JWT_ACCESS_COOKIE_NAME: '__Host-a', JWT_COOKIE_DOMAIN: 'app.example' },
      ['__Host-a', 'JWT_COOKIE_SECURE', 'JWT_COOKIE_DOMAIN'],
    ],
    [{ JWT_IDENTITY_CLAIM: 'exp' }, ['JWT_IDENTITY_CLAIM', 'exp']],
    [{ JWT_ERROR_MESSAGE_KEY: 'code' }, ['JWT_ERROR_MESSAGE_KEY']],
  ])('%o', (options, named) => {
    const build = () => createManager(options)
    expect(build).toThrow(ConfigurationError)
    for (const name of named) expect(build).toThrow(name)
  })

  test('an unknown field, a missing config and a thing that is no store are named', () => {
    const misspelt = () => new TokenConfig({ JWT_SECRT_KEY: SECRET } as never)
    expect(misspelt).toThrow(ConfigurationError)
    expect(misspelt).toThrow(/"JWT_SECRT_KEY".*"JWT_SECRET_KEY"/)
    expect(() => new TokenManager({} as never)).toThrow(ConfigurationError)
    expect(() => new TokenManager({} as never)).toThrow('config')
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    const build = (revocation: object) => () => new TokenManager({ config, store: revocation as never })
    expect(build({ lookup() {}, close() {} })).toThrow(/store.*prepare, revoke, claim, feed, prune/)
    expect(build({ ...createMemoryStore(), sessions: { open() {} } })).toThrow(
      /store.*sessions\.rotate, sessions\.present, sessions\.list, sessions\.get/,
    )
  })

  test('a database client in place of a store is named, and not connected', () => {
    const connect = vi.fn()
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    expect(() => new TokenManager({ config, store: { connect } as never })).toThrow(/lookup/)
    expect(connect).not.toHaveBeenCalled()
  })
})

test('the defaults are those that the documentation lists', () => {
  expect({ ...new TokenConfig() }).toEqual({
    JWT_SECRET_KEY: null,
    JWT_PREVIOUS_SECRET_KEY: null,
    JWT_PRIVATE_KEY: null,
    JWT_PRIVATE_KEY_PASSPHRASE: null,
    JWT_PUBLIC_KEY: null,
    JWT_PREVIOUS_PUBLIC_KEY: null,
    JWT_ALGORITHM: 'HS256',
    JWT_DECODE_ALGORITHMS: null,
    JWT_ACCESS_TOKEN_EXPIRES: '15m',
    JWT_REFRESH_TOKEN_EXPIRES: '20d',
    JWT_ENCODE_ISSUER: null,
    JWT_DECODE_ISSUER: null,
    JWT_ENCODE_AUDIENCE: null,
    JWT_ACCESS_TOKEN_TYP: 'JWT',
    JWT_CLIENT_ID: null,
    JWT_DECODE_AUDIENCE: null,
    JWT_DECODE_LEEWAY: 0,
    JWT_REQUIRED_CLAIMS: null,
    JWT_MAX_TOKEN_AGE: null,
    JWT_ENCODE_NBF: true,
    JWT_TOKEN_LOCATION: ['headers'],
    JWT_REFRESH_TOKEN_LOCATION: null,
    JWT_HEADER_NAME: 'Authorization',
    JWT_HEADER_TYPE: 'Bearer',
    JWT_ACCESS_COOKIE_NAME: 'access_token_cookie',
    JWT_ACCESS_COOKIE_PATH: '/',
    JWT_REFRESH_COOKIE_NAME: 'refresh_token_cookie',
    JWT_REFRESH_COOKIE_PATH: '/',
    JWT_COOKIE_SECURE: true,
    JWT_COOKIE_HTTP_ONLY: true,
    JWT_COOKIE_SAMESITE: 'lax',
    JWT_COOKIE_DOMAIN: null,
    JWT_COOKIE_MAX_AGE: null,
    JWT_SESSION_COOKIE: true,
    JWT_COOKIE_CSRF_PROTECT: true,
    JWT_CSRF_IN_COOKIES: true,
    JWT_CSRF_METHODS: ['POST', 'PUT', 'PATCH', 'DELETE'],
    JWT_CSRF_CHECK_FORM: false,
    JWT_CSRF_ORIGINS: null,
    JWT_ACCESS_CSRF_COOKIE_NAME: 'csrf_access_token',
    JWT_ACCESS_CSRF_COOKIE_PATH: '/',
    JWT_ACCESS_CSRF_HEADER_NAME: 'X-CSRF-TOKEN',
    JWT_ACCESS_CSRF_FIELD_NAME: 'csrf_token',
    JWT_QUERY_STRING_NAME: 'token',
    JWT_JSON_KEY: 'access_token',
    JWT_REFRESH_JSON_KEY: 'refresh_token',
    JWT_IDENTITY_CLAIM: 'sub',
    JWT_ERROR_MESSAGE_KEY: 'message',
    JWT_MAX_TOKEN_LENGTH: 8192,
    JWT_REVOCATION_TIMEOUT: '250ms',
    JWT_REFRESH_GRACE: '60s',
    JWT_REFRESH_IDLE_EXPIRES: false,
    JWT_VERIFIED_CACHE_SIZE: 10_000,
    JWT_ALLOW_WEAK_SECRET: false,
  })
})

describe('bounds', () => {
  test.each<[TokenConfigOptions, TokenConfigOptions]>([
    [{ JWT_REVOCATION_TIMEOUT: 3600 }, { JWT_REVOCATION_TIMEOUT: 3601 }],
    [{ JWT_REVOCATION_TIMEOUT: '1ms' }, { JWT_REVOCATION_TIMEOUT: 0 }],
    [{ JWT_COOKIE_MAX_AGE: 1 }, { JWT_COOKIE_MAX_AGE: 0.9 }],
    [{ JWT_MAX_TOKEN_LENGTH: 1 }, { JWT_MAX_TOKEN_LENGTH: 0 }],
    [{ JWT_VERIFIED_CACHE_SIZE: 0 }, { JWT_VERIFIED_CACHE_SIZE: -1 }],
    [{ JWT_ACCESS_TOKEN_EXPIRES: 1 }, { JWT_ACCESS_TOKEN_EXPIRES: '999ms' }],
    [{ JWT_COOKIE_DOMAIN: '.app.example' }, { JWT_COOKIE_DOMAIN: '..app.example' }],
    [{ JWT_COOKIE_DOMAIN: 'a-b.Example' }, { JWT_COOKIE_DOMAIN: 'a-.example' }],
    [{ JWT_COOKIE_DOMAIN: 'a'.repeat(63) }, { JWT_COOKIE_DOMAIN: 'a'.repeat(64) }],
    [{ JWT_COOKIE_DOMAIN: 'app.example' }, { JWT_COOKIE_DOMAIN: 'app.example.' }],
    [{ JWT_ACCESS_COOKIE_PATH: '/a:b' }, { JWT_ACCESS_COOKIE_PATH: 'x/a' }],
    [{ JWT_HEADER_TYPE: 'Token' }, { JWT_HEADER_TYPE: ' Token' }],
  ])('%o is taken, %o is not', (good, bad) => {
    expect(() => new TokenConfig(good)).not.toThrow()
    expect(() => new TokenConfig(bad)).toThrow(ConfigurationError)
  })
})

test('what is shown has the keys hidden that were given, and says of the others that they were not', () => {
  const { privateKey, publicKey } = keyPairFor('ES256')
  const config = new TokenConfig({
    JWT_SECRET_KEY: SECRET,
    JWT_PRIVATE_KEY: privateKey,
    JWT_PRIVATE_KEY_PASSPHRASE: 'of the key',
    JWT_PREVIOUS_PUBLIC_KEY: publicKey,
  })
  expect(config.toJSON()).toMatchObject({
    JWT_SECRET_KEY: '[hidden]',
    JWT_PREVIOUS_SECRET_KEY: null,
    JWT_PRIVATE_KEY: '[hidden]',
    JWT_PRIVATE_KEY_PASSPHRASE: '[hidden]',
    JWT_PUBLIC_KEY: null,
    JWT_PREVIOUS_PUBLIC_KEY: '[hidden]',
    JWT_HEADER_NAME: 'Authorization',
    JWT_JSON_KEY: 'access_token',
    JWT_ERROR_MESSAGE_KEY: 'message',
  })
})

test('hasLocation can be asked about one type', () => {
  const config = new TokenConfig({ JWT_TOKEN_LOCATION: 'headers', JWT_REFRESH_TOKEN_LOCATION: 'cookies' })
  expect(config.hasLocation('headers', 'access')).toBe(true)
  expect(config.hasLocation('headers', 'refresh')).toBe(false)
  expect(config.hasLocation('cookies', 'access')).toBe(false)
  expect(config.hasLocation('cookies', 'refresh')).toBe(true)
  expect(config.hasLocation('cookies')).toBe(true)
})

describe('in a variable', () => {
  const read = (name: keyof TokenConfigOptions, text: string) =>
    TokenConfig.fromEnv({}, { [name]: text })[name]

  test.each<[keyof TokenConfigOptions, string, unknown]>([
    ['JWT_DECODE_LEEWAY', '100:01:02', 360_062],
    ['JWT_DECODE_LEEWAY', ' 00:00:05 ', 5],
    ['JWT_DECODE_LEEWAY', ' 5s ', '5s'],
    ['JWT_MAX_TOKEN_LENGTH', ' 4096 ', 4096],
    ['JWT_ENCODE_NBF', ' FALSE ', false],
    ['JWT_ACCESS_TOKEN_EXPIRES', 'no', false],
    ['JWT_TOKEN_LOCATION', ' headers ', 'headers'],
    ['JWT_TOKEN_LOCATION', ' ["json"]', ['json']],
    ['JWT_SECRET_KEY', 'a\\nb', 'a\\nb'],
    ['JWT_PRIVATE_KEY', '-----BEGIN X-----\\nabc\\n', '-----BEGIN X-----\nabc\n'],
  ])('%s=%j is %j', (name, text, value) => {
    expect(read(name, text)).toEqual(value)
  })

  test.each<[keyof TokenConfigOptions, string]>([
    ['JWT_DECODE_LEEWAY', '1000:00:00'],
    ['JWT_DECODE_LEEWAY', '00:60:00'],
    ['JWT_DECODE_LEEWAY', '00:00:60'],
    ['JWT_DECODE_LEEWAY', 'x00:00:05'],
    ['JWT_DECODE_LEEWAY', '00:00:05x'],
    ['JWT_DECODE_LEEWAY', '5 0'],
    ['JWT_MAX_TOKEN_LENGTH', '1e3'],
    ['JWT_MAX_TOKEN_LENGTH', 'x1'],
    ['JWT_MAX_TOKEN_LENGTH', ''],
    ['JWT_ENCODE_NBF', 'constructor'],
  ])('%s=%j is refused', (name, text) => {
    expect(() => read(name, text)).toThrow(ConfigurationError)
  })
})
