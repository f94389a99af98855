import { createHash, createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { TokenConfig, type TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { keyPairFor } from '../helpers/keys.js'
import { createLeakRecord } from './leak-record.js'
import { HEX_WINDOW, secretsOfConfig } from './secret-texts.js'

/** Those texts in which something of the keys of a configuration is. */
function findLeaks(options: TokenConfigOptions, texts: readonly string[]): string[] {
  const record = createLeakRecord()
  for (const secret of secretsOfConfig(new TokenConfig(options))) record.addSecret(secret)
  for (const text of texts) record.show('log lines', () => [{ origin: text, text }])
  const found = new Set(record.search().map(({ origin }) => origin))
  return texts.filter((text) => found.has(text))
}

// Always the same: what they look like in UTF-8 is a matter of luck.
const bytesOf = (text: string): Buffer => createHash('sha256').update(text).digest()

const BYTES = bytesOf('a secret')
const TEXT = 'correct horse battery staple, and more'
const GERMAN = 'Zwölf Boxkämpfer jagen Viktor'

const SECRETS: readonly [form: string, secret: TokenConfigOptions['JWT_SECRET_KEY'], bytes: Buffer][] = [
  ['text', TEXT, Buffer.from(TEXT)],
  ['text beyond ASCII', GERMAN, Buffer.from(GERMAN)],
  ['a Buffer', BYTES, BYTES],
  ['a Uint8Array', new Uint8Array(BYTES), BYTES],
  ['a KeyObject', createSecretKey(BYTES), BYTES],
  ['a JWK', { kty: 'oct', k: BYTES.toString('base64url') }, BYTES],
  ['a JWK as JSON', JSON.stringify({ kty: 'oct', k: BYTES.toString('base64url') }), BYTES],
]

const SHOWN: readonly [way: string, show: (bytes: Buffer) => string][] = [
  ['in UTF-8', (bytes) => bytes.toString('utf8')],
  ['in Latin-1', (bytes) => bytes.toString('latin1')],
  ['in hex', (bytes) => bytes.toString('hex')],
  ['in upper-case hex', (bytes) => bytes.toString('hex').toUpperCase()],
  ['in base64', (bytes) => bytes.toString('base64')],
  ['in base64url', (bytes) => bytes.toString('base64url')],
  ['as an inspected Buffer', (bytes) => inspect(bytes)],
  ['as an inspected Uint8Array', (bytes) => inspect({ deep: new Uint8Array(bytes) })],
  ['as the JSON of a Buffer', (bytes) => JSON.stringify({ bytes })],
  ['as an inspected JWK', (bytes) => inspect({ kty: 'oct', k: bytes.toString('base64url') })],
]

test.each(SECRETS)('a secret that is %s is recognised, whichever way it is shown', (_, secret, bytes) => {
  for (const [way, show] of SHOWN) {
    const [shown, other] = [show(bytes), show(bytesOf('another'))]
    for (const field of ['JWT_SECRET_KEY', 'JWT_PREVIOUS_SECRET_KEY'])
      expect(findLeaks({ [field]: secret }, [shown, other]), way).toEqual([shown])
  }
})

const KEYS: readonly [type: string, key: KeyObject, members: readonly string[]][] = [
  ['RSA', keyPairFor('RS256').privateKey, ['d', 'p', 'q', 'dp', 'dq', 'qi']],
  ['RSA-PSS', generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey, []],
  ['EC', keyPairFor('ES256').privateKey, ['d']],
  ['Ed25519', keyPairFor('EdDSA').privateKey, ['d']],
]

test.each(KEYS)('a private key of type %s is recognised in every form', (type, key, members) => {
  const pem = key.export({ format: 'pem', type: 'pkcs8' }).toString()
  const der = key.export({ format: 'der', type: 'pkcs8' })
  const jwk = type === 'RSA-PSS' ? {} : { ...key.export({ format: 'jwk' }) }
  const lastOf = (text: unknown, length = 8): string => `|${String(text).slice(-length)}|`
  const lines = pem
    .trim()
    .split('\n')
    .slice(1, -1)
    .map((line) => lastOf(line))
  const shown = [
    ...lines,
    ...members.map((member) => lastOf(jwk[member])),
    lastOf(der.toString('hex'), HEX_WINDOW),
    inspect(der.subarray(-40)),
  ]
  const forms: readonly TokenConfigOptions[] = [
    { JWT_PRIVATE_KEY: key },
    { JWT_PRIVATE_KEY: pem },
    // In the wrong field, and as a secret.
    { JWT_PUBLIC_KEY: pem },
    { JWT_SECRET_KEY: pem },
    ...(members.length === 0 ? [] : [{ JWT_PRIVATE_KEY: jwk }]),
  ]
  for (const options of forms) expect(findLeaks(options, shown), inspect(options)).toEqual(shown)
  // In one line, as in a variable.
  expect(findLeaks({ JWT_PRIVATE_KEY: pem.replaceAll('\n', '\\n') }, lines)).toEqual(lines)
})

test('digits of a number that are in the hex of a secret by chance are no leak', () => {
  const digits = '731669084253'
  const secret = Buffer.from(`ab${digits}cd${BYTES.toString('hex')}`, 'hex')
  const numberWith = (length: number): string => `{"claim":0.${digits.slice(0, length)}}`
  const [short, long] = [numberWith(HEX_WINDOW - 1), numberWith(HEX_WINDOW)]
  expect(findLeaks({ JWT_SECRET_KEY: secret }, [short])).toEqual([])
  expect(findLeaks({ JWT_SECRET_KEY: secret }, [long])).toEqual([long])
})

test('a public key is no secret', () => {
  const { publicKey } = keyPairFor('ES256')
  const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString()
  for (const key of [publicKey, pem, { ...publicKey.export({ format: 'jwk' }) }])
    expect(secretsOfConfig(new TokenConfig({ JWT_PUBLIC_KEY: key }))).toEqual([])
})

test('what Node cannot read as a key is private as it stands', () => {
  const [first, last] = ['-----BEGIN PRIVATE KEY-----', '-----END PRIVATE KEY-----']
  const broken = `${first}\nMC4CAQAwBQYDK2VwBCIEIJ\n${last}`
  expect(findLeaks({ JWT_PRIVATE_KEY: broken }, [first, '|MC4CAQAw|', last])).toEqual(['|MC4CAQAw|'])
})
