import { describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { systemClock } from '../../packages/tokenlib/src/time.js'
import { safeLines } from '../../packages/cli/src/safe-text.js'
import { toCount, toIsoTime, toPrintable, toRelative } from '../../packages/cli/src/words.js'
import { SECRET } from '../helpers/manager.js'
import { runCommand } from './test-terminal.js'

interface Inspected {
  readonly verified: boolean
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  readonly times: readonly { readonly claim: string; readonly words: string; readonly at: string }[]
  readonly configuration: string
  readonly objections: readonly { readonly rule: string }[]
  readonly remarks: readonly { readonly rule: string }[]
}

const now = (): number => Math.floor(systemClock() / 1000)
const SIGNATURE = 'c2lnbmF0dXJlLXRoYXQtbm9ib2R5LXNlZXM'

const encode = (part: object | string): string =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')

function write(header: object | string, claims: object | string, signature = SIGNATURE): string {
  return `${encode(header)}.${encode(claims)}.${signature}`
}

const HEADER = { alg: 'HS256', typ: 'JWT' }
const goodClaims = () => ({
  sub: 'ada',
  type: 'access',
  jti: 'id',
  iat: now() - 60,
  nbf: now() - 60,
  exp: now() + 840,
})

async function inspect(token: string, env: Readonly<Record<string, string>> = {}): Promise<Inspected> {
  const { exitCode, json } = await runCommand(['inspect', token, '--json'], { env })
  expect(exitCode).toBe(0)
  return json<Inspected>()
}

const rules = (found: readonly { readonly rule: string }[]): string[] => found.map(({ rule }) => rule)

test('a good token: header, claims, times in words, and nothing to object to', async () => {
  const token = await inspect(write(HEADER, goodClaims()))
  expect(token).toMatchObject({ verified: false, header: HEADER, objections: [], remarks: [] })
  expect(token.times.map(({ words }) => words)).toEqual([
    'issued 1 minute ago',
    'became valid 1 minute ago',
    expect.stringMatching(/^expires in 1[34] minutes$/),
  ])
  const { stdout } = await runCommand(['inspect', write(HEADER, goodClaims())])
  expect(stdout).toContain('Not verified')
  expect(stdout).toMatch(/expires in 1[34] minutes \(\d{4}-\d\d-\d\dT[\d:]+Z\)/)
})

describe('what a verifier would object to', () => {
  test.each<[rule: string, header: object | string, claims: object | string]>([
    ['algorithm-none', { alg: 'none' }, {}],
    ['algorithm-none', { alg: 'NoNe' }, {}],
    ['unknown-algorithm', { alg: 'HS1' }, {}],
    ['no-algorithm', { typ: 'JWT' }, {}],
    ['unsupported-header', { ...HEADER, crit: ['exp'] }, {}],
    ['unsupported-header', { ...HEADER, jku: 'https://evil.example' }, {}],
    ['unsupported-header', { ...HEADER, x5u: 'https://evil.example' }, {}],
    ['unsupported-header', { ...HEADER, jwk: {} }, {}],
    ['malformed-kid', { ...HEADER, kid: 7 }, {}],
    ['unexpected-type', { alg: 'HS256', typ: 'logout+jwt' }, {}],
    ['unexpected-type', { alg: 'HS256', typ: 'at+jwt' }, { type: 'refresh' }],
    ['header-too-long', { ...HEADER, pad: 'x'.repeat(2000) }, {}],
    ['duplicate-members', '{"alg":"HS256","alg":"none"}', {}],
    ['missing-subject', HEADER, { sub: undefined }],
    ['missing-type', HEADER, { type: undefined }],
    ['mistyped-claim', HEADER, { exp: 'tomorrow' }],
    ['bound-to-key', HEADER, { cnf: { jkt: 'x' } }],
    ['bound-to-key', HEADER, { cnf: null }],
    ['expired', HEADER, { exp: 1_000_000_000 }],
    ['not-yet-valid', HEADER, { nbf: 9_000_000_000 }],
    ['issued-in-future', HEADER, { iat: 9_000_000_000 }],
    ['too-long', HEADER, { pad: 'x'.repeat(8000) }],
  ])('%s', async (rule, header, claims) => {
    const whole = typeof claims === 'string' ? claims : { ...goodClaims(), ...claims }
    expect(rules((await inspect(write(header, whole))).objections)).toContain(rule)
  })

  test('no signature, and another spelling of the token', async () => {
    expect(rules((await inspect(write(HEADER, goodClaims(), ''))).objections)).toEqual(['no-signature'])
    expect(rules((await inspect(`${write(HEADER, goodClaims())}=`)).objections)).toEqual(['not-canonical'])
  })

  test.each([
    ['missing-exp', { exp: undefined }],
    ['missing-iat', { iat: undefined }],
    ['missing-jti', { jti: undefined }],
    ['long-lived', { exp: 9_000_000_000 }],
  ])('%s is remarked', async (rule, claims) => {
    const token = await inspect(write(HEADER, { ...goodClaims(), ...claims }))
    expect(rules(token.remarks)).toEqual([rule])
  })

  test('claims with a member twice are remarked, at any depth', async () => {
    const text = JSON.stringify(goodClaims()).replace('}', ',"a":{"b":1,"b":2}}')
    expect(rules((await inspect(write(HEADER, text))).remarks)).toEqual(['duplicate-members'])
  })
})

describe('with the configuration of the environment', () => {
  const env = { JWT_SECRET_KEY: SECRET }
  const config = new TokenConfig({
    JWT_SECRET_KEY: SECRET,
    JWT_ENCODE_ISSUER: 'us',
    JWT_ENCODE_AUDIENCE: 'web',
  })
  const token = (): string => new TokenManager({ config }).createAccessToken({ uid: 'ada' })

  test('a token of its key has nothing to object to', async () => {
    expect(await inspect(token(), env)).toMatchObject({ configuration: 'used', objections: [] })
  })

  test.each([
    ['wrong-issuer', { ...env, JWT_DECODE_ISSUER: 'them' }],
    ['wrong-audience', { ...env, JWT_DECODE_AUDIENCE: 'mobile' }],
    ['missing-claim', { ...env, JWT_REQUIRED_CLAIMS: 'tenant' }],
    ['wrong-algorithm', { ...env, JWT_ALGORITHM: 'HS512' }],
    ['unknown-key', { JWT_SECRET_KEY: 'fM2n8xQvT4kLw7zRj1sYb6dHc3gPa9eU' }],
    ['too-long', { ...env, JWT_MAX_TOKEN_LENGTH: '100' }],
  ])('%s', async (rule, changed) => {
    expect(rules((await inspect(token(), changed)).objections)).toEqual([rule])
  })

  test('fields that say nothing about tokens may be incomplete', async () => {
    const partial = { ...env, JWT_COOKIE_SAMESITE: 'none', JWT_COOKIE_SECURE: 'false' }
    expect(await inspect(token(), partial)).toMatchObject({ configuration: 'used', objections: [] })
  })

  test('an invalid configuration is a warning, and not used', async () => {
    const broken = { JWT_SECRET_KEY: 'short' }
    expect((await inspect(token(), broken)).configuration).toBe('invalid')
    expect((await runCommand(['inspect', token()], { env: broken })).stderr).toContain('JWT_SECRET_KEY')
  })
})

test.each([
  'garbage',
  'a.b',
  'a.b.c.d.e',
  'bm8.bm8.c2ln',
  `${encode('[]')}.${encode('{}')}.x`,
  '.'.repeat(100_000),
])('what is no token ends with 1 and one line: %#', async (text) => {
  const { exitCode, stdout, stderr } = await runCommand(['inspect', text])
  expect([exitCode, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^error: [^\n]{1,120}\n$/)
})

test('claims that are nested too deep are not parsed', async () => {
  const deep = `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
  expect((await runCommand(['inspect', write(HEADER, deep)])).exitCode).toBe(1)
})

test('a token is read from stdin, and with what stands before it in a request', async () => {
  const token = write(HEADER, goodClaims())
  for (const input of [`${token}\n`, `Bearer ${token}`, `authorization: bearer ${token}\r\n`]) {
    expect((await runCommand(['inspect', '-'], { input })).exitCode).toBe(0)
  }
})

test('neither the signature nor the CSRF value is printed', async () => {
  const csrf = 'a-csrf-value-that-is-secret'
  for (const more of [[], ['--json']]) {
    const { stdout } = await runCommand(['inspect', write(HEADER, { ...goodClaims(), csrf }), ...more])
    expect(stdout).not.toContain(SIGNATURE)
    expect(stdout).not.toContain(csrf)
    expect(stdout).toContain('[hidden]')
  }
})

test('a token cannot write to the terminal', async () => {
  const claims = { ...goodClaims(), 'na\u001B[2Jme': '\u009B31m\u202Eevil\u2028' }
  for (const more of [[], ['--json']]) {
    const { stdout } = await runCommand([
      'inspect',
      write({ ...HEADER, kid: '\u001B]0;x\u0007' }, claims),
      ...more,
    ])
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\u2028]/u)
  }
})

describe('words', () => {
  test.each([
    [0, 'now'],
    [-180_000, '3 minutes ago'],
    [840_000, 'in 14 minutes'],
    [-1000, '1 second ago'],
    [86_400_000 * 3, 'in 3 days'],
    [-31_536_000_000, '1 year ago'],
  ])('%d ms from now are %s', (difference, words) => {
    expect(toRelative(1e12 + difference, 1e12)).toBe(words)
  })

  test('counts, moments and texts', () => {
    expect([toCount(1, 'row'), toCount(2000, 'row')]).toEqual(['1 row', '2,000 rows'])
    expect([toIsoTime(0), toIsoTime(9e18)]).toEqual(['1970-01-01T00:00:00Z', '9000000000000000000'])
    expect(toPrintable('a\nb')).toBe('a\\u000ab')
    const json = safeLines(JSON.stringify({ a: '\u{E0001}\u009B\n' }, null, 2).split('\n')).toString()
    expect(json.replaceAll('\n', '')).toMatch(/^[ -~]+$/)
    expect(JSON.parse(json)).toEqual({ a: '\u{E0001}\u009B\n' })
  })
})
