import {
  createPrivateKey,
  createPublicKey,
  generatePrimeSync,
  type KeyPairKeyObjectResult,
} from 'node:crypto'

interface PrimePool {
  readonly primes: bigint[]
  /** The pairs of primes that are keys already, as `p,q`. */
  readonly used: Set<string>
}

// Of this thread, by the length of a prime: this file may be loaded more than once.
const shared = globalThis as { primePools?: Map<number, PrimePool> }
const pools = (shared.primePools ??= new Map<number, PrimePool>())

/**
 * A new RSA key pair, which no call before has returned.
 *
 * To find its primes is what makes an RSA key slow. A prime is part of several keys here, so that eleven primes are enough
 * for fifty keys. Anybody who has two of them can break both, which no test tries.
 */
export function generateRsa(modulusLength: number, exponent = 65_537): KeyPairKeyObjectResult {
  const [p, q] = takePrimes(modulusLength / 2, BigInt(exponent))
  const e = BigInt(exponent)
  const d = invert(e, (p - 1n) * (q - 1n))
  const numbers = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: invert(q, p) }
  const members = Object.entries(numbers).map(([name, value]) => [name, toBase64Url(value)])
  const key = { kty: 'RSA', ...(Object.fromEntries(members) as object) }
  const privateKey = createPrivateKey({ key, format: 'jwk' })
  return { privateKey, publicKey: createPublicKey(privateKey) }
}

/** The same key pair for RSASSA-PSS alone (RFC 4055 §3.1); without `parameters` for every hash. */
export function toPssPair(
  { privateKey }: KeyPairKeyObjectResult,
  parameters?: PssParameters,
): KeyPairKeyObjectResult {
  const fields = parameters === undefined ? [] : [toPssParameters(parameters)]
  const identifier = toDer(0x30, Buffer.from('06092a864886f70d01010a', 'hex'), ...fields)
  const body = toDer(0x04, privateKey.export({ format: 'der', type: 'pkcs1' }))
  const key = createPrivateKey({
    key: toDer(0x30, Buffer.from('020100', 'hex'), identifier, body),
    format: 'der',
    type: 'pkcs8',
  })
  return { privateKey: key, publicKey: createPublicKey(key) }
}

export interface PssParameters {
  readonly hashAlgorithm: string
  readonly mgf1HashAlgorithm: string
  readonly saltLength: number
}

const HASHES = ['sha256', 'sha384', 'sha512']

function toPssParameters({ hashAlgorithm, mgf1HashAlgorithm, saltLength }: PssParameters): Buffer {
  const hash = (name: string): Buffer =>
    toDer(0x30, Buffer.from(`060960864801650304020${HASHES.indexOf(name) + 1}0500`, 'hex'))
  const mask = toDer(0x30, Buffer.from('06092a864886f70d010108', 'hex'), hash(mgf1HashAlgorithm))
  return toDer(
    0x30,
    toDer(0xa0, hash(hashAlgorithm)),
    toDer(0xa1, mask),
    toDer(0xa2, Buffer.from([0x02, 0x01, saltLength])),
  )
}

function toDer(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const size = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), body])
}

function takePrimes(bits: number, exponent: bigint): readonly [bigint, bigint] {
  const pool = pools.get(bits) ?? { primes: [], used: new Set() }
  pools.set(bits, pool)
  for (;;) {
    const fitting = pool.primes.filter((prime) => (prime - 1n) % exponent !== 0n)
    for (const [at, p] of fitting.entries()) {
      for (const q of fitting.slice(0, at)) {
        const name = `${p},${q}`
        if (pool.used.has(name)) continue
        pool.used.add(name)
        return [p, q]
      }
    }
    // OpenSSL sets the two highest bits, so that a product has all of its bits.
    pool.primes.push(generatePrimeSync(bits, { bigint: true }))
  }
}

function invert(value: bigint, modulus: bigint): bigint {
  let [r, next, x, nextX] = [modulus, value % modulus, 0n, 1n]
  while (next !== 0n) {
    const quotient = r / next
    ;[r, next] = [next, r - quotient * next]
    ;[x, nextX] = [nextX, x - quotient * nextX]
  }
  return x < 0n ? x + modulus : x
}

function toBase64Url(value: bigint): string {
  const hex = value.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
}
