import { describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager, type TrustedIssuer } from '../../packages/tokenlib/src/index.js'
import type { Jwk } from '../../packages/tokenlib/src/kit.js'
import { type IssuerOptions, trustIssuer } from '../../packages/issuers/src/index.js'
import { createForeign } from '../helpers/foreign.js'
import { createClock, SECRET } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'

const A = createForeign('https://a.example')
const B = createForeign('https://b.example')
const C = createForeign('https://c.example')

const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_DECODE_ISSUER: 'https://us.example' })

function build(issuers: readonly unknown[]): TokenManager {
  return new TokenManager({ config, issuers: (issuers as readonly IssuerOptions[]).map(trustIssuer) })
}

function errorOf(
  issuers: readonly unknown[],
  create: (list: readonly unknown[]) => unknown = build,
): {
  readonly code?: string
  readonly name: string
  readonly message: string
} {
  try {
    create(issuers)
  } catch (error) {
    return error as Error
  }
  throw new Error('The options were accepted')
}

const MISTAKES: readonly (readonly [name: string, options: Record<string, unknown>])[] = [
  ['no audience', { audience: undefined }],
  ['an empty audience', { audience: '' }],
  ['an empty list of audiences', { audience: [] }],
  ['an audience that is no text', { audience: [1] }],
  ['an HMAC algorithm', { algorithms: ['ES256', 'HS256'] }],
  ['the algorithm none', { algorithms: ['none'] }],
  ['an unknown algorithm', { algorithms: ['__proto__'] }],
  ['no algorithms', { algorithms: [] }],
  ['algorithms as a text', { algorithms: 'ES256' }],
  ['algorithms that no key fits', { algorithms: ['RS256'] }],
  ['an unknown profile', { profile: 'oidc' }],
  ['a prefix that is no text', { subjectPrefix: 1 }],
  ['required claims as a text', { requiredClaims: 'tenant' }],
  ['an empty required claim', { requiredClaims: [''] }],
  ...['type', 'fresh', 'csrf', 'gen', 'remember'].map(
    (name) => [`a required claim ${name}, which is ours`, { requiredClaims: [name] }] as const,
  ),
  ['an age that is no duration', { maxTokenAge: 'a day' }],
  ['a negative age', { maxTokenAge: -1 }],
  ['an endless age', { maxTokenAge: Number.POSITIVE_INFINITY }],
  ['a session that lasts for no duration', { sessionLifetime: 'a year' }],
  ['an endless session', { sessionLifetime: Number.POSITIVE_INFINITY }],
  ['a leeway that is no duration', { leeway: '1 minute' }],
  ['freshFor that is no duration', { freshFor: Number.NaN }],
  ['a mapping to no claim', { mapping: { sub: '' } }],
  ['a mapping to a list', { mapping: { sid: ['sid'] } }],
  ['a mapping of scopes to nothing', { mapping: { scopes: [] } }],
  ['access without a value', { mapping: { access: { claim: 'typ' } } }],
  ['access with a value that is no text', { mapping: { access: { claim: 'typ', value: true } } }],
  ['no keys', { keys: { keys: [] } }],
  ['a private key', { keys: { keys: [A.privateKey.export({ format: 'jwk' }) as Jwk] } }],
  ['a secret', { keys: { keys: [{ kty: 'oct', k: 'AAAA', kid: 'x' }] } }],
  ['a mapping that profile tokenlib does not read', { profile: 'tokenlib', mapping: { scopes: 'roles' } }],
  [
    'a declaration that profile tokenlib does not check',
    { profile: 'tokenlib', mapping: { access: { claim: 'a', value: 'b' } } },
  ],
  ['freshFor with profile tokenlib', { profile: 'tokenlib', freshFor: '5m' }],
]

describe('mistakes in the options of an issuer', () => {
  test.each([
    ['scopes', 'mapping'],
    ['sub', 'mapping'],
    ['allowPrivateNetwork', 'keys'],
  ])('%s is looked for in %s', (name, meant) => {
    expect(errorOf([{ ...A.options(), [name]: 'x' }]).message).toContain(`did you mean "${meant}"?`)
  })

  test.each(MISTAKES)('%s', (_, options) => {
    const error = errorOf([{ ...A.options(), ...options }])
    expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID' })
    expect(error.message).toContain(A.issuer)
  })

  test.each([
    ['an unknown option', { audiance: 'x' }],
    ['an unknown option of mapping', { mapping: { subject: 'oid' } }],
    ['an unknown option of mapping.access', { mapping: { access: { claim: 'a', value: 'b', is: 'c' } } }],
    ['a mapping that is no object', { mapping: [] }],
    ['keys of another shape', { keys: 'https://a.example/keys' }],
  ])('%s is a TypeError', (_, options) => {
    const error = errorOf([{ ...A.options(), ...options }])
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toContain(A.issuer)
  })

  test('keys that are a list', () => {
    expect(errorOf([{ ...A.options(), keys: [] }]).message).toContain('{ keys: [jwk] }')
  })

  test.each([
    [{ sub: '' }, 'mapping.sub must be'],
    [{ access: { claim: 'typ' } }, 'mapping.access.value must be'],
  ])('the mapping %j is named with its path', (mapping, message) => {
    expect(errorOf([{ ...A.options(), mapping }]).message).toContain(message)
  })

  test.each([
    ['no text', [{ ...A.options(), issuer: undefined }]],
    ['an empty text', [{ ...A.options(), issuer: '' }]],
    ['a list', [{ ...A.options(), issuer: ['https://a.example'] }]],
    ['a name that stands for our own tokens', [{ ...A.options(), issuer: 'own' }]],
  ])('an issuer that is %s', (_, issuers) => {
    expect(errorOf(issuers)).toMatchObject({ code: 'CONFIGURATION_INVALID' })
  })

  test.each([null, undefined, 'https://a.example', 1])('options that are %j', (options) => {
    expect(errorOf([options])).toBeInstanceOf(TypeError)
  })

  test.each([null, undefined, 'https://a.example', 1, A.options(), { issuer: 'a' }, { connect: () => A }])(
    'an entry that no function has made: %j',
    (entry) => {
      const create = (issuers: unknown) =>
        new TokenManager({ config, issuers: issuers as readonly TrustedIssuer[] })
      const error = errorOf([A.trust(), entry], create)
      expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID' })
      expect(error.message).toContain('issuers[1]')
      expect(error.message).toContain('trustIssuer({ … })')
      expect(() => create(A.trust())).toThrow('issuers must be a list')
    },
  )

  test('the profile of the application before has a function of its own', () => {
    expect(errorOf([{ ...A.options(), profile: 'legacy' }]).message).toContain('use trustLegacyIssuer()')
  })
})

describe('several issuers', () => {
  test('an issuer is listed once', () => {
    const error = errorOf([A.options(), A.options()])
    expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID' })
    expect(error.message).toContain(A.issuer)
  })

  test.each(['JWT_DECODE_ISSUER', 'JWT_ENCODE_ISSUER'])('an issuer is not our own: %s', (field) => {
    const own = new TokenConfig({ JWT_SECRET_KEY: SECRET, [field]: A.issuer })
    expect(() => new TokenManager({ config: own, issuers: [A.trust()] })).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION_INVALID', message: expect.stringContaining(A.issuer) }),
    )
  })

  test('a prefix is demanded as soon as there are two sources of tokens', () => {
    const error = errorOf([A.options(), B.options({ subjectPrefix: undefined })])
    expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID' })
    expect(error.message).toContain(B.issuer)
    expect(errorOf([A.options({ subjectPrefix: undefined })])).toMatchObject({
      code: 'CONFIGURATION_INVALID',
    })
  })

  test('an issuer that is the only source of tokens needs no prefix', async () => {
    const issuers = [A.trust({ subjectPrefix: undefined })]
    const tokens = new TokenManager({ config: new TokenConfig(), clock: createClock(), issuers })
    expect((await tokens.verify(A.sign())).sub).toBe('ada')
  })

  test('no prefix begins with another', () => {
    const prefixes = (...given: readonly string[]) =>
      [A, B, C].slice(0, given.length).map((one, at) => one.options({ subjectPrefix: given[at] }))
    for (const given of [
      ['idp:', 'idp:b:'],
      ['idp:b:', 'idp:'],
      ['', 'x', 'xy'],
    ]) {
      expect(errorOf(prefixes(...given)), String(given)).toMatchObject({ code: 'CONFIGURATION_INVALID' })
    }
    for (const given of [
      ['a:', 'b:'],
      ['', ''],
      ['', 'b:'],
      ['same:', 'same:', 'other:'],
    ]) {
      expect(build(prefixes(...given)), String(given)).toBeInstanceOf(TokenManager)
    }
  })
})

test('a source has the name and the prefix of its issuer', () => {
  const issuer = A.trust({ subjectPrefix: 'a:' })
  const changes: readonly object[] = [{ issuer: null }, { issuer: B.issuer }, { subjectPrefix: '' }]
  for (const change of changes) {
    const other: TrustedIssuer = {
      ...issuer,
      connect: (manager) => ({ ...issuer.connect(manager), ...change }),
    }
    expect(() => new TokenManager({ config, issuers: [other] })).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION_INVALID', message: expect.stringContaining(A.issuer) }),
    )
  }
})

test('one value serves several managers, and each loads its keys itself', async () => {
  let calls = 0
  const fetch = async () => {
    calls++
    return Response.json({ keys: [A.jwk] })
  }
  const issuers = [A.trust({ keys: { jwksUri: 'https://1.1.1.1/keys', fetch } })]
  for (const _ of [1, 2]) await new TokenManager({ config, issuers }).ready()
  expect(calls).toBe(2)
})

test('nothing is requested when a manager is built', () => {
  let calls = 0
  const fetch = () => {
    calls++
    return Promise.reject(new Error('offline'))
  }
  const jwksUri = 'https://a.example/keys'
  build([A.options({ keys: { jwksUri, fetch } }), B.options({ keys: () => (calls++, null) })])
  expect(calls).toBe(0)
})

test.each([
  { JWT_DECODE_ISSUER: 'https://us.example' },
  { JWT_DECODE_AUDIENCE: 'api' },
  { JWT_REQUIRED_CLAIMS: ['tenant'] },
  { JWT_MAX_TOKEN_AGE: '1h' },
])('a rule for own tokens is refused where there are no own keys: %o', (fields) => {
  expect(() => new TokenManager({ config: new TokenConfig(fields), issuers: [A.trust()] })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
  )
  const withKey = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...fields })
  expect(() => new TokenManager({ config: withKey, issuers: [A.trust()] })).not.toThrow()
})

test('an issuer keeps the demands that its options inherit', async () => {
  class Demands {
    get requiredClaims() {
      return ['tenant']
    }
    get audience() {
      return 'https://api.example'
    }
  }
  const { audience: _audience, ...own } = A.options()
  const issuer = trustIssuer(Object.assign(new Demands(), own))
  expect(issuer.options.requiredClaims).toEqual(['tenant'])
  const tokens = new TokenManager({ config, issuers: [issuer], clock: createClock() })
  expect(await outcomeOf(tokens.verify(A.sign()))).toBe('TOKEN_INVALID')
  expect(await outcomeOf(tokens.verify(A.sign({ tenant: 't' })))).toBe('ok')
})
