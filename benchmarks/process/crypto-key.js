const IMPORTS = {
  HS256: { name: 'HMAC', hash: 'SHA-256' },
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  EdDSA: { name: 'Ed25519' },
}

/**
 * A key for Web Crypto, which `jose` and `hono/jwt` are built on.
 *
 * @param {import('node:crypto').KeyObject} key
 * @param {keyof typeof IMPORTS} algorithm
 * @param {'sign' | 'verify'} usage
 */
export async function toCryptoKey(key, algorithm, usage) {
  const [format, bytes] =
    key.type === 'secret'
      ? ['raw', key.export()]
      : key.type === 'public'
        ? ['spki', key.export({ format: 'der', type: 'spki' })]
        : ['pkcs8', key.export({ format: 'der', type: 'pkcs8' })]
  return crypto.subtle.importKey(format, bytes, IMPORTS[algorithm], false, [usage])
}
