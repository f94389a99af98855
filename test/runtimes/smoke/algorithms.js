import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { createPrivateKey, createPublicKey, createSecretKey, KeyObject } from 'node:crypto'
import { createTestTokens } from 'tokenlib/testing'
import { KEYS, PSS_KEYS, SECRET, TOKENS } from '../fixtures.js'
import { ALGORITHMS, createManager, createVerifier, SECRET_BYTES } from './managers.js'

const SECRETS = {
  text: () => SECRET,
  bytes: () => SECRET_BYTES,
  Uint8Array: () => new Uint8Array(SECRET_BYTES),
  JWK: () => ({ kty: 'oct', k: SECRET }),
  KeyObject: () => createSecretKey(SECRET_BYTES),
}

const PRIVATE_FORMS = {
  PEM: ({ privatePem }) => privatePem,
  'PEM in one line': ({ privatePem }) => privatePem.replaceAll('\n', String.raw`\n`),
  JWK: ({ privateJwk }) => privateJwk,
  'JSON of a JWK': ({ privateJwk }) => JSON.stringify(privateJwk),
  KeyObject: ({ privatePem }) => createPrivateKey(privatePem),
}

const PUBLIC_FORMS = {
  PEM: ({ publicPem }) => publicPem,
  JWK: ({ publicJwk }) => publicJwk,
  'JSON of a JWK': ({ publicJwk }) => JSON.stringify(publicJwk),
  KeyObject: ({ publicPem }) => createPublicKey(publicPem),
}

const WEB_CRYPTO = {
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
}

/** Every algorithm with every form of a key, and with tokens made elsewhere. */
export const steps = [
  ...Object.keys(ALGORITHMS).flatMap((algorithm) => [
    [`${algorithm}: signs and verifies with every form of a key`, () => tryForms(algorithm)],
    [`${algorithm}: accepts a token that jose signed`, () => acceptsForeign(algorithm)],
  ]),
  ['keys that this runtime generates', tryGenerated],
  ['a CryptoKey, through KeyObject.from', tryCryptoKey],
  ...Object.entries(PSS_KEYS).map(([name, pems]) => [`an ${name} key`, () => tryPssKey(pems)]),
]

async function tryForms(algorithm) {
  const name = ALGORITHMS[algorithm]
  const [signers, verifiers] =
    name === null
      ? [openSecrets(algorithm), openSecrets(algorithm)]
      : [
          openForms(algorithm, 'JWT_PRIVATE_KEY', PRIVATE_FORMS),
          openForms(algorithm, 'JWT_PUBLIC_KEY', PUBLIC_FORMS),
        ]
  const kids = new Set()
  for (const [signs, signer] of signers) {
    const token = signer.createAccessToken({ uid: 'ada', age: 36 })
    // The text is another secret than its bytes.
    if (signs !== 'text') kids.add(JSON.parse(Buffer.from(token.split('.')[0], 'base64url').toString()).kid)
    for (const [verifies, verifier] of verifiers) {
      if (name === null && (signs === 'text') !== (verifies === 'text')) continue
      const { sub, age } = await verifier.verify(token)
      deepStrictEqual([signs, verifies, sub, age], [signs, verifies, 'ada', 36])
    }
  }
  strictEqual(kids.size, 1, 'every form of a key has the same kid')
}

function openSecrets(algorithm) {
  return Object.entries(SECRETS).map(([form, create]) => [
    form,
    createManager({ JWT_ALGORITHM: algorithm, JWT_SECRET_KEY: create() }),
  ])
}

function openForms(algorithm, field, forms) {
  return Object.entries(forms).map(([form, create]) => [
    form,
    createManager({
      JWT_SECRET_KEY: null,
      JWT_ALGORITHM: algorithm,
      [field]: create(KEYS[ALGORITHMS[algorithm]]),
    }),
  ])
}

async function acceptsForeign(algorithm) {
  const { sub, age } = await createVerifier(algorithm).verify(TOKENS[algorithm])
  deepStrictEqual([sub, age], ['ada', 36])
}

async function tryGenerated() {
  for (const algorithm of ['HS512', 'RS256', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']) {
    const { tokens, mintToken } = createTestTokens({ JWT_ALGORITHM: algorithm })
    strictEqual((await tokens.verify(mintToken({ uid: 'ada' }))).sub, 'ada')
  }
}

async function tryCryptoKey() {
  if (typeof KeyObject.from !== 'function') return 'the runtime has no KeyObject.from'
  for (const [algorithm, parameters] of Object.entries(WEB_CRYPTO)) {
    const { publicJwk } = KEYS[ALGORITHMS[algorithm]]
    const cryptoKey = await crypto.subtle.importKey('jwk', publicJwk, parameters, true, ['verify'])
    let key
    try {
      key = KeyObject.from(cryptoKey)
    } catch (error) {
      return `KeyObject.from: ${error.message}`
    }
    const verifier = createManager({ JWT_SECRET_KEY: null, JWT_ALGORITHM: algorithm, JWT_PUBLIC_KEY: key })
    strictEqual((await verifier.verify(TOKENS[algorithm])).sub, 'ada')
  }
}

// Where a key cannot be imported, the manager must say so when it is created.
async function tryPssKey({ privatePem, publicPem }) {
  let signer
  let verifier
  try {
    signer = createManager({ JWT_ALGORITHM: 'PS256', JWT_PRIVATE_KEY: privatePem })
    verifier = createManager({ JWT_SECRET_KEY: null, JWT_ALGORITHM: 'PS256', JWT_PUBLIC_KEY: publicPem })
  } catch (error) {
    const isClear = error.code === 'CONFIGURATION_INVALID' && error.message.includes('RSASSA-PSS')
    if (isClear) return error.message
    throw error
  }
  strictEqual((await verifier.verify(signer.createAccessToken({ uid: 'ada' }))).sub, 'ada')
  const { kid } = JSON.parse(
    Buffer.from(signer.createAccessToken({ uid: 'ada' }).split('.')[0], 'base64url').toString(),
  )
  strictEqual(kid, await digest(publicPem), 'the key has the same kid on every runtime')
}

async function digest(pem) {
  const der = Buffer.from(pem.replaceAll(/-----.*?-----|\s/g, ''), 'base64')
  return Buffer.from(await crypto.subtle.digest('SHA-256', der)).toString('base64url')
}
