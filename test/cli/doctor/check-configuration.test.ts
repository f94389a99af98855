import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { checkConfiguration } from '../../../packages/cli/src/doctor/check-configuration.js'
import { RUNTIME_CHECKS } from '../../../packages/cli/src/doctor/check-runtime.js'
import { type Finding, type Level, runChecks } from '../../../packages/cli/src/doctor/findings.js'
import type { Environment } from '../../../packages/cli/src/configuration.js'
import { isTyped, readConfiguration } from '../../../packages/cli/src/doctor/read-configuration.js'

// Not new ones for each run: one random secret in a thousand has no digit, and looks typed.
const BYTES = createHash('sha512').update('doctor').digest()
const SECRET = BYTES.subarray(0, 48).toString('base64url')
const SAFE: Environment = { JWT_SECRET_KEY: SECRET, NODE_ENV: 'production', JWT_DECODE_AUDIENCE: 'shop' }
const COOKIES: Environment = { ...SAFE, JWT_TOKEN_LOCATION: 'cookies', JWT_REFRESH_COOKIE_PATH: '/auth' }

function check(env: Environment, keysInCode = false): Finding[] {
  return checkConfiguration(readConfiguration(env, keysInCode))
}

function levelsOf(findings: readonly Finding[], id: string): Level[] {
  return findings.filter((finding) => finding.id === id).map(({ level }) => level)
}

// What produces each finding, in an environment that is safe otherwise.
const PRODUCED: readonly (readonly [id: string, level: Level, env: Environment])[] = [
  ['config-field', 'error', { ...SAFE, JWT_REFRESH_GRACE: 'nine' }],
  ['config-field', 'error', { ...SAFE, JWT_ALGORITHM: 'none' }],
  ['config-rules', 'error', { ...COOKIES, JWT_COOKIE_SAMESITE: 'none', JWT_COOKIE_SECURE: 'no' }],
  ['config-rules', 'error', { ...SAFE, JWT_ALGORITHM: 'RS256' }],
  ['config-unknown', 'warning', { ...SAFE, JWT_SECRET_KEYS: 'x' }],
  ['config-unknown', 'warning', { ...SAFE, jwt_cookie_secure: 'true' }],
  ['keys-missing', 'error', { NODE_ENV: 'production' }],
  ['secret-strength', 'error', { ...SAFE, JWT_SECRET_KEY: 'secret' }],
  ['secret-strength', 'error', { ...SAFE, JWT_SECRET_KEY: 'a-string-secret-at-least-256-bits-long' }],
  ['secret-strength', 'error', { ...SAFE, JWT_SECRET_KEY: 'ab'.repeat(32) }],
  ['secret-strength', 'error', { ...SAFE, JWT_SECRET_KEY: 'secret', JWT_ALLOW_WEAK_SECRET: 'true' }],
  ['secret-strength', 'error', { ...SAFE, JWT_PREVIOUS_SECRET_KEY: 'secret' }],
  ['secret-random', 'warning', { ...SAFE, JWT_SECRET_KEY: 'the quick brown fox jumps over the lazy dog' }],
  ['weak-secret-allowed', 'warning', { ...SAFE, JWT_ALLOW_WEAK_SECRET: 'true' }],
  ['previous-key', 'note', { ...SAFE, JWT_PREVIOUS_SECRET_KEY: BYTES.toString('hex') }],
  ['algorithms', 'warning', { ...SAFE, JWT_DECODE_ALGORITHMS: 'HS256,HS384' }],
  ['access-lifetime', 'warning', { ...SAFE, JWT_ACCESS_TOKEN_EXPIRES: '2h' }],
  ['access-lifetime', 'error', { ...SAFE, JWT_ACCESS_TOKEN_EXPIRES: '7d' }],
  ['access-lifetime', 'error', { ...SAFE, JWT_ACCESS_TOKEN_EXPIRES: 'false' }],
  ['refresh-lifetime', 'warning', { ...SAFE, JWT_REFRESH_TOKEN_EXPIRES: 'false' }],
  [
    'refresh-lifetime',
    'note',
    { ...SAFE, JWT_REFRESH_TOKEN_EXPIRES: '365d', JWT_REFRESH_IDLE_EXPIRES: '30d' },
  ],
  ['refresh-grace', 'warning', { ...SAFE, JWT_REFRESH_GRACE: '9s' }],
  ['refresh-grace', 'warning', { ...SAFE, JWT_ACCESS_TOKEN_EXPIRES: '9s' }],
  ['refresh-grace', 'warning', { ...SAFE, JWT_REFRESH_IDLE_EXPIRES: '19s' }],
  ['refresh-grace', 'note', { ...SAFE, JWT_ACCESS_TOKEN_EXPIRES: '30s' }],
  ['refresh-grace', 'note', { ...SAFE, JWT_REFRESH_IDLE_EXPIRES: '1m' }],
  ['leeway', 'warning', { ...SAFE, JWT_DECODE_LEEWAY: '10m' }],
  ['issuer-audience', 'note', { ...SAFE, JWT_DECODE_AUDIENCE: undefined }],
  ['token-in-query', 'warning', { ...SAFE, JWT_TOKEN_LOCATION: 'query', JWT_REFRESH_TOKEN_LOCATION: 'json' }],
  ['token-in-query', 'error', { ...SAFE, JWT_TOKEN_LOCATION: 'headers,query' }],
  ['cookie-secure', 'error', { ...COOKIES, JWT_COOKIE_SECURE: 'false' }],
  ['cookie-secure', 'warning', { ...COOKIES, JWT_COOKIE_SECURE: 'false', NODE_ENV: 'development' }],
  ['cookie-http-only', 'error', { ...COOKIES, JWT_COOKIE_HTTP_ONLY: 'false' }],
  ['cookie-samesite', 'warning', { ...COOKIES, JWT_COOKIE_SAMESITE: 'none' }],
  [
    'cookie-samesite',
    'note',
    { ...COOKIES, JWT_COOKIE_SAMESITE: 'none', JWT_CSRF_ORIGINS: 'https://app.example' },
  ],
  ['cookie-samesite', 'error', { ...COOKIES, JWT_COOKIE_SAMESITE: 'none', JWT_COOKIE_CSRF_PROTECT: 'false' }],
  ['cookie-domain', 'warning', { ...COOKIES, JWT_COOKIE_DOMAIN: '.example.com' }],
  ['cookie-path', 'note', { ...COOKIES, JWT_REFRESH_COOKIE_PATH: undefined }],
  ['csrf', 'error', { ...COOKIES, JWT_COOKIE_CSRF_PROTECT: 'false' }],
  ['csrf', 'error', { ...COOKIES, JWT_CSRF_METHODS: 'POST' }],
  ['revocation-timeout', 'warning', { ...SAFE, JWT_REVOCATION_TIMEOUT: '30s' }],
  ['revocation-timeout', 'warning', { ...SAFE, JWT_REVOCATION_TIMEOUT: '5ms' }],
]

describe('a configuration', () => {
  test.each(PRODUCED)('%s is found as %s', (id, level, env) => {
    expect(levelsOf(check(env), id)).toEqual([level])
  })

  const ids = [...new Set(PRODUCED.map(([id]) => id))]

  test.each(ids)('%s is not found where everything is safe', (id) => {
    // Checks of cookies say nothing where no cookie is read.
    expect(levelsOf(check(COOKIES), id)).toEqual(['ok'])
  })

  test('that is safe has nothing but what is fine, with and without cookies', () => {
    for (const env of [SAFE, COOKIES]) expect(check(env).filter(({ level }) => level !== 'ok')).toEqual([])
  })

  test('of which several variables are wrong is reported as a whole', () => {
    const findings = check({
      JWT_SECRET_KEY: 'secret',
      JWT_REFRESH_GRACE: 'nine',
      JWT_COOKIE_SAMESITE: 'always',
      JWT_ACCESS_COOKIE_NAME: 'same',
      JWT_REFRESH_COOKIE_NAME: 'same',
    })
    expect(levelsOf(findings, 'config-field')).toEqual(['error', 'error'])
    expect(levelsOf(findings, 'config-rules')).toEqual(['error'])
    expect(levelsOf(findings, 'secret-strength')).toEqual(['error'])
  })

  test('a mistake of the keys does not hide one of the cookies', () => {
    const env = { ...SAFE, JWT_ALGORITHM: 'ES256', JWT_ACCESS_COOKIE_NAME: 'a', JWT_REFRESH_COOKIE_NAME: 'a' }
    expect(levelsOf(check(env), 'config-rules')).toEqual(['error', 'error'])
  })

  test('a misspelled name comes with the one that was meant', () => {
    const [finding] = check({ ...SAFE, JWT_SECRET_KEYS: 'x' }).filter(({ id }) => id === 'config-unknown')
    expect(finding?.title).toContain('"JWT_SECRET_KEY"')
  })

  test.each<[Environment, shown: string, fix: string]>([
    [{ JWT_REFRESH_GRACE: '8s' }, 'wait 8 seconds before they move on.', 'JWT_REFRESH_GRACE=60s'],
    [{ JWT_ACCESS_TOKEN_EXPIRES: '8s' }, '8 seconds before they move on instead of 1 minute', 'EXPIRES=15m'],
    [{ JWT_REFRESH_IDLE_EXPIRES: '16s' }, 'because of JWT_REFRESH_IDLE_EXPIRES', 'at least twice'],
  ])('with a short grace says how slow an answer may be, and what makes it short: %j', (env, shown, fix) => {
    const [finding] = check({ ...SAFE, ...env }).filter(({ id }) => id === 'refresh-grace')
    expect(finding?.title).toContain(shown)
    expect(finding?.detail).toContain('2 seconds')
    expect(finding?.fix).toContain(fix)
  })

  test.each([
    { JWT_REFRESH_GRACE: '0' },
    { JWT_REFRESH_GRACE: '10s' },
    { JWT_REFRESH_GRACE: '5m' },
    { JWT_REFRESH_GRACE: '10s', JWT_REFRESH_IDLE_EXPIRES: '20s', JWT_ACCESS_TOKEN_EXPIRES: '10s' },
  ])('with a grace of none or long enough has nothing to say: %j', (env) => {
    expect(levelsOf(check({ ...SAFE, ...env }), 'refresh-grace')).toEqual(['ok'])
  })

  test('without keys is right for an application that has them in code', () => {
    expect(levelsOf(check({ ...SAFE, JWT_SECRET_KEY: undefined }, true), 'keys-missing')).toEqual([])
  })

  test('no text has a secret or a private key', () => {
    const env = {
      ...SAFE,
      JWT_SECRET_KEY: 'hunter2',
      JWT_PREVIOUS_SECRET_KEY: 'hunter2 hunter2',
      JWT_PRIVATE_KEY: 'hunter2',
    }
    expect(JSON.stringify(check(env))).not.toContain('hunter2')
  })
})

test.each([
  [BYTES.subarray(0, 32).toString('base64url'), false],
  [BYTES.subarray(0, 32).toString('base64'), false],
  [BYTES.subarray(0, 32).toString('hex'), false],
  [BYTES.toString('hex').toUpperCase(), false],
  ['{"kty":"oct","k":"AAAA"}', false],
  ['correct horse battery staple correct horse', true],
  ['MySuperSecretKey2024MySuperSecretKey2024', true],
  ['Spring-Boot-Jwt-Signing-Key-For-Production-1', true],
  ['0'.repeat(64), true],
])('%s: whether a person typed it is %s', (secret, expected) => {
  expect(isTyped(secret)).toBe(expected)
})

test('random secrets are not taken for typed ones', () => {
  const secrets = Array.from({ length: 300 }, () => randomBytes(32))
  const typed = secrets.filter(
    (secret) => isTyped(secret.toString('base64url')) || isTyped(secret.toString('hex')),
  )
  // A secret without a digit is one in a thousand.
  expect(typed.length).toBeLessThan(10)
})

describe('the runtime', () => {
  const now = Date.UTC(2026, 10, 16)

  test.each([
    ['18.20.0', 'error'],
    ['20.18.3', 'error'],
    ['20.19.0', 'warning'],
    ['25.1.0', 'warning'],
    ['22.21.0', 'ok'],
    ['24.11.0', 'ok'],
    ['28.0.0', 'ok'],
  ])('Node %s is found as %s', (nodeVersion, level) => {
    const findings = runChecks({ nodeVersion, nodeEnv: null, now }, RUNTIME_CHECKS)
    expect(levelsOf(findings, 'node-version')).toEqual([level])
  })

  test.each([
    [null, 'note'],
    ['development', 'note'],
    ['production', 'ok'],
  ])('NODE_ENV %s is found as %s', (nodeEnv, level) => {
    const findings = runChecks({ nodeVersion: '24.0.0', nodeEnv, now }, RUNTIME_CHECKS)
    expect(levelsOf(findings, 'node-env')).toEqual([level])
  })
})
