import { describe, expect, test } from 'vitest'
import { readCookie, trimBlanks } from '../../packages/tokenlib/src/http/credentials.js'

describe('a cookie is a name, an equals sign and a value', () => {
  // RFC 6265bis §5.6: a pair without an equals sign has no name; any page that can set a cookie can make one.
  test.each(['session', 'sessionx', 'session ', ' sessionx', 'a=1; sessionx', 'sessionx; a=1'])(
    'without the sign there is none: %j',
    (header) => {
      expect(readCookie(header, 'session')).toBeNull()
    },
  )

  test('a pair without the sign is no second value', () => {
    expect(readCookie('sessionx; session=v; session', 'session')).toBe('v')
  })

  test('only the first sign divides', () => {
    expect(readCookie('session=a=b=', 'session')).toBe('a=b=')
  })
})

describe('spaces and tabs around a text', () => {
  test.each([
    ['', ''],
    [' ', ''],
    [' \t ', ''],
    ['a', 'a'],
    [' a', 'a'],
    ['a\t', 'a'],
    ['\t a b \t', 'a b'],
    ['\u00a0a\n', '\u00a0a\n'],
  ])('are taken from %j, which leaves %j', (text, expected) => {
    expect(trimBlanks(text)).toBe(expected)
  })
})
