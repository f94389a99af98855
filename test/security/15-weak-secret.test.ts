import { existsSync, readFileSync } from 'node:fs'
import { expect, TestRunner } from 'vitest'
import { ConfigurationError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { forge } from './harness/forge.js'
import { LONG_SECRET } from './harness/keys-for.js'

const create = (JWT_SECRET_KEY: string) => new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY }) })

// From guides, examples and defaults of public code: long enough, and the first that an attacker tries.
const PUBLISHED = [
  'JWTSecretKeyDontUseInProduction!',
  'LongDefaultSecretKeyForEncryption',
  'THIS IS SUPER SECRET, DO NOT SHARE!',
  'change_this_super_secret_random_string',
  'a-fake-secret-for-development-temp-use',
  // Of the example tokens at jwt.io, for 256, 384 and 512 bits.
  'a-string-secret-at-least-256-bits-long',
  'a-valid-string-secret-that-is-at-least-384-bits-long',
  'a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long',
]

// The published list of wallarm/jwt-secrets, next to the project; not part of it.
const LIST = new URL('../../../shared/vectors/weak-secrets/jwt.secrets.list', import.meta.url)

describeAttacks('a secret that can be guessed (CVE-2025-45768, CVE-2025-45769, RFC 7518 §3.2)', () => {
  attack('a secret of fewer bytes than the hash has', async ({ refusesKey }) => {
    for (const [algorithm, size] of [
      ['HS256', 32],
      ['HS384', 48],
      ['HS512', 64],
    ] as const) {
      for (const length of [1, 6, 16, size - 1]) {
        const key = LONG_SECRET.slice(0, length)
        await refusesKey({ algorithm, key }, forge({ algorithm, key }))
      }
    }
  })

  attack('a secret that everyone can look up', async ({ refusesKey }) => {
    for (const key of PUBLISHED) await refusesKey({ algorithm: 'HS256', key }, forge({ key }))
  })

  attack('a secret that repeats one character or two', async ({ refusesKey }) => {
    for (const part of ['a', '0', ' ', '\0', '\n', '*', 'ab', '01', 'xX', 'abc', '123']) {
      const key = part.repeat(64)
      for (const algorithm of ['HS256', 'HS512'] as const) {
        await refusesKey({ algorithm, key }, forge({ algorithm, key }))
      }
    }
  })

  attack('a secret of zeros, which is as good as an empty one', async ({ refusesKey }) => {
    // RFC 2104 §2 fills a short key up with zeros: these sign what an empty key signs.
    for (const key of [Buffer.alloc(32), Buffer.alloc(64)]) {
      await refusesKey({ algorithm: 'HS256', key }, forge({ key: '' }))
    }
  })

  ownAttack('every eighth secret of a published list', () => {
    if (!existsSync(LIST)) TestRunner.getCurrentTest()?.context.skip('the list of secrets is not there')
    const long = readFileSync(LIST, 'utf8')
      .split('\n')
      .filter((line) => Buffer.byteLength(line) >= 32)
    // The tests of published vectors try them all.
    const secrets = long.filter((_, at) => at % 8 === 0)
    expect(() => create(LONG_SECRET)).not.toThrow()
    expect(secrets.length).toBeGreaterThan(200)
    const taken = secrets.filter((secret) => {
      try {
        create(secret)
        return true
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error
        return false
      }
    })
    expect(taken).toStrictEqual([])
  })
})
