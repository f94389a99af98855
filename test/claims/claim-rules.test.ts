import { createHmac, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  assertClaims,
  type ClaimRules,
  isCurrent,
  readEnd,
  readMissingClaim,
  type StandardClaims,
} from '../../packages/tokenlib/src/tokens/payload.js'
import {
  type TokenConfigOptions,
  TokenExpiredError,
  TokenIssuerError,
} from '../../packages/tokenlib/src/index.js'
import {
  TokenAudienceError,
  TokenDecodeError,
  TokenNotYetValidError,
  TokenSignatureError,
} from '../../packages/tokenlib/src/errors.js'
import { createManager, NOW, SECRET } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const RULES: ClaimRules = { leeway: 10, issuers: [], audience: [], requiredClaims: [], maxAge: null }
const check = (claims: object, rules: Partial<ClaimRules> = {}) =>
  assertClaims({ sub: 'u', type: 'access', ...claims }, { ...RULES, ...rules }, NOW)

describe('each date is held against the clock by itself', () => {
  test('a token without dates has nothing to be held against', () => {
    expect(() => check({})).not.toThrow()
  })

  test.each(['nbf', 'iat'])('%s alone, in the future beyond the leeway, refuses', (name) => {
    expect(() => check({ [name]: NOW + 10 })).not.toThrow()
    expect(() => check({ [name]: NOW + 11 })).toThrow(
      expect.objectContaining({ code: 'TOKEN_NOT_YET_VALID', validFrom: NOW + 11 }),
    )
  })

  test('of two dates in the future nbf is the one that is told', () => {
    expect(() => check({ nbf: NOW + 60, iat: NOW + 30 })).toThrow(
      expect.objectContaining({ validFrom: NOW + 60 }),
    )
  })
})

describe('isCurrent', () => {
  const seconds = fc.option(fc.integer({ min: NOW - 20, max: NOW + 20 }), { nil: undefined })
  const name = fc.constantFrom('a', 'b', 'c')
  const aud = fc.option(fc.oneof(name, fc.array(name, { maxLength: 3 })), { nil: undefined })
  const extra = fc.constantFrom(undefined, null, 'there', 0, false)
  const claims = fc
    .record({
      exp: seconds,
      nbf: seconds,
      iat: seconds,
      iss: fc.option(name, { nil: undefined }),
      aud,
      extra,
    })
    .map((values): StandardClaims => ({ sub: 'u', type: 'access', ...JSON.parse(JSON.stringify(values)) }))
  const rules: fc.Arbitrary<ClaimRules> = fc.record({
    leeway: fc.constantFrom(0, 0.5, 10),
    issuers: fc.array(name, { maxLength: 2 }),
    audience: fc.array(name, { maxLength: 2 }),
    requiredClaims: fc.constantFrom([], ['extra'], ['sub', 'extra'], ['iat']),
    maxAge: fc.constantFrom(null, 1, 15),
    allowExpired: fc.boolean(),
  })
  const now = fc.integer({ min: -300, max: 300 }).map((tenths) => NOW + tenths / 10)

  const passes = (...all: Parameters<typeof assertClaims>): boolean => {
    try {
      assertClaims(...all)
      return true
    } catch {
      return false
    }
  }

  test('is true exactly when assertClaims does not throw', () => {
    const outcomes = new Set<boolean>()
    fc.assert(
      fc.property(claims, rules, now, (claimsOfToken, claimRules, at) => {
        const expected = passes(claimsOfToken, claimRules, at)
        outcomes.add(expected)
        expect(isCurrent(claimsOfToken, claimRules, at)).toBe(expected)
      }),
      { numRuns: 2000 },
    )
    expect(outcomes.size).toBe(2)
  })

  test.each<[string, Partial<StandardClaims>, Partial<ClaimRules>, boolean]>([
    ['no dates', {}, {}, true],
    ['exp within the leeway', { exp: NOW - 9 }, {}, true],
    ['exp at the end of the leeway', { exp: NOW - 10 }, {}, false],
    ['an expired token where that is allowed', { exp: NOW - 60 }, { allowExpired: true }, true],
    ['nbf beyond the leeway', { nbf: NOW + 11 }, {}, false],
    ['iat beyond the leeway', { iat: NOW + 11 }, {}, false],
    ['the issuer', { iss: 'me' }, { issuers: ['me'] }, true],
    ['another issuer', { iss: 'you' }, { issuers: ['me'] }, false],
    ['no issuer', {}, { issuers: ['me'] }, false],
    ['one of the audiences', { aud: ['b', 'a'] }, { audience: ['a', 'c'] }, true],
    ['other audiences', { aud: ['b'] }, { audience: ['a', 'c'] }, false],
    ['no audience', {}, { audience: ['a'] }, false],
    ['a required claim', { jti: 'j' }, { requiredClaims: ['sub', 'jti'] }, true],
    ['a required claim that is missing', { jti: 'j' }, { requiredClaims: ['jti', 'sid'] }, false],
    ['a required claim of every object', {}, { requiredClaims: ['toString'] }, false],
    ['an age within the leeway', { iat: NOW - 69 }, { maxAge: 60 }, true],
    ['an age at the end of the leeway', { iat: NOW - 70 }, { maxAge: 60 }, false],
    ['an age that is allowed as expired', { iat: NOW - 70 }, { maxAge: 60, allowExpired: true }, true],
    ['no iat, where an age is demanded', {}, { maxAge: 60 }, false],
    ['no iat, where expired ones are allowed', {}, { maxAge: 60, allowExpired: true }, false],
  ])('with %s', (_, claimsOfToken, claimRules, expected) => {
    expect(isCurrent({ sub: 'u', type: 'access', ...claimsOfToken }, { ...RULES, ...claimRules }, NOW)).toBe(
      expected,
    )
  })
})

const DAY = 86_400

describe('time', () => {
  test('an expired token says since when, and is a decode error', () => {
    const { tokens, clock } = createManager()
    const token = tokens.createAccessToken({ uid: 'u' }, { expiresIn: 60 })
    clock.seconds = NOW + 59.999
    expect(internalsOf(tokens).verifyWithoutRevocation(token).sub).toBe('u')
    clock.seconds = NOW + 60
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(TokenExpiredError)
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(TokenDecodeError)
    try {
      internalsOf(tokens).verifyWithoutRevocation(token)
    } catch (error) {
      expect(error).toMatchObject({ code: 'TOKEN_EXPIRED', expiredAt: NOW + 60 })
    }
  })

  test('leeway forgives an expiry, to the second', () => {
    const { tokens, clock } = createManager({ JWT_DECODE_LEEWAY: 60 })
    const token = tokens.createAccessToken({ uid: 'u' }, { expiresIn: 100 })
    for (const [late, passes] of [
      [5, true],
      [59.9, true],
      [60, false],
      [61, false],
    ] as const) {
      clock.seconds = NOW + 100 + late
      const verify = () => internalsOf(tokens).verifyWithoutRevocation(token)
      if (passes) expect(verify).not.toThrow()
      else expect(verify).toThrow(TokenExpiredError)
    }
  })

  test.each([true, false])('a token from the future is refused beyond the leeway (nbf: %s)', (nbf) => {
    const issue = createManager({ JWT_ENCODE_NBF: nbf })
    issue.clock.seconds = NOW + 30
    const token = issue.tokens.createAccessToken({ uid: 'u' })
    expect(() => internalsOf(createManager().tokens).verifyWithoutRevocation(token)).toThrow(
      TokenNotYetValidError,
    )
    expect(() =>
      internalsOf(createManager({ JWT_DECODE_LEEWAY: '29s' }).tokens).verifyWithoutRevocation(token),
    ).toThrow(TokenNotYetValidError)
    expect(
      internalsOf(createManager({ JWT_DECODE_LEEWAY: '30s' }).tokens).verifyWithoutRevocation(token).sub,
    ).toBe('u')
  })

  test('a token without exp passes at any time', () => {
    const { tokens, clock } = createManager()
    const token = tokens.createAccessToken({ uid: 'u' }, { expiresIn: false })
    clock.seconds += 200 * 365 * DAY
    expect(internalsOf(tokens).verifyWithoutRevocation(token).sub).toBe('u')
  })

  test('the payload of an expired token can be read on request, if nothing else is wrong', () => {
    const { tokens, clock } = createManager()
    const token = tokens.createAccessToken({ uid: 'u' })
    clock.seconds += DAY
    expect(internalsOf(tokens).verifyWithoutRevocation(token, { allowExpired: true }).sub).toBe('u')
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(TokenExpiredError)
    expect(() =>
      internalsOf(tokens).verifyWithoutRevocation(`${token.slice(0, -4)}AAAA`, { allowExpired: true }),
    ).toThrow(TokenDecodeError)
  })
})

describe('required claims', () => {
  const { tokens: free } = createManager()
  const verify = (JWT_REQUIRED_CLAIMS: string | string[], claims: object) => () =>
    internalsOf(createManager({ JWT_REQUIRED_CLAIMS }).tokens).verifyWithoutRevocation(
      free.createAccessToken({ uid: 'u', ...claims }),
    )

  test('a token without one is refused, and the error names it', () => {
    expect(verify(['tenant', 'jti'], { tenant: 'a' })).not.toThrow()
    expect(verify('tenant', {})).toThrow(
      expect.objectContaining({
        code: 'TOKEN_INVALID',
        message: expect.stringContaining('"tenant"') as string,
      }),
    )
    expect(verify(['jti', 'tenant'], { tenants: 'a' })).toThrow(
      expect.objectContaining({ code: 'TOKEN_INVALID' }),
    )
  })

  test('one that is undefined counts as missing', () => {
    expect(readMissingClaim({ tenant: undefined }, ['tenant'])).toBe('tenant')
    expect(readMissingClaim({ tenant: 'a' }, ['tenant'])).toBeNull()
  })

  test('the error names the missing claim, and not iat, which nobody demands', () => {
    expect(() => check({}, { requiredClaims: ['tenant'] })).toThrow(
      new TokenDecodeError('Token claim "tenant" is missing'),
    )
  })

  test('null counts as missing; other values that are false do not', () => {
    expect(verify('tenant', { tenant: null })).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }))
    for (const tenant of [0, '', false]) expect(verify('tenant', { tenant })).not.toThrow()
  })

  test('a name that every object has is not there by itself', () => {
    expect(verify('constructor', {})).toThrow(TokenDecodeError)
    expect(verify('__proto__', {})).toThrow(TokenDecodeError)
  })

  test('a token that the manager would refuse is not created', async () => {
    const { tokens } = createManager({ JWT_REQUIRED_CLAIMS: ['tenant', 'sub'] })
    for (const create of [
      () => tokens.createAccessToken({ uid: 'u' }),
      () => tokens.createRefreshToken({ uid: 'u' }),
      () => tokens.createAccessToken({ uid: 'u', tenant: null }),
    ]) {
      expect(create).toThrow(naming('TypeError', 'tenant', 'JWT_REQUIRED_CLAIMS'))
    }
    await expect(tokens.sessions.open({ uid: 'u' })).rejects.toThrow(naming('TypeError', 'tenant'))
    expect(
      internalsOf(tokens).verifyWithoutRevocation(tokens.createAccessToken({ uid: 'u', tenant: 'a' })).tenant,
    ).toBe('a')
  })

  test('the subject is there as sub, also where another claim carries it', () => {
    const { tokens } = createManager({ JWT_REQUIRED_CLAIMS: ['sub', 'user'], JWT_IDENTITY_CLAIM: 'user' })
    expect(internalsOf(tokens).verifyWithoutRevocation(tokens.createAccessToken({ uid: 'u' })).sub).toBe('u')
  })
})

describe('the age of a token', () => {
  test('counts from iat, whatever exp says', () => {
    const { tokens, clock } = createManager({ JWT_MAX_TOKEN_AGE: '1h', JWT_DECODE_LEEWAY: '10s' })
    const token = tokens.createAccessToken({ uid: 'u' }, { expiresIn: false })
    clock.seconds = NOW + 3609.9
    expect(internalsOf(tokens).verifyWithoutRevocation(token).sub).toBe('u')
    clock.seconds = NOW + 3610
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(
      expect.objectContaining({ code: 'TOKEN_EXPIRED', expiredAt: NOW + 3600 }),
    )
    expect(internalsOf(tokens).verifyWithoutRevocation(token, { allowExpired: true }).sub).toBe('u')
  })

  test('a token that expires sooner says so itself', () => {
    const { tokens, clock } = createManager({ JWT_MAX_TOKEN_AGE: '1h' })
    const token = tokens.createAccessToken({ uid: 'u' }, { expiresIn: 60 })
    clock.seconds = NOW + 7200
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(
      expect.objectContaining({ expiredAt: NOW + 60 }),
    )
  })

  test('a token that does not say when it was made is refused', () => {
    const { tokens } = createManager({ JWT_MAX_TOKEN_AGE: '1h' })
    const token = signClaims({ sub: 'u', type: 'access' })
    expect(internalsOf(createManager().tokens).verifyWithoutRevocation(token).sub).toBe('u')
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(
      expect.objectContaining({ code: 'TOKEN_INVALID', message: expect.stringContaining('"iat"') as string }),
    )
  })
})

test.each<[what: string, claims: Partial<StandardClaims>, maxAge: number | null, end: number | null]>([
  ['its exp', { iat: NOW, exp: NOW + 60 }, null, NOW + 70],
  ['its greatest age, if that is earlier', { iat: NOW, exp: NOW + 60 }, 30, NOW + 40],
  ['its exp, if that is earlier', { iat: NOW, exp: NOW + 60 }, 90, NOW + 70],
  ['its greatest age alone', { iat: NOW }, 30, NOW + 40],
  ['its exp, without an iat to count from', { exp: NOW + 60 }, 30, NOW + 70],
  ['nothing', { iat: NOW }, null, null],
  ['nothing, without any date', {}, 30, null],
])('a token ends with %s, and the leeway', (_, claims, maxAge, end) => {
  expect(readEnd({ sub: 'u', type: 'access', ...claims }, { ...RULES, maxAge })).toBe(end)
})

// As another issuer with the same secret would sign it.
function signClaims(claims: object): string {
  const input = [{ alg: 'HS256' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`
}

describe('issuer and audience', () => {
  const verify = (encode: TokenConfigOptions, decode: TokenConfigOptions) => () =>
    internalsOf(createManager(decode).tokens).verifyWithoutRevocation(
      createManager(encode).tokens.createAccessToken({ uid: 'u' }),
    )

  test('the issuer must be the expected one, exactly', () => {
    expect(verify({ JWT_ENCODE_ISSUER: 'me' }, { JWT_DECODE_ISSUER: 'me' })).not.toThrow()
    expect(verify({ JWT_ENCODE_ISSUER: 'me' }, {})).not.toThrow()
    for (const iss of ['you', 'me2', 'm', 'ME', 'me ']) {
      expect(verify({ JWT_ENCODE_ISSUER: iss }, { JWT_DECODE_ISSUER: 'me' })).toThrow(TokenIssuerError)
    }
    expect(verify({}, { JWT_DECODE_ISSUER: 'me' })).toThrow(TokenIssuerError)
    expect(verify({}, { JWT_DECODE_ISSUER: 'me' })).toThrow(TokenDecodeError)
  })

  test('of several issuers each is accepted, exactly', () => {
    const decode = { JWT_DECODE_ISSUER: ['me', 'you'] }
    for (const iss of ['me', 'you']) expect(verify({ JWT_ENCODE_ISSUER: iss }, decode)).not.toThrow()
    for (const iss of ['me,you', 'YOU', 'us']) {
      expect(verify({ JWT_ENCODE_ISSUER: iss }, decode)).toThrow(TokenIssuerError)
    }
    expect(verify({}, decode)).toThrow(TokenIssuerError)
  })

  test.each<[string | string[] | null, string | string[] | null, boolean]>([
    ['a', 'a', true],
    ['a', 'b', false],
    ['a', ['b', 'a'], true],
    [['b', 'a'], 'a', true],
    [['b', 'c'], ['a', 'd'], false],
    [null, 'a', false],
    ['a', null, true],
    ['ab', 'a', false],
  ])('a token for %j where %j is expected passes: %s', (JWT_ENCODE_AUDIENCE, JWT_DECODE_AUDIENCE, passes) => {
    const check = verify({ JWT_ENCODE_AUDIENCE }, { JWT_DECODE_AUDIENCE })
    if (passes) expect(check).not.toThrow()
    else expect(check).toThrow(TokenAudienceError)
  })

  test('an empty list of audiences is for nobody', () => {
    const token = createManager().tokens.createAccessToken({ uid: 'u' }, { audience: [] })
    expect(() =>
      internalsOf(createManager({ JWT_DECODE_AUDIENCE: 'a' }).tokens).verifyWithoutRevocation(token),
    ).toThrow(TokenAudienceError)
  })
})

test('a wrong signature is a signature error, which is a decode error', () => {
  const token = createManager({ JWT_SECRET_KEY: randomBytes(32) }).tokens.createAccessToken({ uid: 'u' })
  const verify = () => internalsOf(createManager().tokens).verifyWithoutRevocation(token)
  expect(verify).toThrow(TokenSignatureError)
  expect(verify).toThrow(TokenDecodeError)
})
