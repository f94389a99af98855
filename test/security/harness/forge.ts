import {
  constants,
  createHmac,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  KeyObject,
  sign,
} from 'node:crypto'

/** The secret of every HMAC verifier that no attack is about. */
export const SECRET = 'kT3-vQ8_wm1Zr5Yc0Jd7Hs9Lf2Ne4Pg6Bx-Ua_Ti8Oq3Rj5Mk7Wl1Cv9Dy2Fz0Eq'

/** The time at which every attack happens; epoch seconds. */
export const NOW = 1_767_225_600

/** The claims of an honest token. */
export const CLAIMS = {
  sub: 'ada',
  type: 'access',
  iat: NOW - 60,
  exp: NOW + 600,
  jti: 'honest-token',
} as const

/** What a forged token is made of; what is left out is as an honest token has it. */
export interface Forgery {
  /** An object, or the exact text or bytes of the header. */
  readonly header?: object | string | Uint8Array
  /** An object, or the exact text or bytes of the payload. */
  readonly claims?: object | string | Uint8Array
  /** How it is really signed, whatever its header says. */
  readonly algorithm?: string
  readonly key?: KeyObject | string | Uint8Array
  /** The signature itself, instead of a good one. */
  readonly signature?: Uint8Array | string
}

/** A compact token made by hand, of anything; shares no code with the library. */
export function forge(forgery: Forgery = {}): string {
  const { algorithm = 'HS256', key = SECRET, claims = CLAIMS } = forgery
  const { header = { alg: algorithm, typ: 'JWT' } } = forgery
  const input = `${encode(header)}.${encode(claims)}`
  const signature = forgery.signature ?? signInput(algorithm, key, input)
  return `${input}.${typeof signature === 'string' ? signature : encode(signature)}`
}

/** The base64url spelling of bytes, of a text, or of a value as JSON. */
export function encode(value: object | string | Uint8Array): string {
  const bytes = value instanceof Uint8Array || typeof value === 'string' ? value : JSON.stringify(value)
  return Buffer.from(bytes as string).toString('base64url')
}

/** The signature of a text by an algorithm of RFC 7518 or 8037. */
export function signInput(algorithm: string, key: KeyObject | string | Uint8Array, input: string): Buffer {
  const hash = `sha${algorithm.slice(2)}`
  const data = Buffer.from(input)
  const keyObject = key instanceof KeyObject ? key : createSecretKey(Buffer.from(key as string))
  switch (algorithm.slice(0, 2)) {
    case 'HS':
      return createHmac(hash, keyObject).update(data).digest()
    case 'RS':
      return sign(hash, data, keyObject)
    case 'PS':
      return sign(hash, data, {
        key: keyObject,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      })
    case 'ES':
      return lowS(sign(hash, data, { key: keyObject, dsaEncoding: 'ieee-p1363' }), algorithm)
    default:
      return sign(null, data, keyObject)
  }
}

// The orders of P-256, P-384 and P-521 (SEC 2).
const ORDERS: Readonly<Record<string, bigint>> = {
  ES256: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  ES384: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  ES512:
    0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
}

/** The other signature that the same r has: r and n - s. */
export function flipS(signature: Uint8Array, algorithm: string): Buffer {
  const half = signature.length / 2
  const bytes = Buffer.from(signature)
  const s = (ORDERS[algorithm] ?? 0n) - BigInt(`0x${bytes.subarray(half).toString('hex')}`)
  return Buffer.concat([bytes.subarray(0, half), Buffer.from(s.toString(16).padStart(2 * half, '0'), 'hex')])
}

// An honest token is one that everybody takes, those who want a low s too.
function lowS(signature: Buffer, algorithm: string): Buffer {
  const s = BigInt(`0x${signature.subarray(signature.length / 2).toString('hex')}`)
  return s > (ORDERS[algorithm] ?? 0n) >> 1n ? flipS(signature, algorithm) : signature
}

const CURVES: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }
const pairs = new Map<string, { readonly privateKey: KeyObject; readonly publicKey: KeyObject }>()

/** The key pair of this run for an asymmetric algorithm; RSA keys serve all of RS and PS. */
export function keyPairOf(algorithm: string): {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
} {
  const kind = /^[RP]S/.test(algorithm) ? 'RSA' : algorithm
  const known = pairs.get(kind)
  if (known !== undefined) return known
  const pair = createPair(kind)
  pairs.set(kind, pair)
  return pair
}

function createPair(kind: string): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  if (kind === 'RSA') return generateKeyPairSync('rsa', { modulusLength: 2048 })
  const curve = CURVES[kind]
  return curve === undefined
    ? generateKeyPairSync('ed25519')
    : generateKeyPairSync('ec', { namedCurve: curve })
}

/** The public half of a private key. */
export function publicHalf(privateKey: KeyObject): KeyObject {
  return createPublicKey(privateKey)
}
