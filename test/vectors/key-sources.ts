import { ALGORITHMS, type BoundKey } from '../../packages/tokenlib/src/tokens/algorithms.js'
import type { Algorithm, Jwk } from '../../packages/tokenlib/src/tokens/jose.js'
import { createKeyRing, type KeySources } from '../../packages/tokenlib/src/tokens/key-ring.js'

/** No key at all, and nothing that is weak allowed. */
export const NO_KEYS: Omit<KeySources, 'JWT_ALGORITHM'> = {
  JWT_DECODE_ALGORITHMS: [],
  JWT_SECRET_KEY: null,
  JWT_PREVIOUS_SECRET_KEY: null,
  JWT_PRIVATE_KEY: null,
  JWT_PRIVATE_KEY_PASSPHRASE: null,
  JWT_PUBLIC_KEY: null,
  JWT_PREVIOUS_PUBLIC_KEY: null,
  JWT_ALLOW_WEAK_SECRET: false,
}

/** The configuration that verifies with one JWK; the algorithm is the one it names, or else one for its kind. */
export function sourcesFor(jwk: Jwk, algorithm: Algorithm = algorithmFor(jwk)): KeySources {
  return {
    ...NO_KEYS,
    JWT_ALGORITHM: algorithm,
    JWT_SECRET_KEY: jwk.kty === 'oct' ? jwk : null,
    JWT_PUBLIC_KEY: jwk.kty === 'oct' ? null : jwk,
  }
}

/**
 * The configuration for a key set of one or two keys.
 *
 * This library reads no key sets: an application names its keys one by one, the second as the previous one. A
 * second key of the other kind has no such place; asking for its algorithm too is what comes nearest.
 */
export function sourcesForSet(keys: readonly Jwk[]): KeySources {
  const [current, second, ...more] = keys
  if (current === undefined || more.length > 0) throw new Error('A set of one or two keys is expected')
  const sources = sourcesFor(current)
  if (second === undefined) return sources
  const place =
    current.kty === 'oct'
      ? second.kty === 'oct'
        ? { JWT_PREVIOUS_SECRET_KEY: second }
        : { JWT_PUBLIC_KEY: second }
      : { JWT_PREVIOUS_PUBLIC_KEY: second }
  return { ...sources, ...place, JWT_DECODE_ALGORITHMS: [algorithmFor(second)] }
}

/** The first key that a configuration verifies with. */
export function bindFirst(sources: KeySources): BoundKey {
  return createKeyRing(sources).verifying[0] as BoundKey
}

/** The JWK without some of its members. */
export function withoutMembers(jwk: Jwk, ...names: readonly string[]): Jwk {
  return Object.fromEntries(Object.entries(jwk).filter(([name]) => !names.includes(name)))
}

// A key that names no algorithm, or one that does not exist, is configured as what its type allows.
function algorithmFor(jwk: Jwk): Algorithm {
  if (jwk.alg !== undefined && jwk.alg in ALGORITHMS) return jwk.alg as Algorithm
  const kind = jwk.kty === 'EC' ? String(jwk['crv']) : String(jwk.kty)
  const algorithm = KINDS[kind]
  if (algorithm === undefined) throw new Error(`No algorithm for ${kind}`)
  return algorithm
}

const KINDS: Readonly<Record<string, Algorithm>> = {
  oct: 'HS256',
  RSA: 'RS256',
  OKP: 'EdDSA',
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
}
