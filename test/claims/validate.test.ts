import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { TokenConfigOptions } from '../../src/index.js'
import {
  TokenAudienceError,
  TokenDecodeError,
  TokenExpiredError,
  TokenIssuerError,
  TokenNotYetValidError,
  TokenSignatureError,
} from '../../src/index.js'
import { createManager, NOW } from '../helpers/manager.js'

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
