import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { TokenDecodeError, TokenSignatureError } from '../../packages/tokenlib/src/errors.js'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { ALL_ALGORITHMS, configFor } from '../helpers/keys.js'
import { createManager, NOW, openToken, SECRET } from '../helpers/manager.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const CLAIMS = JSON.stringify({ sub: 'u', type: 'access', exp: NOW + 60 })

/** A token of any header and claims text, signed with the test secret by HS256. */
function forge(header: string, claims: string = CLAIMS, secret = SECRET): string {
  const input = [header, claims].map((part) => Buffer.from(part).toString('base64url')).join('.')
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

const { tokens } = createManager()
const verify = (token: string) => internalsOf(tokens).verifyWithoutRevocation(token)

describe.each(ALL_ALGORITHMS)('%s', (algorithm) => {
  const { tokens } = createManager(configFor(algorithm))

  test('signs a token that it verifies and that says so', () => {
    const token = tokens.createAccessToken({ uid: 'u' })
    expect(openToken(token).header).toMatchObject({
      alg: algorithm,
      typ: 'JWT',
      kid: expect.any(String) as string,
    })
    expect(internalsOf(tokens).verifyWithoutRevocation(token).sub).toBe('u')
  })

  test('a changed payload or signature is refused', () => {
    const [header, , signature] = tokens.createAccessToken({ uid: 'u' }).split('.')
    const [, other] = tokens.createAccessToken({ uid: 'admin' }).split('.')
    expect(() => internalsOf(tokens).verifyWithoutRevocation(`${header}.${other}.${signature}`)).toThrow(
      TokenSignatureError,
    )
  })
})

describe('what a token must look like', () => {
  test('the forged token of these tests is good when nothing is changed', () => {
    expect(verify(forge('{"alg":"HS256"}')).sub).toBe('u')
  })

  test.each([
    'foobarbaz',
    'aaaaa.bbbbb.ccccc',
    '',
    '.',
    '..',
    '...',
    'a.b',
    'a.b.',
    '.b.c',
    'a..c',
    'a.b.c.d',
    'a.b.c.d.e',
    '{"payload":"x"}',
    'é.é.é',
    ' ',
  ])('%j is a decode error', (token) => {
    expect(() => verify(token)).toThrow(TokenDecodeError)
  })

  test.each([null, undefined, 7, {}, [], Buffer.from('a.b.c'), { toString: () => forge('{"alg":"HS256"}') }])(
    'a token that is no string is a decode error: %j',
    (token) => {
      expect(() => verify(token as never)).toThrow(TokenDecodeError)
    },
  )

  test.each([
    'none',
    'None',
    'NONE',
    'nOnE',
    '',
    'hs256',
    'HS256 ',
    'HS384',
    'RS256',
    'toString',
    '__proto__',
    null,
    0,
    [],
    ['HS256'],
    {},
  ])('the algorithm %j is refused, with a good signature, an empty one and none', (alg) => {
    const header = JSON.stringify({ alg })
    const [encoded, claims] = forge(header).split('.')
    expect(() => verify(forge(header))).toThrow(TokenDecodeError)
    expect(() => verify(`${encoded}.${claims}.`)).toThrow(TokenDecodeError)
    expect(() => verify(`${encoded}.${claims}.AA`)).toThrow(TokenDecodeError)
  })

  test.each([
    '{}',
    '[]',
    'null',
    '"HS256"',
    '{"alg":"HS256"',
    '{"alg":"HS256","alg":"HS256"}',
    String.raw`{"alg":"HS256","\u0061lg":"none"}`,
  ])('the header %s is refused', (header) => {
    expect(() => verify(forge(header))).toThrow(TokenDecodeError)
  })

  test.each([
    { crit: ['exp'] },
    { crit: [] },
    { crit: 'x' },
    { b64: false },
    { b64: true },
    { b64: 'false' },
    { zip: 'DEF' },
    { enc: 'A256GCM' },
    { cty: 'JWT' },
    { jku: 'https://evil.example' },
    { jwk: { kty: 'oct', k: 'AA' } },
    { x5u: 'https://evil.example' },
    { x5c: [] },
    { kid: 1 },
    { kid: null },
    { kid: {} },
    { kid: 'x'.repeat(129) },
  ])('a header with %j is refused', (extra) => {
    expect(() => verify(forge(JSON.stringify({ alg: 'HS256', ...extra })))).toThrow(TokenDecodeError)
  })

  test('JWT_MAX_TOKEN_LENGTH and the header limit hold before anything is decoded', () => {
    const short = createManager({ JWT_MAX_TOKEN_LENGTH: 300 }).tokens
    const token = short.createAccessToken({ uid: 'u' })
    expect(token.length).toBeLessThanOrEqual(300)
    expect(internalsOf(short).verifyWithoutRevocation(token).sub).toBe('u')
    expect(() =>
      internalsOf(short).verifyWithoutRevocation(
        tokens.createAccessToken({ uid: 'u', pad: 'x'.repeat(100) }),
      ),
    ).toThrow(TokenDecodeError)
    expect(() => verify('.'.repeat(16 * 1024 * 1024))).toThrow(TokenDecodeError)
    expect(() => verify(forge(JSON.stringify({ alg: 'HS256', pad: 'x'.repeat(2000) })))).toThrow(
      TokenDecodeError,
    )
  })

  test('a forged and expired token is reported as forged (CVE-2024-51744)', () => {
    const expired = JSON.stringify({ sub: 'u', type: 'access', exp: 1 })
    expect(() => verify(forge('{"alg":"HS256"}', expired, 'x'.repeat(32)))).toThrow(TokenSignatureError)
  })
})

describe('one token, one spelling (CVE-2026-102269)', () => {
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

  function* otherSpellings(token: string): Generator<string> {
    for (const end of [token.indexOf('.'), token.lastIndexOf('.'), token.length]) {
      for (const last of ALPHABET) {
        // Other characters with the same bits of the last byte.
        const spelling = token.slice(0, end - 1) + last
        if (decodeLast(spelling) === decodeLast(token.slice(0, end))) yield spelling + token.slice(end)
      }
      for (const junk of ['=', '==', ' ', '\n', '\t', '\0', '!', '~', '%', 'A', '.'])
        yield token.slice(0, end) + junk + token.slice(end)
    }
    yield token.replaceAll('-', '+').replaceAll('_', '/')
    yield ` ${token}`
    yield `${token.slice(0, 8)}\n${token.slice(8)}`
    yield `Bearer ${token}`
    yield encodeURIComponent(token).replace(/^e/, '%65')
  }

  const decodeLast = (text: string): string =>
    Buffer.from(text.slice(text.lastIndexOf('.') + 1), 'base64url').toString('hex')

  test.each(ALL_ALGORITHMS)(
    'a %s token revoked by its text is refused in every other spelling',
    async (algorithm) => {
      const { tokens } = createManager(configFor(algorithm))
      const blocklist = new Set<string>()
      tokens.setCallbackTokenBlocklist((token) => blocklist.has(token))
      let tried = 0
      const token = tokens.createAccessToken({ uid: 'u' })
      expect((await tokens.verify(token)).sub).toBe('u')
      blocklist.add(token)
      await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
      for (const spelling of [...otherSpellings(token), ...highS(algorithm, token)]) {
        if (spelling === token) continue
        tried++
        await expect(tokens.verify(spelling)).rejects.toBeInstanceOf(TokenDecodeError)
      }
      expect(tried).toBeGreaterThan(38)
    },
  )

  const ORDERS: Partial<Record<Algorithm, string>> = {
    ES256: 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
    ES384: 'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973',
    ES512:
      '01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409',
  }

  /** The other valid ECDSA signature of the same token: s replaced by n - s. */
  function highS(algorithm: Algorithm, token: string): string[] {
    const order = ORDERS[algorithm]
    if (order === undefined) return []
    const start = token.lastIndexOf('.') + 1
    const signature = Buffer.from(token.slice(start), 'base64url')
    const half = signature.length / 2
    const s = BigInt(`0x${order}`) - BigInt(`0x${signature.subarray(half).toString('hex')}`)
    signature.set(Buffer.from(s.toString(16).padStart(2 * half, '0'), 'hex'), half)
    return [token.slice(0, start) + signature.toString('base64url')]
  }
})
