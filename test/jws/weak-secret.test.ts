import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ConfigurationError, type TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { PUBLISHED_SECRETS } from '../../packages/tokenlib/src/tokens/published-secrets.js'
import { readSecretWeakness } from '../../packages/tokenlib/src/tokens/secret.js'
import { createManager } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'

// From the tutorial of a widely used framework, copied into many applications since.
const PUBLISHED = '09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7'

// Known by its capital digits alone.
const PUBLISHED_CAPITALS = '27FD418A5F871868E783C138188258EEFB696ABB953EF3FCF59F951751CDCC3A'

const build = (JWT_SECRET_KEY: unknown, options: TokenConfigOptions = {}) =>
  createManager({ JWT_SECRET_KEY, ...options } as TokenConfigOptions)

const WEAK = naming('ConfigurationError', 'JWT_SECRET_KEY', 'randomBytes(32)')

describe('a secret that anyone can look up', () => {
  test.each<[string, unknown]>([
    ['as text', PUBLISHED],
    ['as bytes', Buffer.from(PUBLISHED)],
    ['as a KeyObject', createSecretKey(Buffer.from(PUBLISHED))],
    ['as a JWK', { kty: 'oct', k: Buffer.from(PUBLISHED).toString('base64url') }],
    ['with the line end of a file', `${PUBLISHED}\r\n`],
    ['with spaces around', `  ${PUBLISHED} `],
    ['decoded from hexadecimal', Buffer.from(PUBLISHED, 'hex')],
    [
      'decoded from base64',
      Buffer.from(
        'ODM3NWVmMGJmYTMwNTFkODU0MzY5MTRiYTg3NGYwNmEzZDgyMTc5NmY4N2NiNmQ3ZDIwYWMwNTFmOGFhYWYzZjIyZTkzYzJmYjc2OGYyYjU2YjJmZTZjZmMxYzVjOTRhNjFkMTVjNzgxYmY1MDU1ZTU0NmQyNGZiZGEwZTA3ZDk=',
        'base64',
      ),
    ],
  ])('%s is refused, and the message shows how to make another', (_, secret) => {
    expect(() => build(secret)).toThrow(WEAK)
  })

  test.each([
    ['zeros behind it, which HMAC adds by itself (RFC 2104 §2)', `${PUBLISHED}\0\0`],
    ['zeros behind a short one', `your-256-bit-secret${'\0'.repeat(13)}`],
    ['spaces behind a short one', `your-256-bit-secret${' '.repeat(45)}`],
    ['a line end behind one of thirty bytes', 'DKLSJFNWEFLIUWNKW3123KLFJIOEWI\r\n'],
    ['decoded from capital hexadecimal digits', Buffer.from(PUBLISHED_CAPITALS, 'hex')],
  ])('is refused with %s', (_, secret) => {
    expect(() => build(secret)).toThrow(ConfigurationError)
  })

  test('bytes that end in zeros or white space are as long as they are', () => {
    const bytes = randomBytes(32)
    bytes[0] = 0xff
    for (const last of [0x00, 0x20, 0x0a]) {
      bytes[31] = last
      expect(() => build(bytes)).not.toThrow()
    }
  })

  test('zeros within a text count', () => {
    expect(() => build('0123456789abcde\0ABCDEFGHIJKLMNOP')).not.toThrow()
  })

  test('is refused as the previous secret, too', () => {
    expect(() => createManager({ JWT_PREVIOUS_SECRET_KEY: PUBLISHED })).toThrow(
      naming('ConfigurationError', 'JWT_PREVIOUS_SECRET_KEY'),
    )
  })

  test('passes only where weak secrets are allowed', () => {
    expect(() => build(PUBLISHED, { JWT_ALLOW_WEAK_SECRET: true })).not.toThrow()
  })

  test('is known, however many different characters it has', () => {
    const weakness = { reason: expect.stringContaining('published') as string, isKnown: true }
    expect(readSecretWeakness(Buffer.from(PUBLISHED), 'HS256')).toEqual({ ...weakness, length: 64 })
    // The length is that of the part that it repeats.
    expect(readSecretWeakness(Buffer.from(PUBLISHED.repeat(2)), 'HS256')).toEqual({ ...weakness, length: 64 })
  })

  test('is known by little data', () => {
    expect(Buffer.from(PUBLISHED_SECRETS, 'base64').length).toBeLessThanOrEqual(16_000)
  })
})

describe('a secret that repeats itself', () => {
  // What is repeated need be guessed only once.
  test.each<[secret: string | Uint8Array, unit: number]>([
    ['x'.repeat(64), 1],
    ['abc'.repeat(22), 3],
    ['012345'.repeat(11), 6],
    ['password'.repeat(4), 8],
    ['changeme'.repeat(5).slice(0, -1), 8],
    ['passwordPassword'.repeat(2), 16],
    ['secret-secret-secret-secret-secret', 7],
    ['correct horse correct horse correct horse\n', 14],
    ['0123456789abcdef'.repeat(8), 16],
    ['pässwort'.repeat(6), 9],
    [Buffer.alloc(48, 'password'), 8],
    [Buffer.alloc(64, randomBytes(16)), 16],
    // A byte fewer than HS256 needs.
    [randomBytes(23).toString('base64url').repeat(3), 31],
  ])('%s is refused, as the part that it repeats would be', (secret, unit) => {
    const repeated = unit === 1 ? 'the same byte' : `the same ${unit} bytes`
    expect(() => build(secret)).toThrow(
      naming('ConfigurationError', 'JWT_SECRET_KEY', repeated, 'randomBytes(32)'),
    )
    expect(() => build(secret, { JWT_ALLOW_WEAK_SECRET: true })).not.toThrow()
  })

  test('is refused if what it repeats is published', () => {
    expect(() => build(PUBLISHED.repeat(2))).toThrow(WEAK)
  })

  test('passes if the part that it repeats is long enough', () => {
    expect(() => build(randomBytes(24).toString('base64url').repeat(2))).not.toThrow()
  })

  test('is refused if it has hardly any different characters, in whatever order', () => {
    const secret = 'abaababaabbabaabababbaabababaabaabab'
    expect(() => build(secret)).toThrow(WEAK)
    expect(readSecretWeakness(Buffer.from(secret), 'HS256')).toEqual({
      reason: expect.stringContaining('repeats') as string,
      length: secret.length,
      isKnown: true,
    })
  })
})

test.each([
  ['short', 5],
  ['aaaa', 4],
  ['passwordpassword', 16],
  [`  ${'x1'.repeat(15)}\n`, 30],
])('%j is told that it is too short', (secret, length) => {
  expect(() => build(secret)).toThrow(naming('ConfigurationError', 'JWT_SECRET_KEY', String(length)))
})

test.each(['bytes', 'hex', 'base64', 'base64url'] as const)('random secrets pass, as %s', (form) => {
  for (let round = 0; round < 25; round++) {
    const bytes = randomBytes(32)
    expect(() => build(form === 'bytes' ? bytes : bytes.toString(form))).not.toThrow()
  }
})

test('no random secret is taken for a weak one', () => {
  const refused: string[] = []
  for (let round = 0; round < 2000; round++) {
    const bytes = randomBytes(32)
    const forms = [bytes, bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')]
    const secret = Buffer.from(forms[round % forms.length] as string | Buffer)
    const weakness = readSecretWeakness(secret, 'HS256')
    if (weakness !== null) refused.push(weakness.reason)
  }
  expect(refused).toEqual([])
})
