import { createPublicKey, type JsonWebKey, KeyObject } from 'node:crypto'
import { createVerifier } from 'fast-jwt'
import type { Target, VerifierOptions } from '../target.js'

/** `fast-jwt`: `createVerifier` with the one algorithm. */
export const fastJwt: Target = {
  name: 'fast-jwt',
  open(options) {
    const { algorithm, issuer, audience, leeway, cache = false } = options
    const verify = createVerifier({
      key: toKey(options) as string,
      cache,
      ...(algorithm !== undefined && { algorithms: [algorithm as 'HS256'] }),
      ...(issuer !== undefined && { allowedIss: issuer }),
      ...(audience !== undefined && { allowedAud: audience }),
      ...(leeway !== undefined && { clockTolerance: leeway * 1000 }),
    })
    return (token) => verify(token) as unknown
  },
  isRefusal: (error) => error instanceof Error,
}

// It takes texts and buffers: keys of other kinds go in as PEM, as its guide has them.
function toKey({ key }: VerifierOptions): unknown {
  if (key instanceof KeyObject) {
    return key.type === 'secret' ? key.export() : key.export({ format: 'pem', type: 'spki' })
  }
  if (key instanceof Uint8Array) return Buffer.from(key)
  if (typeof key !== 'object' || key === null) return key
  if (typeof key['k'] === 'string') return Buffer.from(key['k'], 'base64url')
  return createPublicKey({ key: key as JsonWebKey, format: 'jwk' }).export({ format: 'pem', type: 'spki' })
}
