import { describe, expect, test } from 'vitest'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createKeyPair } from '../helpers/keys.js'
import { createManager } from '../helpers/manager.js'
import { createRevocable } from '../helpers/revocable.js'
import { COOKIES, createRoutes, logIn } from './routes.js'

describe('options that no routes can be made with are a TypeError', () => {
  test.each<[name: string, options: object]>([
    ['logIn left out', { logIn: undefined }],
    ['logIn', { logIn: 'ada' }],
    ['describeUser', { describeUser: { scopes: ['a'] } }],
    ['an option of the manager', { readIp: () => null }],
    ['rateLimit', { rateLimit: null }],
    ['rateLimit without before', { rateLimit: { after: () => undefined } }],
    ['after of rateLimit', { rateLimit: { before: () => 0, after: 1 } }],
    ['remember', { remember: true }],
    ['a name of remember', { remember: { forgotten: '1d' } }],
    ['a lifetime of nothing', { remember: { remembered: 0 } }],
    ['a lifetime with fractions', { remember: { session: 0.5 } }],
    ['maxSessions', { maxSessions: 0 }],
    ['maxSessions with fractions', { maxSessions: 1.5 }],
    ['whenFull', { maxSessions: 1, whenFull: 'ask' }],
    ['whenFull alone', { whenFull: 'refuse' }],
    ...['', '/', 'auth', '/auth/', '/a//b', '/a b', '/a?b', '/a%41', '/..', '/a/.', 7].map(
      (path): [string, object] => [`the path ${path}`, { path }],
    ),
  ])('%s', (_name, options) => {
    expect(() => createRoutes(COOKIES, options)).toThrow(TypeError)
  })

  test('a lifetime that is no duration is an error as well', () => {
    expect(() => createRoutes(COOKIES, { remember: { remembered: 'long' } })).toThrow(TypeError)
  })

  test.each(['clientIp', 'formatError'])('an option of the manager is named as one: %s', (name) => {
    const options = { logIn, [name]: () => null }
    expect(() => createSessionRoutes(createRevocable(COOKIES).tokens, options)).toThrow(
      `Unknown option "${name}" of createSessionRoutes(); did you mean "new TokenManager({ ${name} })"?`,
    )
  })

  test('what is no manager', () => {
    expect(() => createSessionRoutes({ logIn } as never, { logIn })).toThrow(TypeError)
  })

  test.each(['/auth', '/a', '/api/v1/auth', '/a.b/~c'])('the path %s is one', (path) => {
    expect(createRoutes(COOKIES, { path }).routes.path).toBe(path)
  })
})

describe('a manager whose sessions the routes could not serve is a ConfigurationError', () => {
  const invalid = expect.objectContaining({ code: 'CONFIGURATION_INVALID' }) as Error

  test('one without a store', () => {
    expect(() => createSessionRoutes(createManager().tokens, { logIn })).toThrow(invalid)
  })

  test('one whose store keeps no sessions', () => {
    const store = Object.create(createMemoryStore(), { sessions: { value: undefined } }) as never
    expect(() => createSessionRoutes(createRevocable({}, { store }).tokens, { logIn })).toThrow(invalid)
  })

  test('one that only verifies', () => {
    const config = new TokenConfig({
      JWT_ALGORITHM: 'ES256',
      JWT_PUBLIC_KEY: createKeyPair('ES256').publicKey,
    })
    const tokens = new TokenManager({ config, store: createMemoryStore() })
    expect(() => createSessionRoutes(tokens, { logIn })).toThrow(invalid)
  })

  test.each<[path: string, config: TokenConfigOptions]>([
    ['/auth', { JWT_REFRESH_COOKIE_PATH: '/auth/refresh' }],
    ['/auth', { JWT_REFRESH_COOKIE_PATH: '/aut' }],
    ['/auth', { JWT_ACCESS_COOKIE_PATH: '/api' }],
  ])('at %s, one with %j', (path, config) => {
    expect(() => createRoutes({ ...COOKIES, ...config }, { path })).toThrow(invalid)
    // Without cookies, their paths do not matter.
    expect(() => createRoutes({ ...config }, { path })).not.toThrow()
  })

  test.each(['/', '/auth', '/auth/'])('a refresh cookie at %s is sent to /auth', (path) => {
    expect(() => createRoutes({ ...COOKIES, JWT_REFRESH_COOKIE_PATH: path })).not.toThrow()
  })
})
