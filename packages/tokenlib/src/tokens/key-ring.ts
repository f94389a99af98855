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
import { importSecret } from './secret.js'

/** The own keys of one manager. Moments are epoch milliseconds. */
export interface KeyRing {
  /** The key of new tokens at a moment, or `null`. */
  signingKey(now: number): SigningKey | null
  /** Why there is no key for new tokens at a moment, and what to do. */
  explainMissingKey(now: number): string
  /** Every key, those that are not trusted any more included; another list as soon as the keys are replaced. */
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
  signing: BoundKey | null,
  verifying: readonly BoundKey[],
  explanation = 'This manager can only verify tokens; set JWT_PRIVATE_KEY to create them',
): KeyRing {
  const key = signing && { ...signing, external: null }
  const trusted = new Set(verifying)
  return {
    signingKey: () => key,
    explainMissingKey: () => explanation,
    verifying,
    isTrusted: (candidate) => trusted.has(candidate),
  }
}

/** A key with its ids. */
export function bindKey(algorithm: Algorithm, key: NodeKey, kid: string): BoundKey {
  return { algorithm, key, kid, ids: [...new Set([kid, deriveKid(key)])] }
}

function createSecretRing(sources: KeySources, algorithms: readonly Algorithm[]): KeyRing {
  const secret = parseJwkText(sources.JWT_SECRET_KEY)
  const previousSecret = parseJwkText(sources.JWT_PREVIOUS_SECRET_KEY)
  if (secret === null) {
    throw new ConfigurationError(
      `JWT_SECRET_KEY is required for ${sources.JWT_ALGORITHM}. A manager that signs with key pairs takes them in ` +
        'the option `keys`; one that only verifies tokens of others has the option `issuers`',
    )
  }
  const bind = (field: string, material: SecretMaterial) => (algorithm: Algorithm) => {
    assertJwkUse(field, material, algorithm, material === secret ? 'sign' : 'verify')
    const key = importSecret(field, material, algorithm, sources.JWT_ALLOW_WEAK_SECRET)
    return bindKey(algorithm, key, toKid(field, material, key))
  }
  const current = algorithms.map(bind('JWT_SECRET_KEY', secret))
  const previous =
    previousSecret === null ? [] : algorithms.map(bind('JWT_PREVIOUS_SECRET_KEY', previousSecret))
  return createFixedRing(current[0] ?? null, [...current, ...previous])
}

// `key` is public, except for JWT_PRIVATE_KEY as it was given.
interface ImportedKey {
  readonly field: string
  readonly material: KeyMaterial
  readonly key: NodeKey
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
  const derived = signer && { ...signer, key: readPublicPart(signer.field, signer.material, signer.key) }
  const current = importOptional(sources, 'JWT_PUBLIC_KEY', importPublicKey) ?? derived
  const previous = importOptional(sources, 'JWT_PREVIOUS_PUBLIC_KEY', importPublicKey)
  if (current === null) {
    throw new ConfigurationError(
      `${algorithm} needs JWT_PRIVATE_KEY, or JWT_PUBLIC_KEY for a manager that only verifies`,
    )
  }
  if (derived !== null && !derived.key.equals(current.key)) {
    throw new ConfigurationError('JWT_PUBLIC_KEY does not belong to JWT_PRIVATE_KEY')
  }
  if (signer !== null) assertJwkUse(signer.field, signer.material, algorithm, 'sign')
  const verifying = [
    ...bindPublic(current, algorithms),
    ...(previous ? bindPublic(previous, algorithms) : []),
  ]
  const own = verifying.find((key) => key.algorithm === algorithm && key.key === current.key)
  if (own === undefined) throw toMismatchError(current, algorithm)
  const unverifiable = algorithms.find((name) => !verifying.some((key) => key.algorithm === name))
  if (unverifiable !== undefined) {
    throw new ConfigurationError(`JWT_DECODE_ALGORITHMS: no configured key can verify ${unverifiable}`)
  }
  const signing = signer && { ...own, key: signer.key }
  if (signing !== null && !isKeyPair(signing, own)) {
    throw new ConfigurationError('JWT_PRIVATE_KEY has a public part that does not belong to its private part')
  }
  return createFixedRing(signing, verifying)
}

/** Whether two keys belong together: Node does not check that the parts of a private key do, so a signature is made. */
export function isKeyPair(signing: BoundKey, verifying: BoundKey): boolean {
  const input = 'tokenlib key check'
  try {
    return isSignature(verifying, input, createSignature(signing, input))
  } catch {
    return false
  }
}

function importOptional(
  sources: KeySources,
  field: 'JWT_PRIVATE_KEY' | 'JWT_PUBLIC_KEY' | 'JWT_PREVIOUS_PUBLIC_KEY',
  importKey: (field: string, material: KeyMaterial) => NodeKey,
): ImportedKey | null {
  const material = parseJwkText(sources[field])
  return material === null ? null : { field, material, key: importKey(field, material) }
}

// One key may serve several algorithms of the list (RS256 and PS256), each by a binding of its own.
function bindPublic(imported: ImportedKey, algorithms: readonly Algorithm[]): BoundKey[] {
  const { field, material, key } = imported
  const named = isJwk(material) ? material.alg : undefined
  const fitting = algorithms.filter(
    (algorithm) => readKeyMismatch(algorithm, key) === null && (named === undefined || named === algorithm),
  )
  if (fitting.length === 0) throw toMismatchError(imported, algorithms[0] as Algorithm)
  return fitting.map((algorithm) => {
    if (field !== 'JWT_PRIVATE_KEY') assertJwkUse(field, material, algorithm, 'verify')
    return bindKey(algorithm, key, toKid(field, material, key))
  })
}

function toMismatchError({ field, key }: ImportedKey, algorithm: Algorithm): ConfigurationError {
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
      'A secret has no public part: whoever knows it can sign tokens. keys.jwks() needs keys of a public-key algorithm',
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
