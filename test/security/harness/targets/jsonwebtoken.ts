import { createPublicKey, type JsonWebKey, KeyObject } from 'node:crypto'
import jwt from 'jsonwebtoken'
import type { Target, VerifierOptions } from '../target.js'

/** `jsonwebtoken`: `verify` with the one algorithm. It knows no EdDSA. */
export const jsonwebtoken: Target = {
  name: 'jsonwebtoken',
  open(options) {
    const { algorithm, issuer, audience, leeway, cache } = options
    if (cache === true || algorithm?.startsWith('Ed') === true) return null
    const key = toKey(options) as string
    return (token) =>
      jwt.verify(token, key, {
        ...(algorithm !== undefined && { algorithms: [algorithm as 'HS256'] }),
        ...(issuer !== undefined && { issuer }),
        ...(audience !== undefined && { audience }),
        ...(leeway !== undefined && { clockTolerance: leeway }),
      })
  },
  isRefusal: (error) => error instanceof Error,
}

function toKey({ key }: VerifierOptions): unknown {
  if (key instanceof KeyObject) return key
  if (key instanceof Uint8Array) return Buffer.from(key)
  if (typeof key !== 'object' || key === null) return key
  if (typeof key['k'] === 'string') return Buffer.from(key['k'], 'base64url')
  return createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
}
