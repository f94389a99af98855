import { KeysUnavailableError } from 'tokenlib/errors'
import {
  type Algorithm,
  ALGORITHMS,
  type BoundKey,
  deriveKid,
  importPublicKey,
  isJsonObject,
  type JwsHeader,
  type KeyMaterial,
  MAX_KID_LENGTH,
  type NodeKey,
  readKeyMismatch,
  type SourceKeys,
} from 'tokenlib/kit'

/** A key of a set that is not used. */
export interface RefusedKey {
  /** `null` if the key has no valid one. */
  readonly kid: string | null
  /** Why it is not used; never includes a member of the key. */
  readonly reason: string
  /** Whether the key is not meant for signatures: nothing is wrong with it. */
  readonly isForOtherUse: boolean
  /** Its public part, if its private one was published; `null` otherwise. */
  readonly disclosed: NodeKey | null
}

/** The keys of an issuer, each bound to one algorithm, and the unused keys. */
export interface IssuerKeySet {
  readonly keys: readonly BoundKey[]
  readonly refused: readonly RefusedKey[]
}

/** How a set is read. */
export interface KeySetRules {
  /** The algorithms of the issuer. The one of a key without `alg` is the first that fits; Ed25519 has two names. */
  readonly algorithms: readonly Algorithm[]
  /** The keys that were loaded before: one that is unchanged stays the same object. */
  readonly previous?: readonly BoundKey[]
}

/** The keys of a JWK set (RFC 7517 §5), each usable or refused for a reason. */
export function bindKeySet(entries: readonly unknown[], rules: KeySetRules): IssuerKeySet {
  const refused: RefusedKey[] = []
  const bound: BoundKey[] = []
  for (const entry of entries) {
    const kid = readKid(entry)
    try {
      bound.push(...bindJwk(entry, kid, rules.algorithms))
    } catch (error) {
      if (!(error instanceof KeyRefusal)) throw error
      const { message: reason, isForOtherUse, disclosed } = error
      refused.push({ kid, reason, isForOtherUse, disclosed })
    }
  }
  const keys: BoundKey[] = []
  for (const key of bound) {
    if (keys.some((other) => isSameKey(other, key))) continue
    const isAmbiguous = bound.some((other) => hasSameName(other, key) && !other.key.equals(key.key))
    if (isDisclosed(key, refused)) refused.push(toRefused(key, DISCLOSED))
    else if (isAmbiguous) refused.push(toRefused(key, AMBIGUOUS))
    else keys.push(keepIdentity(key, rules.previous))
  }
  return { keys, refused }
}

/** Binds a key that is not a JWK to the `kid` of the request. */
export function bindMaterial(material: KeyMaterial, kid: string, rules: KeySetRules): IssuerKeySet {
  try {
    const bound = bind(importMaterial(material), kid, null, rules.algorithms)
    return { keys: bound.map((key) => keepIdentity(key, rules.previous)), refused: [] }
  } catch (error) {
    if (!(error instanceof KeyRefusal)) throw error
    return { keys: [], refused: [{ kid, reason: error.message, isForOtherUse: false, disclosed: null }] }
  }
}

/**
 * The keys that may have signed a JWT with this header.
 *
 * OpenID Connect Core §10.1: a token without `kid` is only unambiguous if one key fits.
 */
export function selectIssuerKeys(keys: readonly BoundKey[], { alg, kid }: JwsHeader): readonly BoundKey[] {
  if (kid === undefined) {
    const fitting = keys.filter((key) => key.algorithm === alg)
    return fitting.length === 1 ? fitting : []
  }
  // The key without a `kid` has an empty one here, which no token can name.
  return kid === '' ? [] : keys.filter((key) => key.algorithm === alg && key.kid === kid)
}

const AMBIGUOUS = 'another key of the set has the same "kid" and algorithm'

/**
 * The earlier keys that a set without a usable key does not refuse, by `kid` or by key. A `kid` that two keys of the set
 * share does not refuse an earlier key.
 */
export function withoutRefused(keys: readonly BoundKey[], { refused }: IssuerKeySet): readonly BoundKey[] {
  return keys.filter((key) => !isDisclosed(key, refused) && !isRefusedByName(key, refused))
}

/** The error for a set that has no usable key; it names the first few reasons. */
export function noUsableKey({ refused }: IssuerKeySet): Error {
  if (refused.length === 0) return new Error('The key set is empty')
  const reasons = refused.slice(0, 3).map(({ kid, reason }) => `${JSON.stringify(kid)}: ${reason}`)
  return new Error(`The key set has no usable key (${reasons.join('; ')})`)
}

/** The ids of every key with a `kid`. */
export function listIds(keys: readonly BoundKey[], kid: string): readonly string[] {
  return keys.filter((key) => key.kid === kid).flatMap(({ ids }) => ids)
}

/** Keys that do not change. */
export function createFixedKeys(
  keys: readonly BoundKey[],
  select: (keys: readonly BoundKey[], header: JwsHeader) => readonly BoundKey[],
): SourceKeys {
  const trusted = new Set(keys)
  return {
    find: (header) => select(keys, header),
    isTrusted: (key) => trusted.has(key),
    idsOf: (kid) => listIds(keys, kid),
    loader: null,
  }
}

/** The error for a key that may have been published since the last load, and may not be looked for now. */
export function notLookedFor(issuer: string): KeysUnavailableError {
  return new KeysUnavailableError(
    new Error('The key of the token is unknown, and may not be looked for again at this moment'),
    undefined,
    issuer,
  )
}

function isRefusedByName({ kid }: BoundKey, refused: readonly RefusedKey[]): boolean {
  return refused.some((other) => other.kid === kid && other.reason !== AMBIGUOUS)
}

class KeyRefusal extends Error {
  readonly isForOtherUse: boolean
  readonly disclosed: NodeKey | null

  constructor(reason: string, isForOtherUse = false, disclosed: NodeKey | null = null) {
    super(reason)
    this.isForOtherUse = isForOtherUse
    this.disclosed = disclosed
  }
}

// `null` if it is invalid, empty if it is missing.
function readKid(entry: unknown): string | null {
  if (!isJsonObject(entry)) return null
  const { kid } = entry
  if (kid === undefined) return ''
  const isValid = typeof kid === 'string' && kid !== '' && kid.length <= MAX_KID_LENGTH
  return isValid ? kid : null
}

// RFC 7518 §6.2.2, §6.3.2 and §6.4.1, RFC 8037 §2.
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

const DISCLOSED = 'the key is private, and was published: the issuer must replace it'

// The members that make up a public key; nothing else of a JWK is imported.
const PUBLIC_MEMBERS = new Map<unknown, readonly string[]>([
  ['RSA', ['n', 'e']],
  ['EC', ['crv', 'x', 'y']],
  ['OKP', ['crv', 'x']],
])

// 16,384 bits in base64, which is also the limit of OpenSSL; a long exponent makes every verification slow.
const MAX_MEMBER_LENGTH = 2736
const MAX_EXPONENT_LENGTH = 12

function bindJwk(entry: unknown, kid: string | null, algorithms: readonly Algorithm[]): readonly BoundKey[] {
  if (!isJsonObject(entry)) throw new KeyRefusal('the key is not an object')
  if (kid === null) throw new KeyRefusal(`"kid" must be a string of 1 to ${MAX_KID_LENGTH} characters`)
  const { kty, alg = null, use = 'sig', key_ops: operations = ['verify'] } = entry
  if (kty === 'oct') throw new KeyRefusal('the key is symmetric')
  if (PRIVATE_MEMBERS.some((name) => Object.hasOwn(entry, name))) {
    throw new KeyRefusal(DISCLOSED, false, readPublicPart(entry))
  }
  if (use !== 'sig') throw new KeyRefusal('"use" is not "sig"', true)
  if (!Array.isArray(operations) || !operations.includes('verify')) {
    throw new KeyRefusal('"key_ops" does not include "verify"', true)
  }
  return bind(importPublicPart(entry), kid, alg, algorithms)
}

function importPublicPart(jwk: Readonly<Record<string, unknown>>): NodeKey {
  const { kty } = jwk
  const names = PUBLIC_MEMBERS.get(kty)
  if (names === undefined) throw new KeyRefusal('"kty" is not RSA, EC or OKP')
  const members = Object.fromEntries(names.map((name) => [name, parseMember(jwk, name)]))
  return importMaterial({ kty: kty as string, ...members })
}

function readPublicPart(jwk: Readonly<Record<string, unknown>>): NodeKey | null {
  try {
    return importPublicPart(jwk)
  } catch (error) {
    if (error instanceof KeyRefusal) return null
    throw error
  }
}

// Whatever its name is: anyone can sign with it now.
function isDisclosed({ key }: BoundKey, refused: readonly RefusedKey[]): boolean {
  return refused.some(({ disclosed }) => disclosed?.equals(key) === true)
}

function parseMember(jwk: Readonly<Record<string, unknown>>, name: string): string {
  const value = Object.hasOwn(jwk, name) ? jwk[name] : undefined
  if (typeof value !== 'string') throw new KeyRefusal(`"${name}" is missing or not a string`)
  if (value.length > (name === 'e' ? MAX_EXPONENT_LENGTH : MAX_MEMBER_LENGTH)) {
    throw new KeyRefusal(`"${name}" is too long`)
  }
  return value
}

function importMaterial(material: KeyMaterial): NodeKey {
  try {
    return importPublicKey('The key', material)
  } catch {
    throw new KeyRefusal('this runtime cannot import it as a public key')
  }
}

// RFC 8725 §3.1: one algorithm per key, decided here and never by a token. One of two names is bound twice: RFC 9864 §2.2
// gives the algorithm of an Ed25519 key a second one.
function bind(
  key: NodeKey,
  kid: string,
  alg: unknown,
  algorithms: readonly Algorithm[],
): readonly BoundKey[] {
  const candidates = alg === null ? algorithms : algorithms.filter((name) => name === alg)
  if (candidates.length === 0) throw new KeyRefusal('"alg" is not an accepted algorithm')
  const algorithm = candidates.find((name) => readKeyMismatch(name, key) === null)
  if (algorithm === undefined) throw new KeyRefusal(explainMismatch(key, candidates))
  const derived = deriveKid(key)
  const ids = kid === '' ? [derived] : [...new Set([kid, derived])]
  const isEdwards = ALGORITHMS[algorithm].family === 'eddsa'
  const names = isEdwards ? candidates.filter((name) => ALGORITHMS[name].family === 'eddsa') : [algorithm]
  return names.map((name) => Object.freeze({ algorithm: name, key, kid, ids }))
}

const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  rsa: ['rsa', 'rsa-pss'],
  'rsa-pss': ['rsa-pss'],
  ec: ['ecdsa'],
  ed25519: ['eddsa'],
}

// What the first algorithm for this type of key lacks, not the first of all.
function explainMismatch(key: NodeKey, candidates: readonly Algorithm[]): string {
  const families = FAMILIES[key.asymmetricKeyType ?? ''] ?? []
  const nearest = candidates.find((name) => families.includes(ALGORITHMS[name].family)) ?? candidates[0]
  return nearest === undefined ? 'no algorithm fits' : `${nearest} ${readKeyMismatch(nearest, key)}`
}

function hasSameName(left: BoundKey, right: BoundKey): boolean {
  return left.kid === right.kid && left.algorithm === right.algorithm
}

function isSameKey(left: BoundKey, right: BoundKey): boolean {
  return hasSameName(left, right) && left.key.equals(right.key)
}

function keepIdentity(key: BoundKey, previous: readonly BoundKey[] = []): BoundKey {
  return previous.find((other) => isSameKey(other, key)) ?? key
}

function toRefused({ kid }: BoundKey, reason: string): RefusedKey {
  return { kid: kid === '' ? null : kid, reason, isForOtherUse: false, disclosed: null }
}
