import type { KeyObject } from 'node:crypto'
import { ConfigurationError } from '../errors.js'
import type { BoundKey } from './algorithms.js'
import { readModulus } from './asymmetric.js'
import type { Jwk } from './jose.js'
import { isHmac, type KeyRing } from './key-ring.js'

/** A JWK Set (RFC 7517 §5). */
export interface JwkSet {
  readonly keys: readonly Jwk[]
}

/** The public parts of every key that is trusted at `now`, those that sign later included; `ConfigurationError` for secrets. */
export function toJwkSet(ring: KeyRing, now: number): JwkSet {
  const trusted = ring.verifying.filter((key) => ring.isTrusted(key, now))
  if (trusted.some(({ algorithm }) => isHmac(algorithm))) {
    throw new ConfigurationError(
      'A secret has no public part: whoever knows it can sign tokens. jwks() needs keys of a public-key algorithm',
    )
  }
  if (ring.verifying.length === 0) throw new ConfigurationError(ring.explainMissingKey(now))
  return { keys: trusted.map(toPublicJwk) }
}

function toPublicJwk({ algorithm, kid, key }: BoundKey): Jwk {
  const members = readMembers(key as KeyObject)
  // By name: whatever else the runtime exports is not published.
  const published = PUBLIC_MEMBERS.filter((name) => members[name] !== undefined)
  return {
    kty: members['kty'] as string,
    kid,
    alg: algorithm,
    use: 'sig',
    ...Object.fromEntries(published.map((name) => [name, members[name]])),
  }
}

const PUBLIC_MEMBERS = ['crv', 'x', 'y', 'n', 'e']

function readMembers(key: KeyObject): Readonly<Record<string, unknown>> {
  if (key.asymmetricKeyType !== 'rsa-pss') return { ...key.export({ format: 'jwk' }) }
  // Node cannot export an RSA-PSS key. RFC 7517 has no type of its own for one: `alg` says what it is for.
  const { publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  const hex = publicExponent.toString(16)
  const e = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
  return { kty: 'RSA', n: readModulus(key).toString('base64url'), e: e.toString('base64url') }
}
