// Makes fixtures.js: keys for the smoke test, and tokens that `jose` signed with them.
// node test/runtimes/create-fixtures.js && npx oxfmt test/runtimes/fixtures.js
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { SignJWT } from 'jose'

/** The time of the smoke test, in epoch seconds. */
const NOW = 1_767_225_600

const ORDERS = {
  ES256: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  ES384: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  ES512:
    0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
}

const PAIRS = {
  RSA: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  Ed25519: generateKeyPairSync('ed25519'),
}
const PSS_PAIRS = {
  'rsa-pss': generateKeyPairSync('rsa-pss', { modulusLength: 2048 }),
  'rsa-pss with parameters': generateKeyPairSync('rsa-pss', {
    modulusLength: 2048,
    hashAlgorithm: 'sha256',
    mgf1HashAlgorithm: 'sha256',
    saltLength: 32,
  }),
}
const SECRET = randomBytes(64)

const ALGORITHMS = {
  ...Object.fromEntries(['HS256', 'HS384', 'HS512'].map((name) => [name, SECRET])),
  ...Object.fromEntries(
    ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map((name) => [name, PAIRS.RSA.privateKey]),
  ),
  ES256: PAIRS.ES256.privateKey,
  ES384: PAIRS.ES384.privateKey,
  ES512: PAIRS.ES512.privateKey,
  EdDSA: PAIRS.Ed25519.privateKey,
  Ed25519: PAIRS.Ed25519.privateKey,
}

const tokens = {}
for (const [algorithm, key] of Object.entries(ALGORITHMS)) tokens[algorithm] = await sign(algorithm, key)

const content = `// Made by create-fixtures.js. These keys sign nothing but the tokens of this test.

/** The time of the smoke test, in epoch seconds. */
export const NOW = ${NOW}

/** 64 bytes in base64url. */
export const SECRET = ${JSON.stringify(SECRET.toString('base64url'))}

/** Key pairs as PEM and as JWK. */
export const KEYS = ${JSON.stringify(mapValues(PAIRS, toForms), null, 2)}

/** RSA-PSS key pairs, which have no JWK. */
export const PSS_KEYS = ${JSON.stringify(mapValues(PSS_PAIRS, toPems), null, 2)}

/** A token of each algorithm, signed by \`jose\`. */
export const TOKENS = ${JSON.stringify(tokens, null, 2)}
`
writeFileSync(new URL('fixtures.js', import.meta.url), content)

// Only the lower half of the values of s is accepted; jose does not care.
async function sign(algorithm, key) {
  const token = await new SignJWT({ type: 'access', age: 36 })
    .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
    .setSubject('ada')
    .setJti(`made-by-jose-${algorithm}`)
    .setIssuedAt(NOW - 60)
    .setExpirationTime(NOW + 600)
    .sign(key)
  const order = ORDERS[algorithm]
  if (order === undefined) return token
  const signature = Buffer.from(token.split('.')[2], 'base64url')
  const s = BigInt(`0x${signature.subarray(signature.length / 2).toString('hex')}`)
  return s <= order / 2n ? token : sign(algorithm, key)
}

function toPems({ privateKey }) {
  return {
    privatePem: privateKey.export({ format: 'pem', type: 'pkcs8' }),
    publicPem: createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }),
  }
}

function toForms(pair) {
  const pems = toPems(pair)
  return {
    ...pems,
    privateJwk: createPrivateKey(pems.privatePem).export({ format: 'jwk' }),
    publicJwk: createPublicKey(pems.publicPem).export({ format: 'jwk' }),
  }
}

function mapValues(object, map) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]))
}
