import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assertClaims, type ClaimRules, isCurrent, type StandardClaims } from '../../src/claims/payload.js'
import {
  TokenAudienceError,
  type TokenConfigOptions,
  TokenDecodeError,
  TokenExpiredError,
  TokenIssuerError,
  TokenNotYetValidError,
  TokenSignatureError,
} from '../../src/index.js'
import { createManager, NOW } from '../helpers/manager.js'

const RULES: ClaimRules = { leeway: 10, issuers: [], audience: [], requiredClaims: [], maxAge: null }
const check = (claims: object, rules: Partial<ClaimRules> = {}) =>
  assertClaims({ sub: 'u', type: 'access', ...claims }, { ...RULES, ...rules }, NOW)

describe('each date is held against the clock by itself', () => {
  test('a token without dates has nothing to be held against', () => {
    expect(() => check({})).not.toThrow()
  })

  test.each(['nbf', 'iat'])('VAL-06 VAL-08 %s alone, in the future beyond the leeway, refuses', (name) => {
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
  const claims = fc
    .record({ exp: seconds, nbf: seconds, iat: seconds, iss: fc.option(name, { nil: undefined }), aud })
    .map((values): StandardClaims => ({ sub: 'u', type: 'access', ...JSON.parse(JSON.stringify(values)) }))
  const rules: fc.Arbitrary<ClaimRules> = fc.record({
    leeway: fc.constantFrom(0, 0.5, 10),
    issuers: fc.array(name, { maxLength: 2 }),
    audience: fc.array(name, { maxLength: 2 }),
    requiredClaims: fc.constant([]),
    maxAge: fc.constant(null),
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
  ])('with %s', (_, claimsOfToken, claimRules, expected) => {
    expect(isCurrent({ sub: 'u', type: 'access', ...claimsOfToken }, { ...RULES, ...claimRules }, NOW)).toBe(
      expected,
    )
  })
})

const DAY = 86_400

describe('time', () => {
  test('VAL-01 ERR-09 an expired token says since when, and is a decode error', () => {
    const { tokens, clock } = createManager()
    const token = tokens.createAccessToken({ uid: 'u' }, { expiresIn: 60 })
    clock.seconds = NOW + 59.999
    expect(tokens.verifyTokenWithoutRevocation(token).sub).toBe('u')
    clock.seconds = NOW + 60
    expect(() => tokens.verifyTokenWithoutRevocation(token)).toThrow(TokenExpiredError)
    expect(() => tokens.verifyTokenWithoutRevocation(token)).toThrow(TokenDecodeError)
    try {
      tokens.verifyTokenWithoutRevocation(token)
    } catch (error) {
      expect(error).toMatchObject({ code: 'TOKEN_EXPIRED', expiredAt: NOW + 60 })
    }
  })

  test('VAL-07 leeway forgives an expiry, to the second', () => {
    const { tokens, clock } = createManager({ JWT_DECODE_LEEWAY: 60 })
    const token = tokens.createAccessToken({ uid: 'u' }, { expiresIn: 100 })
    for (const [late, passes] of [
      [5, true],
      [59.9, true],
      [60, false],
      [61, false],
    ] as const) {
      clock.seconds = NOW + 100 + late
      const verify = () => tokens.verifyTokenWithoutRevocation(token)
      if (passes) expect(verify).not.toThrow()
      else expect(verify).toThrow(TokenExpiredError)
    }
  })

  test.each([true, false])(
    'VAL-06 VAL-08 a token from the future is refused beyond the leeway (nbf: %s)',
    (nbf) => {
      const issue = createManager({ JWT_ENCODE_NBF: nbf })
      issue.clock.seconds = NOW + 30
      const token = issue.tokens.createAccessToken({ uid: 'u' })
      expect(() => createManager().tokens.verifyTokenWithoutRevocation(token)).toThrow(TokenNotYetValidError)
      expect(() =>
        createManager({ JWT_DECODE_LEEWAY: '29s' }).tokens.verifyTokenWithoutRevocation(token),
      ).toThrow(TokenNotYetValidError)
      expect(createManager({ JWT_DECODE_LEEWAY: '30s' }).tokens.verifyTokenWithoutRevocation(token).sub).toBe(
        'u',
      )
    },
  )

  test('VAL-13 a token without exp passes at any time', () => {
    const { tokens, clock } = createManager()
    const token = tokens.createAccessToken({ uid: 'u' }, { expiresIn: false })
    clock.seconds += 200 * 365 * DAY
    expect(tokens.verifyTokenWithoutRevocation(token).sub).toBe('u')
  })

  test('VAL-17 the payload of an expired token can be read on request, if nothing else is wrong', () => {
    const { tokens, clock } = createManager()
    const token = tokens.createAccessToken({ uid: 'u' })
    clock.seconds += DAY
    expect(tokens.verifyTokenWithoutRevocation(token, { allowExpired: true }).sub).toBe('u')
    expect(() => tokens.verifyTokenWithoutRevocation(token)).toThrow(TokenExpiredError)
    expect(() =>
      tokens.verifyTokenWithoutRevocation(`${token.slice(0, -4)}AAAA`, { allowExpired: true }),
    ).toThrow(TokenDecodeError)
  })
})

describe('issuer and audience', () => {
  const verify = (encode: TokenConfigOptions, decode: TokenConfigOptions) => () =>
    createManager(decode).tokens.verifyTokenWithoutRevocation(
      createManager(encode).tokens.createAccessToken({ uid: 'u' }),
    )

  test('VAL-03 ERR-09 the issuer must be the expected one, exactly', () => {
    expect(verify({ JWT_ENCODE_ISSUER: 'me' }, { JWT_DECODE_ISSUER: 'me' })).not.toThrow()
    expect(verify({ JWT_ENCODE_ISSUER: 'me' }, {})).not.toThrow()
    for (const iss of ['you', 'me2', 'm', 'ME', 'me ']) {
      expect(verify({ JWT_ENCODE_ISSUER: iss }, { JWT_DECODE_ISSUER: 'me' })).toThrow(TokenIssuerError)
    }
    expect(verify({}, { JWT_DECODE_ISSUER: 'me' })).toThrow(TokenIssuerError)
    expect(verify({}, { JWT_DECODE_ISSUER: 'me' })).toThrow(TokenDecodeError)
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
  ])(
    'VAL-05 ERR-09 a token for %j where %j is expected passes: %s',
    (JWT_ENCODE_AUDIENCE, JWT_DECODE_AUDIENCE, passes) => {
      const check = verify({ JWT_ENCODE_AUDIENCE }, { JWT_DECODE_AUDIENCE })
      if (passes) expect(check).not.toThrow()
      else expect(check).toThrow(TokenAudienceError)
    },
  )

  test('VAL-05 an empty list of audiences is for nobody', () => {
    const token = createManager().tokens.createAccessToken({ uid: 'u' }, { audience: [] })
    expect(() =>
      createManager({ JWT_DECODE_AUDIENCE: 'a' }).tokens.verifyTokenWithoutRevocation(token),
    ).toThrow(TokenAudienceError)
  })
})

test('VAL-02 ERR-09 a wrong signature is a signature error, which is a decode error', () => {
  const token = createManager({ JWT_SECRET_KEY: randomBytes(32) }).tokens.createAccessToken({ uid: 'u' })
  const verify = () => createManager().tokens.verifyTokenWithoutRevocation(token)
  expect(verify).toThrow(TokenSignatureError)
  expect(verify).toThrow(TokenDecodeError)
})
