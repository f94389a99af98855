import crypto, { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, describe, expect, test } from 'vitest'
import { importPrivateKey, importPublicKey } from '../../packages/tokenlib/src/tokens/asymmetric.js'
import type { KeyMaterial } from '../../packages/tokenlib/src/tokens/jose.js'
import { type KeyPair, keyPairFor } from '../helpers/keys.js'
import { naming } from '../helpers/naming.js'

// What Deno, Bun and workerd do with keys, done by Node. test/runtimes has the runtimes themselves.
const { createPrivateKey, createPublicKey } = crypto
const NONE = { field: 'PASSPHRASE', text: null }

function pretend(runtime: { createPrivateKey?: unknown; createPublicKey?: unknown }): void {
  Object.assign(crypto, runtime)
  syncBuiltinESMExports()
}

afterEach(() => pretend({ createPrivateKey, createPublicKey }))

const parameters = { hashAlgorithm: 'sha256', mgf1HashAlgorithm: 'sha256', saltLength: 32 }
const plain = generateKeyPairSync('rsa-pss', { modulusLength: 2048 })
const restricted = generateKeyPairSync('rsa-pss', { modulusLength: 2048, ...(parameters as object) })
const ec = keyPairFor('ES256')
const rsa = keyPairFor('RS256')

const toPem = (key: KeyObject): string =>
  key.export({ format: 'pem', type: key.type === 'private' ? 'pkcs8' : 'spki' }).toString()
const refuse = (): never => {
  throw new Error('unsupported key')
}
const importBoth = (pair: KeyPair, toForm: (key: KeyObject) => KeyMaterial) => [
  () => importPrivateKey('KEY', toForm(pair.privateKey), NONE),
  () => importPublicKey('KEY', toForm(pair.publicKey)),
]

const FORMS: readonly [string, (key: KeyObject) => KeyMaterial][] = [
  ['PEM text', (key) => toPem(key)],
  ['a KeyObject', (key) => key],
]

describe.each(FORMS)('an RSASSA-PSS key as %s', (_, toForm) => {
  test.each([
    ['without parameters', plain],
    ['with parameters', restricted],
  ])('%s is taken by Node', (_kind, pair) => {
    const [privateKey, publicKey] = importBoth(pair, toForm).map((read) => read())
    expect(privateKey?.equals(pair.privateKey as never)).toBe(true)
    expect(publicKey?.equals(pair.publicKey as never)).toBe(true)
  })

  test('is named where a runtime cannot import it, and other keys are not taken for one', () => {
    pretend({ createPrivateKey: refuse, createPublicKey: refuse })
    for (const pair of [plain, restricted]) {
      for (const read of importBoth(pair, toForm)) {
        expect(read).toThrow(naming('ConfigurationError', 'KEY', 'RSASSA-PSS'))
      }
    }
    for (const pair of [ec, rsa]) {
      for (const read of importBoth(pair, toForm)) {
        expect(read).toThrow(naming('ConfigurationError', 'KEY', 'can import'))
        expect(read).not.toThrow('RSASSA-PSS')
      }
    }
  })
})

test('where a runtime drops the parameters of an RSASSA-PSS key, a key that has some is refused', () => {
  const [plainPrivate, plainPublic] = [toPem(plain.privateKey), toPem(plain.publicKey)]
  const [privatePem, publicPem] = [toPem(restricted.privateKey), toPem(restricted.publicKey)]
  pretend({ createPrivateKey: () => plain.privateKey, createPublicKey: () => plain.publicKey })
  expect(importPrivateKey('KEY', plainPrivate, NONE)).toBe(plain.privateKey)
  expect(importPublicKey('KEY', plainPublic)).toBe(plain.publicKey)
  // The kid would not be the one that the key has on Node.
  const refusal = naming('ConfigurationError', 'KEY', 'RSASSA-PSS')
  expect(() => importPrivateKey('KEY', privatePem, NONE)).toThrow(refusal)
  expect(() => importPublicKey('KEY', publicPem)).toThrow(refusal)
})

test('nothing follows the last line of a key, because Deno would not read it', () => {
  pretend({
    createPrivateKey: (pem: string) =>
      pem.endsWith('-----END PRIVATE KEY-----') ? createPrivateKey(pem) : refuse(),
  })
  for (const end of ['', '\n', '\n\n', ' ', '\nmade for the tests\n']) {
    const key = importPrivateKey('KEY', toPem(ec.privateKey).trimEnd() + end, NONE)
    expect(key.equals(ec.privateKey as never)).toBe(true)
  }
})
