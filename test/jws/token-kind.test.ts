import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { TokenDecodeError } from '../../packages/tokenlib/src/errors.js'
import { createManager, NOW, SECRET } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const { tokens } = createManager()

const signWithType = (typ: unknown, type = 'access'): string => {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { sub: 'ada', type, exp: NOW + 60 }
  const input = `${encode({ alg: 'HS256', ...(typ !== undefined && { typ }) })}.${encode(claims)}`
  return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`
}

describe('the kind of token that a header names (RFC 8725 §3.11)', () => {
  test.each(['JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/jwt', 'Application/AT+JWT', undefined])(
    '%j is one of ours',
    (typ) => {
      expect(internalsOf(tokens).verifyWithoutRevocation(signWithType(typ)).sub).toBe('ada')
    },
  )

  test('a refresh token may leave it out, but cannot say that it is an access token', async () => {
    const verify = (typ?: string) => tokens.verify(signWithType(typ, 'refresh'), { type: 'refresh' })
    for (const typ of ['JWT', undefined]) expect(await outcomeOf(verify(typ))).toBe('ok')
    expect(await outcomeOf(verify('at+jwt'))).toBe('TOKEN_INVALID')
  })

  test.each([
    'dpop+jwt',
    'secevent+jwt',
    'logout+jwt',
    'JOSE',
    'application/',
    'text/jwt',
    'jwapplication/t',
    'application/application/jwt',
    'jwt ',
    'ſwt',
    '',
    null,
    1,
    ['JWT'],
    { typ: 'JWT' },
  ])('%j is not', (typ) => {
    const token = signWithType(typ)
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(TokenDecodeError)
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(
      expect.objectContaining({ code: 'TOKEN_INVALID' }),
    )
  })

  test.each(['at+jwt', 'AT+JWT', 'application/at+jwt'])('a refresh token is not %j', async (typ) => {
    for (const [token, outcome] of [
      [signWithType(typ, 'refresh'), 'TOKEN_INVALID'],
      [signWithType('JWT', 'refresh'), 'ok'],
    ] as const) {
      expect(await outcomeOf(tokens.verify(token, { type: 'refresh' }))).toBe(outcome)
    }
  })
})
