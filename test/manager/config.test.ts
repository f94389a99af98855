import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { CONFIG_NAMES } from '../../packages/tokenlib/src/config/config-table.js'
import { keyPairFor } from '../helpers/keys.js'
import { createManager, openToken, SECRET } from '../helpers/manager.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'
import { naming } from '../helpers/naming.js'

describe('building', () => {
  test('a field can be set until the manager is built, and never after', () => {
    const config = new TokenConfig()
    config.JWT_SECRET_KEY = SECRET
    const tokens = new TokenManager({ config })
    expect(internalsOf(tokens).verifyWithoutRevocation(tokens.createAccessToken({ uid: 'u' })).sub).toBe('u')
    expect(() => {
      config.JWT_SECRET_KEY = 'another'
    }).toThrow(TypeError)
  })

  test.each(['COOKIE_NAME', 'COOKIE_PATH', 'HEADER_NAME', 'FIELD_NAME'])(
    'a CSRF %s for refresh tokens leads to the one of both types',
    (name) => {
      const build = () => new TokenConfig({ [`JWT_REFRESH_CSRF_${name}`]: 'x' })
      expect(build).toThrow(`did you mean "JWT_ACCESS_CSRF_${name}"?`)
    },
  )

  test('an unknown field is refused, in the constructor and by assignment', () => {
    expect(() => new TokenConfig({ JWT_SECRT_KEY: SECRET } as never)).toThrow(ConfigurationError)
    expect(() => Object.assign(new TokenConfig(), { JWT_SECRT_KEY: SECRET })).toThrow(TypeError)
  })

  test('a manager without a config or a secret cannot be built', () => {
    expect(() => new TokenManager({ config: new TokenConfig() })).toThrow(
      naming('ConfigurationError', 'JWT_SECRET_KEY'),
    )
    expect(() => new TokenManager({} as never)).toThrow(ConfigurationError)
    expect(() => new TokenManager(undefined as never)).toThrow(ConfigurationError)
    expect(() => new TokenManager({ config: { JWT_SECRET_KEY: SECRET } as never })).toThrow(
      ConfigurationError,
    )
  })

  test('what is wrong by assignment is noticed when the manager is built', () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    config.JWT_ACCESS_TOKEN_EXPIRES = '900'
    expect(() => new TokenManager({ config })).toThrow(ConfigurationError)
  })

  test('a configuration that was refused can be fixed', () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: 'too short' })
    expect(() => new TokenManager({ config })).toThrow(ConfigurationError)
    config.JWT_SECRET_KEY = SECRET
    expect(new TokenManager({ config }).createAccessToken({ uid: 'u' })).toEqual(expect.any(String))
  })

  test('one configuration may serve several managers', () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    const [one, two] = [new TokenManager({ config }), new TokenManager({ config })]
    expect(internalsOf(two).verifyWithoutRevocation(one.createAccessToken({ uid: 'u' })).sub).toBe('u')
  })

  test('undefined means the default, so an absent variable can be passed on', () => {
    expect(new TokenConfig({ JWT_HEADER_NAME: undefined }).JWT_HEADER_NAME).toBe('Authorization')
  })

  test('configurations share nothing, lists included', () => {
    const one = new TokenConfig()
    ;(one.JWT_TOKEN_LOCATION as string[]).push('query')
    ;(one.JWT_CSRF_METHODS as string[]).length = 0
    expect(new TokenConfig().JWT_TOKEN_LOCATION).toEqual(['headers'])
    expect(new TokenConfig().JWT_CSRF_METHODS).toEqual(['POST', 'PUT', 'PATCH', 'DELETE'])
  })

  test('a list changed after the manager was built changes nothing', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['headers'] })
    expect(() => (tokens.config.JWT_TOKEN_LOCATION as string[]).push('query')).toThrow(TypeError)
    expect(await tokens.getTokenFromRequest(new Request('http://x/?token=t'))).toBeNull()
  })

  test('a single location may be a text, and hasLocation knows it', () => {
    expect(new TokenConfig().hasLocation('headers')).toBe(true)
    expect(new TokenConfig().hasLocation('cookies')).toBe(false)
    expect(new TokenConfig({ JWT_TOKEN_LOCATION: 'cookies' }).hasLocation('cookies')).toBe(true)
    expect(new TokenConfig({ JWT_REFRESH_TOKEN_LOCATION: 'json' }).hasLocation('json')).toBe(true)
  })
})

describe('values that are refused', () => {
  const bad: [keyof TokenConfigOptions, unknown[]][] = [
    ['JWT_SECRET_KEY', [7, {}, []]],
    ['JWT_PRIVATE_KEY', [7, {}]],
    ['JWT_PUBLIC_KEY', [7, []]],
    ['JWT_ALGORITHM', ['none', '', null, 'hs256']],
    ['JWT_DECODE_ALGORITHMS', [[], ['none'], 5]],
    ['JWT_ACCESS_TOKEN_EXPIRES', ['900', 0, -1, true, null, '1mo', 0.5, Number.NaN]],
    ['JWT_REFRESH_TOKEN_EXPIRES', ['900', 0, '100ms']],
    ['JWT_REFRESH_IDLE_EXPIRES', ['900', []]],
    ['JWT_ENCODE_ISSUER', ['', 1, ['me']]],
    ['JWT_DECODE_ISSUER', ['', [], [''], [1], 1]],
    ['JWT_REQUIRED_CLAIMS', ['', [], [''], [1], 1]],
    ['JWT_MAX_TOKEN_AGE', [0, -1, '60', false, 0.5, Number.POSITIVE_INFINITY]],
    ['JWT_ENCODE_AUDIENCE', ['', [], [1]]],
    ['JWT_DECODE_AUDIENCE', [[], [''], 1]],
    ['JWT_DECODE_LEEWAY', [-1, '5', Number.POSITIVE_INFINITY, null]],
    ['JWT_ENCODE_NBF', ['true', 1, null]],
    ['JWT_TOKEN_LOCATION', [[], ['body'], 'header', null]],
    ['JWT_REFRESH_TOKEN_LOCATION', [[], ['nowhere']]],
    ['JWT_HEADER_NAME', ['', 'A B', 'A:B', 'é', null]],
    ['JWT_HEADER_TYPE', ['A B', null]],
    ['JWT_ACCESS_COOKIE_NAME', ['', 'a b', 'a;b', 'a=b', 'a\r\nb']],
    ['JWT_ACCESS_COOKIE_PATH', ['', 'api', '/a;b', '/a\r\n']],
    ['JWT_COOKIE_SECURE', ['yes', 0]],
    ['JWT_COOKIE_SAMESITE', ['Lax', '', 'no', true]],
    ['JWT_COOKIE_DOMAIN', ['', 'a b', 'a;b', 'a\nb']],
    ['JWT_COOKIE_MAX_AGE', [0, -1, '10']],
    ['JWT_CSRF_METHODS', [[], ['P T'], 5]],
    ['JWT_QUERY_STRING_NAME', ['', 5]],
    ['JWT_JSON_KEY', ['']],
    ['JWT_IDENTITY_CLAIM', ['', 'exp', 'type']],
    ['JWT_ERROR_MESSAGE_KEY', ['', 'code', 'error_type']],
    ['JWT_MAX_TOKEN_LENGTH', [0, -1, 1.5, '8192', Number.POSITIVE_INFINITY]],
    ['JWT_REVOCATION_TIMEOUT', [0, -1, '250', Number.NaN, '30d']],
    ['JWT_REFRESH_GRACE', [-1, '10']],
    ['JWT_VERIFIED_CACHE_SIZE', [-1, 0.5, '10']],
    ['JWT_ALLOW_WEAK_SECRET', ['true']],
  ]
  test.each(bad)('%s: %j', (name, values) => {
    for (const value of values) {
      const build = () => createManager({ [name]: value })
      expect(build, String(value)).toThrow(naming('ConfigurationError', name))
    }
  })

  test.each<[string, TokenConfigOptions]>([
    ['SameSite=None without Secure', { JWT_COOKIE_SAMESITE: 'none', JWT_COOKIE_SECURE: false }],
    ['a session cookie with an age', { JWT_COOKIE_MAX_AGE: '1d' }],
    ['two cookies of one name', { JWT_ACCESS_COOKIE_NAME: 'a', JWT_REFRESH_COOKIE_NAME: 'a' }],
    ['a __Host- cookie with a path', { JWT_ACCESS_COOKIE_NAME: '__Host-a', JWT_ACCESS_COOKIE_PATH: '/api' }],
    [
      'a __Secure- cookie without Secure',
      { JWT_REFRESH_COOKIE_NAME: '__Secure-r', JWT_COOKIE_SECURE: false },
    ],
  ])('%s is refused, because a browser would drop it', (_, options) => {
    expect(() => createManager(options)).toThrow(ConfigurationError)
  })
})

describe('fromEnv', () => {
  const read = (env: Record<string, string>, options: TokenConfigOptions = {}) =>
    TokenConfig.fromEnv(options, env)

  test.each(['900', 'PT15M', '00:15:00', '15m', ' 900 '])('%s means 15 minutes', (text) => {
    const tokens = new TokenManager({
      config: read({ JWT_SECRET_KEY: SECRET, JWT_ACCESS_TOKEN_EXPIRES: text }),
    })
    const { iat, exp } = openToken(tokens.createAccessToken({ uid: 'u' })).claims
    expect(Number(exp) - Number(iat)).toBe(900)
  })

  test.each(['headers,cookies', 'headers, cookies', '["headers","cookies"]'])(
    '%s means both locations',
    (text) => {
      expect(read({ JWT_TOKEN_LOCATION: text }).JWT_TOKEN_LOCATION).toEqual(['headers', 'cookies'])
    },
  )

  test('options win over variables', () => {
    const env = { JWT_HEADER_NAME: 'X-Env', JWT_JSON_KEY: 'env' }
    const config = read(env, { JWT_HEADER_NAME: 'X-Option', JWT_JSON_KEY: undefined })
    expect([config.JWT_HEADER_NAME, config.JWT_JSON_KEY]).toEqual(['X-Option', 'env'])
  })

  test('an empty variable is no absent one: it must not turn a check off', () => {
    for (const name of [
      'JWT_DECODE_AUDIENCE',
      'JWT_DECODE_ISSUER',
      'JWT_REQUIRED_CLAIMS',
      'JWT_MAX_TOKEN_AGE',
      'JWT_ALGORITHM',
      'JWT_ACCESS_TOKEN_EXPIRES',
    ]) {
      expect(() => read({ [name]: '' })).toThrow(name)
    }
    expect(() => new TokenManager({ config: read({ JWT_SECRET_KEY: '' }) })).toThrow(
      /JWT_SECRET_KEY is empty/,
    )
    expect(read({ JWT_HEADER_TYPE: '' }).JWT_HEADER_TYPE).toBe('')
  })

  test.each([
    ['true', true],
    ['1', true],
    ['Yes', true],
    ['false', false],
    ['0', false],
    ['no', false],
  ] as const)('%s is %s', (text, expected) => {
    expect(read({ JWT_ENCODE_NBF: text }).JWT_ENCODE_NBF).toBe(expected)
  })

  test('issuers and required claims are spelled like other lists, an age like other durations', () => {
    expect(read({ JWT_DECODE_ISSUER: 'https://id.example' }).JWT_DECODE_ISSUER).toBe('https://id.example')
    expect(read({ JWT_DECODE_ISSUER: 'a, b' }).JWT_DECODE_ISSUER).toEqual(['a', 'b'])
    expect(read({ JWT_DECODE_ISSUER: '["a,b"]' }).JWT_DECODE_ISSUER).toEqual(['a,b'])
    expect(read({ JWT_REQUIRED_CLAIMS: 'tenant,sid' }).JWT_REQUIRED_CLAIMS).toEqual(['tenant', 'sid'])
    expect(read({ JWT_MAX_TOKEN_AGE: '01:00:00' }).JWT_MAX_TOKEN_AGE).toBe(3600)
  })

  test('one audience is one audience, several are a list', () => {
    expect(read({ JWT_ENCODE_AUDIENCE: 'api' }).JWT_ENCODE_AUDIENCE).toBe('api')
    expect(read({ JWT_ENCODE_AUDIENCE: 'api,web' }).JWT_ENCODE_AUDIENCE).toEqual(['api', 'web'])
  })

  test('never is spelled false, numbers are numbers, keys may be PEM in one line or a JWK', () => {
    expect(read({ JWT_ACCESS_TOKEN_EXPIRES: 'false' }).JWT_ACCESS_TOKEN_EXPIRES).toBe(false)
    expect(read({ JWT_MAX_TOKEN_LENGTH: '4096' }).JWT_MAX_TOKEN_LENGTH).toBe(4096)
    const { privateKey } = keyPairFor('ES256')
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    for (const text of [pem.replaceAll('\n', '\\n'), JSON.stringify(privateKey.export({ format: 'jwk' }))]) {
      const tokens = new TokenManager({ config: read({ JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: text }) })
      expect(internalsOf(tokens).verifyWithoutRevocation(tokens.createAccessToken({ uid: 'u' })).sub).toBe(
        'u',
      )
    }
  })

  test.each([
    ['JWT_ENCODE_NBF', 'maybe'],
    ['JWT_ACCESS_TOKEN_EXPIRES', '0'],
    ['JWT_ACCESS_TOKEN_EXPIRES', 'true'],
    ['JWT_ACCESS_TOKEN_EXPIRES', '00:61:00'],
    ['JWT_MAX_TOKEN_LENGTH', '8k'],
    ['JWT_TOKEN_LOCATION', 'headers,nowhere'],
    ['JWT_TOKEN_LOCATION', '["headers"'],
    ['JWT_DECODE_LEEWAY', '-5'],
  ])('%s=%s is refused', (name, text) => {
    expect(() => read({ [name]: text })).toThrow(ConfigurationError)
  })

  test('the environment is read only here', () => {
    process.env['JWT_HEADER_NAME'] = 'X-From-Env'
    try {
      expect(new TokenConfig().JWT_HEADER_NAME).toBe('Authorization')
      expect(TokenConfig.fromEnv().JWT_HEADER_NAME).toBe('X-From-Env')
    } finally {
      delete process.env['JWT_HEADER_NAME']
    }
  })
})

test('a configuration shows every field and hides its keys', () => {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_PREVIOUS_SECRET_KEY: Buffer.from(SECRET) })
  const tokens = new TokenManager({ config })
  for (const text of [
    inspect(config),
    JSON.stringify(config),
    inspect(tokens, { depth: 9 }),
    JSON.stringify(tokens),
    inspect({ config }),
  ]) {
    expect(text).not.toContain(SECRET.slice(0, 8))
    expect(text).not.toContain(Buffer.from(SECRET).toString('hex').slice(0, 16))
  }
  expect(Object.keys(config.toJSON())).toEqual(CONFIG_NAMES)
  expect(inspect(config)).toMatch(/^TokenConfig \{/)
})
