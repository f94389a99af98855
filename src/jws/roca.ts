// Those up to 167 for which 65537 does not generate every residue.
const PRIMES = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157]

/**
 * Whether an RSA modulus, in its bytes, was made by the broken generator of Infineon's chips (ROCA, CVE-2017-15361).
 *
 * Its primes are powers of 65537 modulo a product of small primes, and so are their products: a modulus that is such a
 * power modulo every one of them is no accident (one in two hundred million), and can be factored from the public key.
 */
export function isRocaModulus(bytes: Uint8Array): boolean {
  const modulus = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  return PRIMES.every((prime) => isPower(Number(modulus % BigInt(prime)), prime))
}

function isPower(residue: number, prime: number): boolean {
  let power = 1
  do {
    if (power === residue) return true
    power = (power * 65_537) % prime
  } while (power !== 1)
  return false
}
