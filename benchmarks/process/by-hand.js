import { createHmac, timingSafeEqual, verify } from 'node:crypto'

/**
 * The least that gets from a token to its claims: the signature, JSON and the expiry, and none of the other checks.
 *
 * @param {ReturnType<typeof import('../tokens.js').createKeys>} keys
 * @returns {import('./verifiers.js').Verifier}
 */
export function createByHand({ algorithm, publicKey }) {
  const isGenuine = createSignatureCheck(algorithm, publicKey)
  return {
    name: 'node:crypto by hand',
    verify(token) {
      const end = token.lastIndexOf('.')
      const signature = Buffer.from(token.slice(end + 1), 'base64url')
      if (!isGenuine(token.slice(0, end), signature)) throw new Error('The signature is wrong')
      const encoded = token.slice(token.indexOf('.') + 1, end)
      const claims = JSON.parse(Buffer.from(encoded, 'base64url').toString())
      if (claims.exp * 1000 <= Date.now()) throw new Error('The token has expired')
      return claims
    },
  }
}

/** Returns a function that checks signatures, which are bytes. */
export function createSignatureCheck(algorithm, publicKey) {
  if (algorithm === 'HS256') {
    return (input, signature) => {
      const mac = createHmac('sha256', publicKey).update(input).digest()
      return mac.length === signature.length && timingSafeEqual(mac, signature)
    }
  }
  const key = algorithm === 'ES256' ? { key: publicKey, dsaEncoding: 'ieee-p1363' } : publicKey
  const hash = algorithm === 'EdDSA' ? null : 'sha256'
  return (input, signature) => verify(hash, Buffer.from(input), key, signature)
}
