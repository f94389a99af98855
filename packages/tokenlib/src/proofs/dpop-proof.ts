import { InvalidProofError } from '../errors.js'
import type { BoundKey } from '../tokens/algorithms.js'
import { isNonEmptyString } from '../tokens/payload.js'
import { parseProofJws, type ProofAlgorithm, type ProofJws } from './proof-jws.js'

/** An algorithm for DPoP proofs, which are signed with a private key. */
export type DpopAlgorithm = ProofAlgorithm

/** The contents of a proof whose signature is valid. They have yet to be compared with the request. */
export interface DpopProof {
  /** The thumbprint of the key that signed the proof (RFC 7638). */
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

const MAX_JTI_LENGTH = 256

/**
 * Creates a parser for the proof in a `DPoP` header (RFC 9449 §4.3, steps 2 to 7). The parser verifies the signature
 * and throws `InvalidProofError` for an invalid proof.
 */
export function createProofParser(algorithms: readonly DpopAlgorithm[]): (text: string) => DpopProof {
  const rules = { name: 'DPoP proof', typ: 'dpop+jwt', algorithms, keys: new Map<string, BoundKey>() }
  return (text) => {
    const { key, claims } = parseProofJws(text, rules)
    return { jkt: key.kid, ...parseProofClaims(claims) }
  }
}

function parseProofClaims({ jti, htm, htu, iat, ath, nonce }: ProofJws['claims']): Omit<DpopProof, 'jkt'> {
  if (!isNonEmptyString(jti) || jti.length > MAX_JTI_LENGTH) throw invalidClaim('jti')
  if (!isNonEmptyString(htm)) throw invalidClaim('htm')
  if (!isNonEmptyString(htu)) throw invalidClaim('htu')
  if (typeof iat !== 'number' || !Number.isFinite(iat)) throw invalidClaim('iat')
  if (ath !== undefined && typeof ath !== 'string') throw invalidClaim('ath')
  if (nonce !== undefined && typeof nonce !== 'string') throw invalidClaim('nonce')
  return { jti, htm, htu, iat, ath, nonce }
}

function invalidClaim(name: string): InvalidProofError {
  return new InvalidProofError(`DPoP proof has no valid "${name}"`)
}
