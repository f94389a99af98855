import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { copyText, hasNestedDuplicates, isJsonObject, readBase64urlText } from '../encoding.js'
import { InvalidProofError, isConfigurationError, isTokenError } from '../errors.js'
import { type BoundKey, readLowerSpelling } from '../tokens/algorithms.js'
import { readKeyMismatch } from '../tokens/asymmetric.js'
import { type CompactJws, decodePayload, findSigner, parseCompact, parseHeader } from '../tokens/compact.js'
import { type Algorithm, assertJwkUse, deriveKid } from '../tokens/jose.js'
import { parseClaims, type PublicJwk } from '../tokens/payload.js'

/** An algorithm for proofs, which are signed with a private key. */
export type ProofAlgorithm = Exclude<Algorithm, `HS${string}`>

/** A kind of JWT that a client signs to prove its key. */
export interface ProofRules {
  /** The name of the proof in error messages. */
  readonly name: string
  /** The `typ` that the proof must have, in short form. */
  readonly typ: string
  readonly algorithms: readonly ProofAlgorithm[]
  /** Keys of clients that repeat their header. Indexed by the whole header, so that every part of it is checked. */
  readonly keys?: Map<string, BoundKey>
}

/** A JWT whose signature is valid. */
export interface ProofJws {
  readonly key: BoundKey
  readonly claims: Readonly<Record<string, unknown>>
}

// A proof with a 4096-bit RSA key has half this length.
const MAX_PROOF_LENGTH = 4096

/**
 * Parses a JWT that was signed with the key in its header or, if `known` is passed, with that key. Throws
 * `InvalidProofError` for any other JWT. The claims are not checked.
 */
export function parseProofJws(text: string, rules: ProofRules, known?: PublicJwk): ProofJws {
  const { name, keys } = rules
  try {
    const jws = parseCompact(text, MAX_PROOF_LENGTH)
    const remembered = keys?.get(jws.header)
    const key = remembered ?? parseKey(jws.header, rules, known)
    findSigner([key], toLowS(key.algorithm, jws))
    // Remember the key only after the signature is verified: anyone can send headers.
    if (keys !== undefined && remembered === undefined) remember(keys, jws.header, key)
    const claimsText = decodePayload(jws)
    const claims = parseClaims(claimsText)
    if (hasNestedDuplicates(claimsText as string)) throw new Problem('has a claim twice')
    return { key, claims }
  } catch (error) {
    if (error instanceof Problem) throw new InvalidProofError(`${name} ${error.message}`)
    if (isTokenError(error)) throw new InvalidProofError(error.message.replace(/^Token/, name))
    throw error
  }
}

const MAX_KNOWN_KEYS = 1000

function remember(keys: Map<string, BoundKey>, header: string, key: BoundKey): void {
  if (keys.size >= MAX_KNOWN_KEYS) keys.delete(keys.keys().next().value as string)
  keys.set(copyText(header), key)
}

function parseKey(encoded: string, { typ, algorithms }: ProofRules, known: PublicJwk | undefined): BoundKey {
  const header = parseHeader(encoded, [typ], known === undefined ? 'jwk' : undefined)
  // RFC 7515 §4: this includes the key. If the key has a member twice, others may read the first.
  if (hasNestedDuplicates(readBase64urlText(encoded) as string)) {
    throw new Problem('has a header member twice')
  }
  const { alg } = header
  if (header['typ'] === undefined) throw new Problem(`must have the "typ" ${typ}`)
  if (!(algorithms as readonly string[]).includes(alg)) {
    throw new Problem(`must be signed with ${algorithms.join(', ')}`)
  }
  return importProofKey(known ?? header['jwk'], alg as ProofAlgorithm)
}

function importProofKey(jwk: unknown, algorithm: ProofAlgorithm): BoundKey {
  if (!isJsonObject(jwk)) throw new Problem('has no "jwk"')
  if (PRIVATE_MEMBERS.some((name) => Object.hasOwn(jwk, name)))
    throw new Problem('has a private or symmetric key in "jwk"')
  let key
  try {
    assertJwkUse('jwk', jwk, algorithm, 'verify')
    const members = PUBLIC_MEMBERS.map((name) => [name, jwk[name]])
    key = createPublicKey({ key: Object.fromEntries(members) as JsonWebKey, format: 'jwk' })
  } catch (error) {
    throw new Problem(isConfigurationError(error) ? 'has a "jwk" for another use' : 'has a malformed "jwk"')
  }
  const mismatch = readKeyMismatch(algorithm, key)
  if (mismatch !== null) throw new Problem(`${mismatch}, because its "alg" is ${algorithm}`)
  if ((key.asymmetricKeyDetails?.publicExponent ?? 0n) > MAX_EXPONENT)
    throw new Problem('has an RSA exponent over 32 bits')
  const kid = deriveKid(key)
  return { algorithm, kid, ids: [kid], key }
}

// Private members of every key type (RFC 7518 §6).
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']
const PUBLIC_MEMBERS = ['kty', 'crv', 'x', 'y', 'n', 'e'] as const
// With an exponent as long as the modulus, one signature takes milliseconds to verify.
const MAX_EXPONENT = 2n ** 32n

// What is wrong with a proof. This error never leaves the file.
class Problem extends Error {}

// Both forms of an ECDSA signature are the same proof.
function toLowS(alg: string, jws: CompactJws): CompactJws {
  const signature = readLowerSpelling(alg, jws.signature)
  return signature === null ? jws : { ...jws, signature }
}
