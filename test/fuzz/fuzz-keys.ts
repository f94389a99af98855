import {
  checkPrimeSync,
  createECDH,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  type KeyObject,
} from 'node:crypto'
import { CURVES, type CurveName, fromBytes, invert, toBytes } from './arithmetic.js'
import type { Random } from './random.js'

/** A key that a seed determines: made again, it is the same. */
export interface FuzzKey {
  readonly kind: 'secret' | 'rsa' | 'ed25519' | CurveName
  /** The secret itself, or the private key. */
  readonly signing: KeyObject
  /** The secret itself, or the public key. */
  readonly verifying: KeyObject
}

/** A secret as long as the longest hash, so that it serves every HMAC algorithm. */
export function createSecret(random: Random): FuzzKey {
  const secret = createSecretKey(random.bytes(64))
  return { kind: 'secret', signing: secret, verifying: secret }
}

/** An Ed25519 key. */
export function createEd25519Key(random: Random): FuzzKey {
  // RFC 8410 §7: a private key in PKCS #8 is this start and 32 bytes.
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), random.bytes(32)])
  return toPair('ed25519', createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
}

/** A key on a curve. */
export function createEcKey(random: Random, curve: CurveName): FuzzKey {
  const { name, crv, size, order } = CURVES[curve]
  const secret = toBytes((fromBytes(random.bytes(size + 8)) % (order - 1n)) + 1n, size)
  const ecdh = createECDH(name)
  ecdh.setPrivateKey(secret)
  const point = ecdh.getPublicKey()
  const jwk = {
    kty: 'EC',
    crv,
    d: secret.toString('base64url'),
    x: point.subarray(1, 1 + size).toString('base64url'),
    y: point.subarray(1 + size).toString('base64url'),
  }
  return toPair(curve, createPrivateKey({ key: jwk, format: 'jwk' }))
}

/** An RSA key of 2048 bits. */
export function createRsaKey(random: Random): FuzzKey {
  const p = findPrime(random)
  const q = findPrime(random)
  const d = invert(EXPONENT, (p - 1n) * (q - 1n))
  const members = { n: p * q, e: EXPONENT, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: invert(q, p) }
  const jwk = Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, toBytes(value).toString('base64url')]),
  )
  return toPair('rsa', createPrivateKey({ key: { kty: 'RSA', ...jwk }, format: 'jwk' }))
}

/** The same public key, marked for RSA-PSS alone (RFC 4055 §3.1), for any hash or for SHA-256. */
export function toPssKey(publicKey: KeyObject, parameters: 'any' | 'sha256'): KeyObject {
  const bits = Buffer.concat([Buffer.of(0), publicKey.export({ format: 'der', type: 'pkcs1' })])
  const algorithm = Buffer.from(PSS_IDENTIFIER[parameters], 'hex')
  const der = derBlock(0x30, Buffer.concat([algorithm, derBlock(0x03, bits)]))
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}

const EXPONENT = 65_537n

// AlgorithmIdentifier of id-RSASSA-PSS: without parameters, and with SHA-256, MGF1 by SHA-256 and 32 bytes of salt.
const PSS_IDENTIFIER = {
  any: '300b06092a864886f70d01010a',
  sha256:
    '304106092a864886f70d01010a3034a00f300d06096086480165030402010500' +
    'a11c301a06092a864886f70d010108300d06096086480165030402010500a203020120',
} as const

const SMALL_PRIMES = [...Array(2000).keys()].filter(
  (number) => number > 2 && ![...Array(44).keys()].some((by) => by > 1 && by < number && number % by === 0),
)

function toPair(kind: FuzzKey['kind'], privateKey: KeyObject): FuzzKey {
  return { kind, signing: privateKey, verifying: createPublicKey(privateKey) }
}

// 1024 bits, the two highest set so that two of them make 2048. Small factors are looked for first: OpenSSL's own
// test takes milliseconds.
function findPrime(random: Random): bigint {
  const start = fromBytes(random.bytes(128)) | (3n << 1022n) | 1n
  const remainders = SMALL_PRIMES.map((prime) => Number(start % BigInt(prime)))
  for (let step = 0; ; step += 2) {
    const hasSmallFactor = SMALL_PRIMES.some((prime, at) => ((remainders[at] as number) + step) % prime === 0)
    const candidate = start + BigInt(step)
    if (!hasSmallFactor && candidate % EXPONENT !== 1n && checkPrimeSync(candidate)) return candidate
  }
}

function derBlock(tag: number, content: Buffer): Buffer {
  // Two bytes of length will do for everything here.
  return Buffer.concat([Buffer.of(tag, 0x82, content.length >> 8, content.length & 0xff), content])
}
