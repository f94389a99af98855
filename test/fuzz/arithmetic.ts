/** The curves of ES256, ES384 and ES512. */
export type CurveName = 'P-256' | 'P-384' | 'P-521'

/** A curve, as far as signatures need it. */
export interface Curve {
  /** As OpenSSL calls it. */
  readonly name: string
  readonly crv: CurveName
  /** Bytes of a coordinate, of r and of s. */
  readonly size: number
  readonly order: bigint
}

/** The orders are those of FIPS 186-4 appendix D.1.2, in the decimal form it gives them in. */
export const CURVES: Readonly<Record<CurveName, Curve>> = {
  'P-256': {
    name: 'prime256v1',
    crv: 'P-256',
    size: 32,
    order: 115792089210356248762697446949407573529996955224135760342422259061068512044369n,
  },
  'P-384': {
    name: 'secp384r1',
    crv: 'P-384',
    size: 48,
    order:
      39402006196394479212279040100143613805079739270465446667946905279627659399113263569398956308152294913554433653942643n,
  },
  'P-521': {
    name: 'secp521r1',
    crv: 'P-521',
    size: 66,
    order:
      6864797660130609714981900799081393217269435300143305409394463459185543183397655394245057746333217197532963996371363321113864768612440380340372808892707005449n,
  },
}

/** The order of the Ed25519 group (RFC 8032 §5.1). */
export const ED25519_ORDER: bigint = 2n ** 252n + 27742317777372353535851937790883648493n

/** Bytes as one number, the highest first. */
export function fromBytes(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}

/** A number as bytes, the highest first: as many as it needs, and at least `size`. */
export function toBytes(value: bigint, size = 1): Buffer {
  const digits = value.toString(16)
  return Buffer.from(digits.padStart(Math.max(2 * size, digits.length + (digits.length % 2)), '0'), 'hex')
}

/** The number that times `value` leaves 1, by Euclid's algorithm. */
export function invert(value: bigint, modulus: bigint): bigint {
  let [a, b] = [((value % modulus) + modulus) % modulus, modulus]
  let [x, y] = [1n, 0n]
  while (b > 0n) {
    const quotient = a / b
    ;[a, b] = [b, a - quotient * b]
    ;[x, y] = [y, x - quotient * y]
  }
  if (a !== 1n) throw new RangeError('The numbers have a common factor')
  return ((x % modulus) + modulus) % modulus
}
