import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { decodeWithoutVerifying } from '../../packages/tokenlib/src/index.js'
import { createManager, openToken } from '../helpers/manager.js'

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const compose = (header: unknown, payload: unknown, signature = 'c2ln'): string =>
  `${encode(header)}.${encode(payload)}.${signature}`
const HEADER = { alg: 'HS256' }

test('header and claims are what the token says, frozen to the bottom', () => {
  const { tokens } = createManager()
  const token = tokens.createAccessToken({ uid: 'ada', team: { name: 'a' } }, { headers: { purpose: ['x'] } })
  const decoded = decodeWithoutVerifying(token)
  expect(decoded).toMatchObject({ header: openToken(token).header, payload: openToken(token).claims })
  for (const part of [
    decoded,
    decoded.header,
    decoded.payload,
    decoded.header['purpose'],
    decoded.payload['team'],
  ]) {
    expect(Object.isFrozen(part)).toBe(true)
  }
})

test('nothing is verified: neither the signature, nor the algorithm, nor the claims', () => {
  const odd = { sub: 5, exp: 'never', type: ['any'] }
  for (const header of [
    { alg: 'none' },
    { alg: 'RS256', jku: 'https://evil.example' },
    { alg: 'x', typ: 'y' },
  ]) {
    expect(decodeWithoutVerifying(compose(header, odd))).toMatchObject({ header, payload: odd })
  }
})

test('the CSRF value is there, and is not shown', () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies' })
  const token = tokens.createAccessToken({ uid: 'ada' })
  const { csrf } = openToken(token).claims
  const { payload } = decodeWithoutVerifying(token)
  expect(payload['csrf']).toBe(csrf)
  expect(Object.keys(payload)).not.toContain('csrf')
  expect(inspect(payload) + JSON.stringify(payload)).not.toContain(csrf)
})

test('an absent claim or member is undefined, whatever its name', () => {
  const { header, payload } = decodeWithoutVerifying(
    compose('{"alg":"x","__proto__":1}', '{"__proto__":{"a":1}}'),
  )
  expect([header['toString'], payload['constructor'], payload['a']]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect([Object.hasOwn(header, '__proto__'), Object.hasOwn(payload, '__proto__')]).toEqual([true, true])
})

describe('what is no JWT, or more than a verifier accepts, is refused', () => {
  const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['no text', 5],
    ['an object', { token: 'x' }],
    ['an empty text', ''],
    ['two segments', 'e30.e30'],
    ['five segments, as an encrypted token has', 'e30.e30.e30.e30.e30'],
    ['no signature', compose(HEADER, {}, '')],
    ['a signature with padding', compose(HEADER, {}, 'c2lnbg==')],
    ['a signature that is not canonical', compose(HEADER, {}, 'c2x')],
    ['a header that is no JSON', compose('{', {})],
    ['a header that is a list', compose([HEADER], {})],
    ['a header without alg', compose({ typ: 'JWT' }, {})],
    ['a header with alg twice', compose('{"alg":"HS256","alg":"none"}', {})],
    ['a header that is too long', compose({ ...HEADER, x: 'x'.repeat(2048) }, {})],
    ['claims that are no JSON', compose(HEADER, 'text')],
    ['claims that are a list', compose(HEADER, [])],
    ['claims that are null', compose(HEADER, 'null')],
    [
      'claims that are not UTF-8',
      `${encode(HEADER)}.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.c2ln`,
    ],
    ['claims in standard base64', `${encode(HEADER)}.eyJhIjoifn5-fiJ9==.c2ln`],
    ['claims nested too deep', compose(HEADER, nested(33))],
    ['claims with too many members', compose(HEADER, { a: Array.from({ length: 1026 }, () => 0) })],
    ['a token that is too long', compose(HEADER, { a: 'x'.repeat(8192) })],
  ])('%s', (_what, token) => {
    expect(() => decodeWithoutVerifying(token as string)).toThrow(
      expect.objectContaining({ name: 'TokenDecodeError', code: 'TOKEN_INVALID' }),
    )
  })

  test('what is just within the limits is decoded', () => {
    expect(decodeWithoutVerifying(compose(HEADER, nested(32))).payload).toHaveProperty('a')
  })
})
