const FIELD_PRIME = 2n ** 255n - 19n

/**
 * Whether an Ed25519 public key, in its 32 bytes (RFC 8032 §5.1.2), is one of the few points that eight times added to
 * themselves are nothing.
 *
 * With such a key anyone can sign: the part of the equation that the private key decides vanishes. Of those points y is
 * 0 or ±1, or they are halves of the ones with y = 0: there x² = -y², which put into the equation of the curve gives
 * the last factor.
 */
export function isSmallOrder(bytes: Uint8Array): boolean {
  const integer = BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`)
  // The highest bit is the sign of x.
  const y = BigInt.asUintN(255, integer)
  const square = y * y
  return (
    (y * (square - 1n) * (121_665n * square * square - 243_332n * square + 121_666n)) % FIELD_PRIME === 0n
  )
}
