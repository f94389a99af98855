import { describe, expect, test } from 'vitest'
import { assertClaims, type ClaimRules } from '../../src/claims/payload.js'
import { NOW } from '../helpers/manager.js'

const RULES: ClaimRules = { leeway: 10, issuer: null, audience: [] }
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
