import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { copyText, hasNestedDuplicates, isJsonObject, readBase64urlText } from '../encoding.js'
import { InvalidProofError, isConfigurationError, isTokenError } from '../errors.js'
import { type BoundKey, readLowerSpelling } from '../tokens/algorithms.js'
import { readKeyMismatch } from '../tokens/asymmetric.js'
import { type CompactJws, decodePayload, findSigner, parseCompact, parseHeader } from '../tokens/compact.js'
import { type Algorithm, assertJwkUse, deriveKid, type JwsHeader } from '../tokens/jose.js'
import { isNonEmptyString, parseClaims } from '../tokens/payload.js'

/** An algorithm for DPoP proofs, which are signed with a private key. */
export type DpopAlgorithm = Exclude<Algorithm, `HS${string}`>

/** What a proof says. Its signature is valid; everything else is still to be compared with the request. */
export interface DpopProof {
  /** The thumbprint of the key that signed it (RFC 7638). */
  readonly jkt: string
  readonly jti: string
  readonly htm: string
  readonly htu: string
  /** Epoch seconds. */
  readonly iat: number
  /** The hash of the token that the proof comes with. */
  readonly ath: string | undefined
  readonly nonce: string | undefined
}

// A proof with an RSA key of 4096 bits has half of it.
const MAX_PROOF_LENGTH = 4096
const MAX_JTI_LENGTH = 256

// The keys of clients that repeat their header, as most do.
const MAX_KNOWN_KEYS = 1000

/** Reads the proof in a `DPoP` header whose signature is valid (RFC 9449 §4.3, steps 2 to 7), or throws `InvalidProofError`. */
export function createProofParser(algorithms: readonly DpopAlgorithm[]): (text: string) => DpopProof {
  // By the whole header, so that nothing in it remains unchecked.
  const known = new Map<string, BoundKey>()

  const remember = (header: string, key: BoundKey): void => {
    if (known.size >= MAX_KNOWN_KEYS) known.delete(known.keys().next().value as string)
    known.set(copyText(header), key)
  }

  return (text) => {
    try {
      const jws = parseCompact(text, MAX_PROOF_LENGTH)
      const { header } = jws
      const found = known.get(header)
      const key = found ?? parseKey(header, algorithms)
      findSigner([key], toLowS(key.algorithm, jws))
      if (found === undefined) remember(header, key)
      return { jkt: key.kid, ...parseProofClaims(jws) }
    } catch (error) {
      if (!isTokenError(error) || error.code === 'PROOF_INVALID') throw error
      throw new InvalidProofError(error.message.replace(/^Token/, 'DPoP proof'))
    }
  }
}

function parseKey(encoded: string, algorithms: readonly DpopAlgorithm[]): BoundKey {
  const header = parseHeader(encoded, ['dpop+jwt'], 'jwk')
  // RFC 7515 §4: also in the key, of which somebody else may read the first member of two.
  if (hasNestedDuplicates(readBase64urlText(encoded) as string)) throw invalid('has a header member twice')
  const { alg, typ } = header
  if (typ === undefined) throw invalid('has no "typ"')
  if (!(algorithms as readonly string[]).includes(alg))
    throw invalid(`must be signed with ${algorithms.join(', ')}`)
  return importKey(header, alg as DpopAlgorithm)
}

function invalid(problem: string): InvalidProofError {
  return new InvalidProofError(`DPoP proof ${problem}`)
}

// A proof is remembered by its id, not by its text, so both spellings of an ECDSA signature are one proof.
function toLowS(alg: string, jws: CompactJws): CompactJws {
  const signature = readLowerSpelling(alg, jws.signature)
  return signature === null ? jws : { ...jws, signature }
}

// Private members of every key type (RFC 7518 §6).
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']
const PUBLIC_MEMBERS = ['kty', 'crv', 'x', 'y', 'n', 'e'] as const
// With an exponent as long as the modulus, one signature takes milliseconds to verify.
const MAX_EXPONENT = 2n ** 32n

function importKey({ jwk }: JwsHeader, algorithm: DpopAlgorithm): BoundKey {
  if (!isJsonObject(jwk)) throw invalid('has no "jwk"')
  if (PRIVATE_MEMBERS.some((name) => Object.hasOwn(jwk, name)))
    throw invalid('has a private or symmetric key in "jwk"')
  let key
  try {
    assertJwkUse('jwk', jwk, algorithm, 'verify')
    const members = PUBLIC_MEMBERS.map((name) => [name, jwk[name]])
    key = createPublicKey({ key: Object.fromEntries(members) as JsonWebKey, format: 'jwk' })
  } catch (error) {
    throw invalid(isConfigurationError(error) ? 'has a "jwk" for another use' : 'has a malformed "jwk"')
  }
  const mismatch = readKeyMismatch(algorithm, key)
  if (mismatch !== null) throw invalid(`${mismatch}, because its "alg" is ${algorithm}`)
  if ((key.asymmetricKeyDetails?.publicExponent ?? 0n) > MAX_EXPONENT)
    throw invalid('has an RSA exponent over 32 bits')
  const kid = deriveKid(key)
  return { algorithm, kid, ids: [kid], key }
}

function parseProofClaims(jws: CompactJws): Omit<DpopProof, 'jkt'> {
  const text = decodePayload(jws)
  const claims = parseClaims(text)
  if (hasNestedDuplicates(text as string)) throw invalid('has a claim twice')
  const { jti, htm, htu, iat, ath, nonce } = claims
  if (!isNonEmptyString(jti) || jti.length > MAX_JTI_LENGTH) throw invalidClaim('jti')
  if (!isNonEmptyString(htm)) throw invalidClaim('htm')
  if (!isNonEmptyString(htu)) throw invalidClaim('htu')
  if (typeof iat !== 'number' || !Number.isFinite(iat)) throw invalidClaim('iat')
  if (ath !== undefined && typeof ath !== 'string') throw invalidClaim('ath')
  if (nonce !== undefined && typeof nonce !== 'string') throw invalidClaim('nonce')
  return { jti, htm, htu, iat, ath, nonce }
}

function invalidClaim(name: string): InvalidProofError {
  return invalid(`has no valid "${name}"`)
}
