import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

/** Arithmetic modulo n: base to the power of exponent. */
export function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n
  let square = base % modulus
  for (let bits = exponent; bits > 0n; bits >>= 1n) {
    if (bits & 1n) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

/** An integer as big-endian bytes, filled up with zeros. */
export function toBytes(value: bigint, length = Math.ceil(value.toString(16).length / 2)): Buffer {
  return Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex')
}

/** Big-endian bytes as an integer. */
export function toInteger(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`)
}

/**
 * A 2048-bit RSA key as Infineon's chips made them (ROCA, CVE-2017-15361): each prime is k·M + (65537^a mod M), where M
 * is the product of the first 126 primes. A chip chooses k and a at random; these two pairs are known to give primes.
 */
export function createRocaKey(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  const product = firstPrimes(126).reduce((all, prime) => all * prime, 1n)
  // From here on the two highest bits are set, so that the product of two primes has 2048 bits.
  const least = (3n << 1022n) / product + 1n
  const toPrime = (k: bigint, a: bigint): bigint => (least + k) * product + power(65_537n, a, product)
  const jwk = toPrivateJwk(toPrime(60n, 1001n), toPrime(280n, 1002n))
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
  return { privateKey, publicKey: createPublicKey(privateKey) }
}

function toPrivateJwk(p: bigint, q: bigint) {
  const e = 65_537n
  const phi = (p - 1n) * (q - 1n)
  const d = inverse(e, phi)
  const members = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) }
  const encoded = Object.entries(members).map(([name, value]) => [name, toBytes(value).toString('base64url')])
  return { kty: 'RSA', ...(Object.fromEntries(encoded) as Record<string, string>) }
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [previous, current] = [modulus, value % modulus]
  let [factor, next] = [0n, 1n]
  while (current !== 0n) {
    const quotient = previous / current
    ;[previous, current] = [current, previous - quotient * current]
    ;[factor, next] = [next, factor - quotient * next]
  }
  return ((factor % modulus) + modulus) % modulus
}

function firstPrimes(count: number): bigint[] {
  const primes: bigint[] = []
  for (let value = 2n; primes.length < count; value++) {
    if (primes.every((prime) => value % prime !== 0n)) primes.push(value)
  }
  return primes
}
