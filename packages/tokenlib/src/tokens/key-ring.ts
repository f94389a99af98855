import type { KeyObject } from 'node:crypto'
import { ConfigurationError } from '../errors.js'
import { type BoundKey, createSignature, isHmac, isSignature } from './algorithms.js'
import type { SigningKey } from './external-signer.js'
import {
  importPrivateKey,
  importPublicKey,
  readKeyMismatch,
  readModulus,
  readPublicPart,
} from './asymmetric.js'
import {
  type Algorithm,
  assertJwkUse,
  deriveKid,
  isJwk,
  type Jwk,
  type KeyMaterial,
  type NodeKey,
  parseJwkText,
  type SecretMaterial,
  toKid,
} from './jose.js'
import { createFastMacCheck } from './hmac-sha256.js'
import { importSecret } from './secret.js'

/** The own keys of one manager. Moments are epoch milliseconds. */
export interface KeyRing {
  /** The key of new tokens at a moment, or `null`. */
  signingKey(now: number): SigningKey | null
  /** Explains why new tokens cannot be signed at a moment, and what to do. */
  explainMissingKey(now: number): string
  /** Every key, including keys that are no longer trusted; a new list whenever the keys are replaced. */
  readonly verifying: readonly BoundKey[]
  /** Whether a key of `verifying`, of now or of earlier, is still one and is not retired. */
  readonly isTrusted: (key: BoundKey, now: number) => boolean
}

/** The configuration of the keys; `null` means not configured. */
export interface KeySources {
  readonly JWT_ALGORITHM: Algorithm
  /** The algorithms accepted besides `JWT_ALGORITHM`. */
  readonly JWT_DECODE_ALGORITHMS: Algorithm | readonly Algorithm[] | null
  readonly JWT_SECRET_KEY: SecretMaterial | null
  readonly JWT_PREVIOUS_SECRET_KEY: SecretMaterial | null
  readonly JWT_PRIVATE_KEY: KeyMaterial | null
  readonly JWT_PRIVATE_KEY_PASSPHRASE: string | null
  readonly JWT_PUBLIC_KEY: KeyMaterial | null
  readonly JWT_PREVIOUS_PUBLIC_KEY: KeyMaterial | null
  readonly JWT_ALLOW_WEAK_SECRET: boolean
}

/** Imports every key once and binds it to its algorithm, or throws `ConfigurationError`. */
export function createKeyRing(sources: KeySources): KeyRing {
  const { JWT_ALGORITHM: algorithm, JWT_DECODE_ALGORITHMS: others } = sources
  const algorithms = [...new Set([algorithm, others ?? []].flat())]
  const isSymmetric = isHmac(algorithm)
  if (algorithms.some((name) => isHmac(name) !== isSymmetric)) {
    throw new ConfigurationError(
      'JWT_DECODE_ALGORITHMS mixes HMAC with public-key algorithms; build one manager for each',
    )
  }
  const ring = isSymmetric ? createSecretRing(sources, algorithms) : createPublicRing(sources, algorithms)
  assertDistinctKids(ring.verifying)
  return ring
}

/** The ring of a manager without own keys: it only verifies the tokens of other issuers. */
export function createEmptyRing(): KeyRing {
  return createFixedRing(
    null,
    [],
    'This manager has no keys of its own; set JWT_SECRET_KEY, JWT_PRIVATE_KEY or the option `keys` to create tokens',
  )
}

function createFixedRing(
  signing: SigningKey | null,
  verifying: readonly BoundKey[],
  explanation = 'This manager can only verify tokens; set JWT_PRIVATE_KEY to create them',
): KeyRing {
  const trusted = new Set(verifying)
  return {
    signingKey: () => signing,
    explainMissingKey: () => explanation,
    verifying,
    isTrusted: (candidate) => trusted.has(candidate),
  }
}

function bindKey(algorithm: Algorithm, key: NodeKey, kid: string): BoundKey {
  const fastMac = algorithm === 'HS256' ? createFastMacCheck((key as KeyObject).export()) : null
  return { algorithm, key, kid, ids: [...new Set([kid, deriveKid(key)])], fastMac }
}

/** A secret bound to an algorithm; `kid` overrides the one of the secret. */
export function bindSecret(
  field: string,
  given: SecretMaterial,
  algorithm: Algorithm,
  { allowWeak, use = 'sign', kid }: { allowWeak: boolean; use?: 'sign' | 'verify'; kid?: string | undefined },
): SigningKey {
  const material = parseJwkText(given)
  assertJwkUse(field, material, algorithm, use)
  const key = importSecret(field, material, algorithm, allowWeak)
  return { ...bindKey(algorithm, key, kid ?? toKid(field, material, key)), external: null }
}

function createSecretRing(sources: KeySources, algorithms: readonly Algorithm[]): KeyRing {
  const { JWT_SECRET_KEY: secret, JWT_PREVIOUS_SECRET_KEY: previousSecret } = sources
  if (secret === null) {
    throw new ConfigurationError(
      `JWT_SECRET_KEY is required for ${sources.JWT_ALGORITHM}. A manager that signs with key pairs takes them in ` +
        'the option `keys`; one that only verifies tokens of others has the option `issuers`',
    )
  }
  const allowWeak = sources.JWT_ALLOW_WEAK_SECRET
  const current = algorithms.map((name) => bindSecret('JWT_SECRET_KEY', secret, name, { allowWeak }))
  const previous = algorithms.flatMap((name) =>
    previousSecret === null
      ? []
      : bindSecret('JWT_PREVIOUS_SECRET_KEY', previousSecret, name, { allowWeak, use: 'verify' }),
  )
  return createFixedRing(current[0] ?? null, [...current, ...previous])
}

/** An imported half of a key pair, with what it was imported from. */
export interface KeyHalf {
  /** Its name in errors. */
  readonly field: string
  readonly material: KeyMaterial
  readonly key: NodeKey
}

/** The public half of a pair: the one that was given with the private half, or else derived from it. */
export function completePair(privateHalf: KeyHalf, publicHalf: KeyHalf | null): KeyHalf {
  const key = readPublicPart(privateHalf.field, privateHalf.material, privateHalf.key)
  if (publicHalf !== null && !key.equals(publicHalf.key)) {
    throw new ConfigurationError(`${publicHalf.field} does not belong to ${privateHalf.field}`)
  }
  return publicHalf ?? { ...privateHalf, key }
}

/** A public half bound to an algorithm, or `ConfigurationError`; `kid` overrides the one of the key. */
export function bindHalf({ field, material, key }: KeyHalf, algorithm: Algorithm, kid?: string): BoundKey {
  const mismatch = readKeyMismatch(algorithm, key)
  if (mismatch !== null) throw new ConfigurationError(`${field}: ${algorithm} ${mismatch}`)
  return bindKey(algorithm, key, kid ?? toKid(field, material, key))
}

/** The private half of a bound key. Node does not check that the two parts of a private key belong together. */
export function bindSigner({ field, key }: KeyHalf, verifying: BoundKey): SigningKey {
  const signing = { ...verifying, key, external: null }
  const input = 'tokenlib key check'
  try {
    if (isSignature(verifying, input, createSignature(signing, input))) return signing
  } catch {
    // Reported below.
  }
  throw new ConfigurationError(`${field} has a public part that does not belong to its private part`)
}

function createPublicRing(sources: KeySources, algorithms: readonly Algorithm[]): KeyRing {
  const { JWT_ALGORITHM: algorithm } = sources
  const passphrase = { field: 'JWT_PRIVATE_KEY_PASSPHRASE', text: sources.JWT_PRIVATE_KEY_PASSPHRASE }
  const signer = importOptional(sources, 'JWT_PRIVATE_KEY', (field, material) =>
    importPrivateKey(field, material, passphrase),
  )
  if (signer === null && passphrase.text !== null) {
    throw new ConfigurationError('JWT_PRIVATE_KEY_PASSPHRASE needs JWT_PRIVATE_KEY')
  }
  const publicHalf = importOptional(sources, 'JWT_PUBLIC_KEY', importPublicKey)
  const current = signer === null ? publicHalf : completePair(signer, publicHalf)
  const previous = importOptional(sources, 'JWT_PREVIOUS_PUBLIC_KEY', importPublicKey)
  if (current === null) {
    throw new ConfigurationError(
      `${algorithm} needs JWT_PRIVATE_KEY, or JWT_PUBLIC_KEY for a manager that only verifies`,
    )
  }
  if (signer !== null) assertJwkUse(signer.field, signer.material, algorithm, 'sign')
  const verifying = [current, previous ?? []].flat().flatMap((half) => bindFitting(half, algorithms))
  const own = verifying.find((key) => key.algorithm === algorithm && key.key === current.key)
  if (own === undefined) throw toMismatchError(current, algorithm)
  const unverifiable = algorithms.find((name) => !verifying.some((key) => key.algorithm === name))
  if (unverifiable !== undefined) {
    throw new ConfigurationError(`JWT_DECODE_ALGORITHMS: no configured key can verify ${unverifiable}`)
  }
  return createFixedRing(signer && bindSigner(signer, own), verifying)
}

function importOptional(
  sources: KeySources,
  field: 'JWT_PRIVATE_KEY' | 'JWT_PUBLIC_KEY' | 'JWT_PREVIOUS_PUBLIC_KEY',
  importKey: (field: string, material: KeyMaterial) => NodeKey,
): KeyHalf | null {
  const material = parseJwkText(sources[field])
  return material === null ? null : { field, material, key: importKey(field, material) }
}

// One key may serve several algorithms of the list (RS256 and PS256), each by a binding of its own.
function bindFitting(half: KeyHalf, algorithms: readonly Algorithm[]): BoundKey[] {
  const { field, material, key } = half
  const named = isJwk(material) ? material.alg : undefined
  const fitting = algorithms.filter(
    (algorithm) => readKeyMismatch(algorithm, key) === null && (named === undefined || named === algorithm),
  )
  if (fitting.length === 0) throw toMismatchError(half, algorithms[0] as Algorithm)
  return fitting.map((algorithm) => {
    if (field !== 'JWT_PRIVATE_KEY') assertJwkUse(field, material, algorithm, 'verify')
    return bindHalf(half, algorithm)
  })
}

function toMismatchError({ field, key }: KeyHalf, algorithm: Algorithm): ConfigurationError {
  const mismatch = readKeyMismatch(algorithm, key) ?? 'is not the "alg" of the JWK'
  return new ConfigurationError(`${field}: ${algorithm} ${mismatch}`)
}

// As Wycheproof demands of key sets: a `kid` that names two keys is ambiguous.
function assertDistinctKids(keys: readonly BoundKey[]): void {
  for (const key of keys) {
    const first = keys.find((other) => other.kid === key.kid && other.algorithm === key.algorithm)
    if (!first?.key.equals(key.key)) {
      throw new ConfigurationError('Two different keys have the same "kid"')
    }
  }
}

/** A JWK Set (RFC 7517 §5). */
export interface JwkSet {
  readonly keys: readonly Jwk[]
}

/** The public parts of every key that is trusted at `now`, those that sign later included; `ConfigurationError` for secrets. */
export function toJwkSet(ring: KeyRing, now: number): JwkSet {
  const trusted = ring.verifying.filter((key) => ring.isTrusted(key, now))
  if (trusted.some(({ algorithm }) => isHmac(algorithm))) {
    throw new ConfigurationError(
      'A secret has no public part: anyone who knows it can sign tokens. keys.jwks() needs keys of a public-key algorithm',
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
