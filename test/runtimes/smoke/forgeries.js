import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'
import { toBytes, toInteger } from '../../security/harness/broken-rsa.js'
import {
  createForgedBlocks,
  FORGED_PSS,
  pad,
  padPss,
  signBlock,
  toDigestInfo,
} from '../../security/harness/rsa-padding.js'
import { strictEqual } from 'node:assert/strict'
import { KEYS, SECRET, TOKENS } from '../fixtures.js'
import { ALGORITHMS, createManager, createVerifier, encode, NOT_GENUINE, refuses } from './managers.js'

const { privateJwk } = KEYS.RSA
const payloadOf = (algorithm) => TOKENS[algorithm].split('.')[1]
const inputOf = (algorithm) => `${encode({ alg: algorithm, typ: 'JWT' })}.${payloadOf(algorithm)}`
const INPUT = inputOf('RS256')

const ORDERS = {
  ES256: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  ES384: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  ES512:
    0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
}
// The order of the base point (RFC 8032 §5.1).
const ED25519_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n

/** Forged and respelled tokens; each step first shows that the honest token passes. */
export const steps = [
  ...['HS256', 'RS256', 'PS256', 'ES256', 'EdDSA'].flatMap((algorithm) => [
    [`${algorithm}: a changed header, payload or signature is refused`, () => tryChanges(algorithm)],
    [
      `${algorithm}: another spelling of a token is refused`,
      () => tryAll(algorithm, respell(TOKENS[algorithm])),
    ],
  ]),
  ['the algorithm none is refused', tryNone],
  ['a public key as an HMAC secret is refused', tryConfusion],
  ['a secret that is too short, published, or a public key is refused', tryBadSecrets],
  ['a PSS signature is refused where PKCS #1 v1.5 is demanded', () => tryBlocks([padPss(INPUT)])],
  ['a PKCS #1 v1.5 signature is refused where PSS is demanded', tryPkcs1AsPss],
  ...Object.entries(createForgedBlocks(INPUT)).map(([what, blocks]) => [
    `PKCS #1 v1.5: ${what} is refused`,
    () => tryBlocks(blocks),
  ]),
  ['PSS: a salt of another length is refused', trySalts],
  ['PSS: another hash, mask or end is refused', () => tryPss('PS256', FORGED_PSS)],
  ['an RSA signature as another number is refused', tryOtherNumbers],
  ...Object.keys(ORDERS).map((algorithm) => [
    `${algorithm}: zero, DER and high s are refused`,
    () => tryEcdsa(algorithm),
  ]),
  ['EdDSA: S plus the order is refused', tryLargeS],
]

/** Asserts that the honest token passes, and that none of the others does. */
async function tryAll(algorithm, tokens) {
  const verifier = createVerifier(algorithm)
  strictEqual((await verifier.verify(TOKENS[algorithm])).sub, 'ada')
  for (const token of tokens)
    if (token !== TOKENS[algorithm]) await refuses(verifier.verify(token), ...NOT_GENUINE)
}

function tryChanges(algorithm) {
  const [header, payload, signature] = TOKENS[algorithm].split('.')
  const claims = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), sub: 'mallory' }
  const bytes = Buffer.from(signature, 'base64url')
  const flipped = [0, 1, bytes.length >> 1, bytes.length - 1].map((at) => {
    const copy = Buffer.from(bytes)
    copy[at] ^= 1
    return `${header}.${payload}.${encode(copy)}`
  })
  return tryAll(algorithm, [
    ...flipped,
    `${header}.${encode(claims)}.${signature}`,
    `${encode({ alg: algorithm, typ: 'JWT', kid: 'another' })}.${payload}.${signature}`,
    `${header}.${payload}.`,
    `${header}.${payload}`,
    `${header}.${payload}.${encode(bytes.subarray(1))}`,
    `${header}.${payload}.${encode(Buffer.concat([bytes, Buffer.alloc(1)]))}`,
    `${header}.${payload}.${encode(Buffer.concat([Buffer.alloc(1), bytes]))}`,
  ])
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

function* respell(token) {
  const segments = token.split('.')
  for (const [at, segment] of segments.entries()) {
    const replace = (text) => segments.map((each, index) => (index === at ? text : each)).join('.')
    for (const character of ALPHABET) yield replace(segment.slice(0, -1) + character)
    for (const end of ['=', '==', '%3D', ' ', '\n', '\0', 'A', '\u200B']) {
      yield replace(segment + end)
      yield replace(end + segment)
    }
    yield replace(segment.replaceAll('-', '+').replaceAll('_', '/'))
    yield replace(`${segment.slice(0, 4)}\n${segment.slice(4)}`)
  }
}

async function tryNone() {
  for (const alg of ['none', 'None', 'NONE', 'nOnE', '', 'HS256 ', 'hs256']) {
    const input = `${encode({ alg, typ: 'JWT' })}.${payloadOf('HS256')}`
    const signature = createHmac('sha256', Buffer.from(SECRET, 'base64url')).update(input).digest('base64url')
    await tryAll('HS256', [`${input}.`, input, `${input}.${signature}`])
    await tryAll('RS256', [`${input}.`, input, `${input}.${signature}`])
  }
}

async function tryConfusion() {
  for (const algorithm of Object.keys(ALGORITHMS).filter((name) => ALGORITHMS[name] !== null)) {
    const { publicPem, publicJwk } = KEYS[ALGORITHMS[algorithm]]
    const der = Buffer.from(publicPem.replaceAll(/-----.*?-----|\s/g, ''), 'base64')
    const tokens = [publicPem, publicPem.trim(), JSON.stringify(publicJwk), der].flatMap((secret) =>
      ['HS256', algorithm].map((alg) => {
        const input = `${encode({ alg, typ: 'JWT' })}.${payloadOf(algorithm)}`
        return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
      }),
    )
    await tryAll(algorithm, tokens)
  }
}

async function tryBadSecrets() {
  const { publicPem, publicJwk } = KEYS.RSA
  for (const secret of [
    '',
    'too-short',
    'a'.repeat(64),
    'your-256-bit-secret-your-256-bit-secret'.slice(0, 19),
    publicPem,
    JSON.stringify(publicJwk),
  ]) {
    await refuses(() => createManager({ JWT_SECRET_KEY: secret }), 'CONFIGURATION_INVALID')
  }
}

async function tryBlocks(blocks) {
  const sign = (block) => `${INPUT}.${encode(signBlock(privateJwk, block))}`
  // The right block, made in the same way: the others are refused for what is in them.
  const honest = sign(pad(toDigestInfo('sha256', INPUT)))
  strictEqual((await createVerifier('RS256').verify(honest)).sub, 'ada')
  await tryAll('RS256', blocks.map(sign))
}

async function tryPss(algorithm, variants) {
  const bits = Number(algorithm.slice(2))
  const input = inputOf(algorithm)
  const right = { hash: `sha${bits}`, salt: Buffer.alloc(bits / 8, 7) }
  const sign = (options) =>
    `${input}.${encode(signBlock(privateJwk, padPss(input, { ...right, ...options })))}`
  strictEqual((await createVerifier(algorithm).verify(sign({}))).sub, 'ada')
  await tryAll(algorithm, variants.map(sign))
}

async function tryPkcs1AsPss() {
  for (const bits of [256, 384, 512]) {
    const input = inputOf(`PS${bits}`)
    const block = pad(toDigestInfo(`sha${bits}`, input))
    await tryAll(`PS${bits}`, [`${input}.${encode(signBlock(privateJwk, block))}`])
  }
}

async function trySalts() {
  const salts = (lengths) => lengths.map((length) => ({ salt: Buffer.alloc(length, 7) }))
  await tryPss('PS256', salts([0, 20, 31, 33, 64, 222]))
  await tryPss('PS384', salts([0, 32, 47, 49, 64, 206]))
  await tryPss('PS512', salts([0, 32, 63, 65, 190]))
}

async function tryOtherNumbers() {
  const modulus = toInteger(Buffer.from(privateJwk.n, 'base64url'))
  for (const algorithm of ['RS256', 'PS256']) {
    const [header, payload, signature] = TOKENS[algorithm].split('.')
    const value = toInteger(Buffer.from(signature, 'base64url'))
    const others = [value + modulus, modulus - value, 0n, 1n, modulus - 1n, modulus]
    await tryAll(
      algorithm,
      others.flatMap((other) =>
        [256, 257].map((size) => `${header}.${payload}.${encode(toBytes(other, size))}`),
      ),
    )
  }
}

async function tryEcdsa(algorithm) {
  const [header, payload, signature] = TOKENS[algorithm].split('.')
  const bytes = Buffer.from(signature, 'base64url')
  const size = bytes.length / 2
  const [r, s] = [bytes.subarray(0, size), bytes.subarray(size)]
  const order = ORDERS[algorithm]
  const edges = [0n, 1n, order - 1n, order].map((value) => toBytes(value, size))
  const forged = [
    ...edges.flatMap((value) => [...edges.map((other) => [value, other]), [value, s], [r, value]]),
    [r, toBytes(order - toInteger(s), size)],
    [toDer(r, s)],
  ]
  await tryAll(
    algorithm,
    forged.map((parts) => `${header}.${payload}.${encode(Buffer.concat(parts))}`),
  )
}

// RFC 3279 §2.2.3.
function toDer(...integers) {
  const parts = integers.map((integer) => {
    const digits = toBytes(toInteger(integer))
    const positive = digits[0] >= 0x80 ? Buffer.concat([Buffer.alloc(1), digits]) : digits
    return Buffer.concat([Buffer.from([2, positive.length]), positive])
  })
  const content = Buffer.concat(parts)
  const length = content.length < 0x80 ? [content.length] : [0x81, content.length]
  return Buffer.concat([Buffer.from([0x30, ...length]), content])
}

async function tryLargeS() {
  const [header, payload, signature] = TOKENS.EdDSA.split('.')
  const bytes = Buffer.from(signature, 'base64url')
  const s = toInteger(bytes.subarray(32).toReversed()) + ED25519_ORDER
  const forged = Buffer.concat([bytes.subarray(0, 32), toBytes(s, 32).toReversed()])
  await tryAll('EdDSA', [`${header}.${payload}.${encode(forged)}`])
}
