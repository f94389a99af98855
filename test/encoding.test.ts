import { describe, expect, test } from 'vitest'
import {
  isEqualConstantTime,
  readBase64url,
  readBase64urlText,
  toBase64url,
} from '../packages/tokenlib/src/encoding.js'
import { hasDuplicateMembers, readJsonObject } from '../packages/tokenlib/src/encoding.js'

describe('base64url', () => {
  test('bytes and text round-trip', () => {
    expect(toBase64url('{"a":1}')).toBe('eyJhIjoxfQ')
    expect(readBase64url('eyJhIjoxfQ')?.toString()).toBe('{"a":1}')
    expect(toBase64url(new Uint8Array([0xfb, 0xff]).subarray(1))).toBe('_w')
  })

  test.each([
    ['padding', 'eyJhIjoxfQ=='],
    ['a stray last bit', 'eyJhIjoxfR'],
    ['a space', 'eyJh IjoxfQ'],
    ['a newline', 'eyJhIjoxfQ\n'],
    ['the base64 alphabet', '+/'],
    ['another character', 'eyJhIjoxf!Q'],
    ['a non-ASCII character', 'eyJhIjoxfé'],
    ['a length no bytes have', 'eyJhI'],
  ])('%s is no canonical spelling', (_, text) => {
    expect(readBase64url(text)).toBeNull()
    expect(readBase64urlText(text)).toBeNull()
  })

  test('texts of every length are read, in any alphabet and beyond the scratch buffer', () => {
    for (const unit of ['a', 'ü', '€', '😀', '\0', '\uFFFD']) {
      for (const count of [0, 1, 2, 3, 4, 5, 6, 7, 100, 4096, 9000]) {
        const text = unit.repeat(count)
        expect(readBase64urlText(toBase64url(text))).toBe(text)
      }
    }
  })

  test('every alternate last character of a segment is refused', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const canonical = toBase64url(new Uint8Array(32).fill(7))
    const accepted = [...alphabet].filter((last) => {
      const decoded = readBase64url(canonical.slice(0, -1) + last)
      return decoded !== null && decoded.equals(new Uint8Array(32).fill(7))
    })
    expect(accepted).toEqual([canonical.at(-1)])
  })
})

describe('JSON objects', () => {
  test.each(['null', '[]', '"text"', '1', 'true', '', '{', '{"a":1}x', '\uFEFF{"a":1}'])(
    '%j is none',
    (text) => {
      expect(readJsonObject(text)).toBeNull()
    },
  )

  test('bytes that are not UTF-8 are none', () => {
    expect(
      readBase64urlText(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString('base64url')),
    ).toBeNull()
    expect(readBase64urlText(Buffer.from('{"ü":1}', 'utf16le').toString('base64url'))).toBeNull()
  })

  const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`

  test('depth is limited to 32', () => {
    expect(readJsonObject(nested(32))).not.toBeNull()
    expect(readJsonObject(nested(33))).toBeNull()
    expect(readJsonObject(nested(100_000))).toBeNull()
  })

  test('members are limited, brackets and commas inside strings do not count', () => {
    const many = (count: number): string =>
      JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [i, 0])))
    expect(readJsonObject(many(1025))).not.toBeNull()
    expect(readJsonObject(many(1026))).toBeNull()
    const quoted = JSON.stringify({ text: `${'[{,'.repeat(5000)}\\"` })
    expect(readJsonObject(quoted)).toEqual({ text: `${'[{,'.repeat(5000)}\\"` })
  })

  test.each([
    ['{"alg":"HS256","alg":"none"}', true],
    [String.raw`{"alg":"HS256","\u0061lg":"none"}`, true],
    ['{"a":{"alg":1},"alg":2}', false],
    ['{"a":{"b":1,"b":2}}', false],
    ['{"a" : "a", "b":"a"}', false],
    ['{"x":["a","a"],"a":1}', false],
  ])('%s names a member twice: %s', (text, expected) => {
    expect(hasDuplicateMembers(text)).toBe(expected)
  })
})

test.each([
  ['same', 'same', true],
  ['', '', true],
  ['same', 'Same', false],
  ['short', 'longer', false],
  ['', 'x', false],
  ['é', 'é', true],
  ['é', 'e', false],
  ['\uD800', '\uFFFD', false],
  ['\uD800', '\uD801', false],
])('%j and %j are equal: %s', (left, right, expected) => {
  expect(isEqualConstantTime(left, right)).toBe(expected)
  expect(isEqualConstantTime(right, left)).toBe(expected)
})
