import { describe, expect, test } from 'vitest'
import { type KeySource, parseKeySource } from '../../packages/issuers/src/keys/key-source.js'
import { ALGORITHMS, createJwk, createTestedKeys, headerOf } from '../helpers/key-server.js'

const good = createJwk('good')
const URL_OF_KEYS = 'https://id.example/jwks'

const create = (source: unknown, issuer = 'https://id.example/'): unknown =>
  parseKeySource(source as KeySource, { issuer, algorithms: ALGORITHMS })

describe('a source is refused immediately', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['a text', URL_OF_KEYS],
    ['a list', [good.jwk]],
    ['an empty object', {}],
    ['options only', { maxAge: '1m' }],
    ['two sources', { jwksUri: URL_OF_KEYS, discovery: URL_OF_KEYS }],
    ['keys and a URL', { keys: [good.jwk], jwksUri: URL_OF_KEYS }],
    ['an unknown option', { jwksUri: URL_OF_KEYS, cacheMaxAge: 1 }],
    ['options of static keys', { keys: [good.jwk], maxAge: '1m' }],
    ['an invalid duration', { jwksUri: URL_OF_KEYS, timeout: 'soon' }],
    ['a negative duration', { jwksUri: URL_OF_KEYS, maxAge: -1 }],
    ['no timeout', { jwksUri: URL_OF_KEYS, timeout: 0 }],
    ['a timeout that timers cannot have', { jwksUri: URL_OF_KEYS, timeout: '60d' }],
    ['an endless age', { jwksUri: URL_OF_KEYS, maxStale: Infinity }],
    ['no cool-down', { jwksUri: URL_OF_KEYS, cooldown: 0 }],
    ['a size that is a text', { jwksUri: URL_OF_KEYS, maxBytes: '1' }],
    ['a size of 0', { jwksUri: URL_OF_KEYS, maxBytes: 0 }],
    ['half a key', { jwksUri: URL_OF_KEYS, maxKeys: 0.5 }],
    ['too many redirects', { jwksUri: URL_OF_KEYS, maxRedirects: 11 }],
    ['redirects as a switch', { jwksUri: URL_OF_KEYS, maxRedirects: true }],
    ['a switch that is a text', { jwksUri: URL_OF_KEYS, allowPrivateNetwork: 'false' }],
    ['headers that are a list', { jwksUri: URL_OF_KEYS, headers: [['a', 'b']] }],
    ['headers that are Headers', { jwksUri: URL_OF_KEYS, headers: new Headers({ a: 'b' }) }],
    ['a header that is a number', { jwksUri: URL_OF_KEYS, headers: { a: 1 } }],
    ['a header with a line end', { jwksUri: URL_OF_KEYS, headers: { a: 'b\r\nc: d' } }],
    ['a fetch that is no function', { jwksUri: URL_OF_KEYS, fetch: {} }],
    ['keys that are a set', { keys: { keys: [good.jwk] } }],
  ])('%s', (_, source) => {
    expect(() => create(source)).toThrow(/^the keys of issuer "https:\/\/id.example\/"|of the keys of issuer/)
  })

  test.each([
    ['undefined', undefined],
    ['not a URL', 'id.example/jwks'],
    ['http', 'http://id.example/jwks'],
    ['a file', 'file:///etc/passwd'],
    ['credentials', 'https://user:secret@id.example/jwks'],
    ['a user', 'https://user@id.example/jwks'],
    ['loopback', 'https://127.0.0.1/jwks'],
    ['loopback in one number', 'https://2130706433/jwks'],
    ['the metadata of a cloud', 'https://169.254.169.254/latest/meta-data'],
    ['localhost', 'https://localhost/jwks'],
    ['IPv6 for IPv4', 'https://[::ffff:10.0.0.1]/jwks'],
  ])('a URL with %s', (_, url) => {
    for (const name of ['jwksUri', 'discovery']) {
      expect(() => create({ [name]: url })).toThrow(
        expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
      )
    }
  })

  test('an unencrypted URL of a public address, even if private networks are allowed', () => {
    const source = { jwksUri: 'http://1.1.1.1/jwks', allowPrivateNetwork: true }
    expect(() => create(source)).toThrow(expect.objectContaining({ code: 'CONFIGURATION_INVALID' }))
    expect(() => create({ ...source, jwksUri: 'http://keycloak:8080/certs' })).not.toThrow()
  })

  test('no text of a source is in the message: not credentials, not headers', () => {
    for (const source of [
      { jwksUri: 'https://user:hunter2@id.example/' },
      { jwksUri: URL_OF_KEYS, headers: { authorization: 'hunter2\nhunter2' } },
      { keys: [{ ...good.jwk, d: 'hunter2' }] },
      { keys: [{ kty: 'oct', k: 'hunter2' }] },
    ]) {
      expect(() => create(source)).toThrow(/^(?!.*hunter2)/)
    }
  })
})

describe('without a source', () => {
  test.each([
    ['https://id.example', 'https://id.example/.well-known/openid-configuration'],
    ['https://id.example/', 'https://id.example/.well-known/openid-configuration'],
    ['https://id.example/realms/a', 'https://id.example/realms/a/.well-known/openid-configuration'],
    ['https://id.example/realms/a/', 'https://id.example/realms/a/.well-known/openid-configuration'],
  ])('the keys of %s are found at %s', async (issuer, url) => {
    const original = globalThis.fetch
    const sent: string[] = []
    globalThis.fetch = async (input) => {
      sent.push(input as string)
      return Response.json(sent.length === 1 ? { issuer, jwks_uri: URL_OF_KEYS } : { keys: [good.jwk] })
    }
    try {
      const keys = createTestedKeys(undefined, { issuer })
      expect(await keys.look(headerOf('good'))).toEqual(['good'])
    } finally {
      globalThis.fetch = original
    }
    expect(sent).toEqual([url, URL_OF_KEYS])
  })

  test.each([
    'accounts.example',
    'http://id.example',
    'https://id.example/?a',
    'https://',
    'https://10.0.0.1',
    '',
  ])('the issuer %j is refused', (issuer) => {
    expect(() => create(undefined, issuer)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
    )
  })
})

describe('static keys', () => {
  test('exist immediately, and stay', async () => {
    const keys = createTestedKeys({ keys: [good.jwk, { ...createJwk('enc', 'RS256').jwk, use: 'enc' }] })
    const [key] = keys.find(headerOf('good')) ?? []
    expect(key).toMatchObject({ kid: 'good', algorithm: 'ES256' })
    expect([keys.isTrusted(key as never), keys.isTrusted({ ...(key as object) } as never)]).toEqual([
      true,
      false,
    ])
    expect([keys.find(headerOf('other')), keys.find(headerOf('enc', 'RS256'))]).toEqual([[], []])
    await keys.ready()
    await keys.load(headerOf('other'))
  })

  test.each([
    ['none', []],
    ['only one for encryption', [{ ...good.jwk, use: 'enc' }]],
    ['a private one', [{ ...good.jwk, d: 'AAAA' }]],
    ['a symmetric one', [good.jwk, { kty: 'oct', k: 'AAAA' }]],
    ['two with one kid', [good.jwk, createJwk('good').jwk]],
    ['one of another algorithm', [good.jwk, { ...createJwk('b', 'RS256').jwk, alg: 'RS512' }]],
    ['PEM text', ['-----BEGIN PUBLIC KEY-----']],
  ])('are refused immediately: %s', (_, keys) => {
    expect(() => create({ keys })).toThrow(expect.objectContaining({ code: 'CONFIGURATION_INVALID' }))
  })
})

describe('an Ed25519 key (RFC 9864 §2.2)', () => {
  const { alg: _alg, ...unnamed } = createJwk('ed', 'EdDSA').jwk

  test('without alg verifies under both names of its algorithm that are accepted', () => {
    const both = createTestedKeys({ keys: [unnamed] })
    expect(both.find(headerOf('ed', 'EdDSA'))).toHaveLength(1)
    expect(both.find(headerOf('ed', 'Ed25519'))).toHaveLength(1)
    expect(both.find(headerOf(undefined, 'Ed25519'))).toHaveLength(1)
    const one = createTestedKeys({ keys: [unnamed] }, { algorithms: ['Ed25519'] })
    expect(one.find(headerOf('ed', 'EdDSA'))).toEqual([])
    expect(one.find(headerOf('ed', 'Ed25519'))).toHaveLength(1)
  })

  test('with alg verifies under that name only', () => {
    const keys = createTestedKeys({ keys: [{ ...unnamed, alg: 'EdDSA' }] })
    expect(keys.find(headerOf('ed', 'EdDSA'))).toHaveLength(1)
    expect(keys.find(headerOf('ed', 'Ed25519'))).toEqual([])
  })
})
