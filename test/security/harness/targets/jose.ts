import { KeyObject } from 'node:crypto'
import { type CryptoKey, importJWK, importSPKI, type JWK, jwtVerify, type KeyObject as JoseKey } from 'jose'
import type { Target, VerifierOptions } from '../target.js'

/** `jose`: `jwtVerify` with the one algorithm. */
export const jose: Target = {
  name: 'jose',
  async open(options) {
    const { algorithm, issuer, audience, leeway, cache } = options
    if (cache === true) return null
    const key = await importKey(options)
    return async (token) => {
      const { payload } = await jwtVerify(token, key as CryptoKey, {
        ...(algorithm !== undefined && { algorithms: [algorithm] }),
        ...(issuer !== undefined && { issuer }),
        ...(audience !== undefined && { audience }),
        ...(leeway !== undefined && { clockTolerance: leeway }),
      })
      return payload
    }
  },
  isRefusal: (error) => error instanceof Error,
}

async function importKey({
  key,
  algorithm = 'HS256',
}: VerifierOptions): Promise<JoseKey | Uint8Array | CryptoKey> {
  if (key instanceof KeyObject || key instanceof Uint8Array) return key
  if (typeof key === 'string') {
    // The guide turns a secret into bytes, and reads a public key as SPKI.
    return algorithm.startsWith('HS') ? new TextEncoder().encode(key) : importSPKI(key, algorithm)
  }
  if (typeof key === 'object' && key !== null) return importJWK(key as JWK, algorithm)
  return key as unknown as KeyObject
}
