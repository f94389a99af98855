import type { KeyObject } from 'node:crypto'
import { isJsonObject, toBase64url } from '../encoding.js'
import {
  ConfigurationError,
  InvalidProofError,
  isTokenError,
  ProofNonceRequiredError,
  ReusedProofError,
} from '../errors.js'
import type { StoreConnection } from '../revocation/connect-store.js'
import type { Clock } from '../time.js'
import { decodePayload, encodeHeader, parseCompact, parseHeader } from '../tokens/compact.js'
import { signCompactAsync } from '../tokens/external-signer.js'
import { createId, type RandomBytes } from '../tokens/ids.js'
import type { KeyRing } from '../tokens/key-ring.js'
import { type Confirmation, parseClaims, type PublicJwk } from '../tokens/payload.js'
import { findSourceSigner, type TokenSource } from '../tokens/token-source.js'
import { parseProofJws, type ProofJws, type ProofRules } from './proof-jws.js'

/** Checks proofs from browsers that have a key for a session (W3C Device Bound Session Credentials). */
export interface DeviceProofs {
  /** A challenge for the device of a session. Rejects with `KeysUnavailableError` if the signer fails. */
  createChallenge(sid: string): Promise<string>
  /** Checks a proof of a new key. The key is in the header of the proof. */
  checkNew(proof: string, sid: string): DeviceProof
  /** Checks a proof of the key that a refresh token is bound to. */
  check(proof: string, sid: string, cnf: unknown): DeviceProof
}

/** A proof for one session. */
export interface DeviceProof {
  /** The confirmation that binds a refresh token to the key. */
  readonly cnf: Confirmation
  /** Uses up the challenge. Rejects with `ReusedProofError` if another request has already used it. */
  readonly spend: () => Promise<void>
}

/** What the checks need. Challenges are signed like tokens, so every process can verify them. */
export interface DeviceProofParts {
  readonly keys: KeyRing
  readonly source: TokenSource
  readonly store: StoreConnection | null
  readonly now: Clock
  readonly random: RandomBytes
}

const PROOF: ProofRules = { name: 'Device proof', typ: 'dbsc+jwt', algorithms: ['ES256', 'RS256'] }
// RFC 8725 §3.11: a challenge is never accepted as a token, nor a token as a challenge.
const CHALLENGE_TYP = 'dbsc-challenge+jwt'
const CHALLENGE_SECONDS = 120
const MAX_CHALLENGE_LENGTH = 2048
const MAX_CLOCK_DIFFERENCE_SECONDS = 60

/** Creates the checks of one manager. */
export function createDeviceProofs({ keys, source, store, now, random }: DeviceProofParts): DeviceProofs {
  const spend = async (id: string): Promise<void> => {
    if (store?.canSpend !== true) return
    const keepMs = (CHALLENGE_SECONDS + MAX_CLOCK_DIFFERENCE_SECONDS) * 1000
    if (!(await store.spend(`device:${id}`, keepMs)))
      throw new ReusedProofError('Device proof was used before')
  }

  // Returns the id of a challenge that we created for the session, or throws `ProofNonceRequiredError`.
  const parseChallenge = (text: unknown, sid: string): string => {
    try {
      const jws = parseCompact(text, MAX_CHALLENGE_LENGTH)
      const header = parseHeader(jws.header, [CHALLENGE_TYP])
      findSourceSigner(source, header, jws, { now: now(), isLoaded: true })
      const { jti, sid: owner, exp } = parseClaims(decodePayload(jws))
      const isTyped = header.typ !== undefined && typeof jti === 'string' && typeof exp === 'number'
      if (isTyped && owner === sid && now() / 1000 < exp) return jti
    } catch (error) {
      if (!isTokenError(error)) throw error
    }
    throw new ProofNonceRequiredError('Device proof needs a new challenge')
  }

  const check = ({ key, claims }: ProofJws, sid: string): DeviceProof => {
    const id = parseChallenge(claims['jti'], sid)
    const jwk = (key.key as KeyObject).export({ format: 'jwk' }) as PublicJwk
    return { cnf: { jwk }, spend: () => spend(id) }
  }

  return {
    async createChallenge(sid) {
      const at = now()
      const key = keys.signingKey(at)
      if (key === null) throw new ConfigurationError(keys.explainMissingKey(at))
      const exp = Math.floor(at / 1000) + CHALLENGE_SECONDS
      const payload = toBase64url(JSON.stringify({ jti: createId(random), sid, exp }))
      return signCompactAsync(key, `${encodeHeader(key, CHALLENGE_TYP)}.${payload}`)
    },
    checkNew: (proof, sid) => check(parseProofJws(proof, PROOF), sid),
    check: (proof, sid, cnf) => check(parseProofJws(proof, PROOF, parseDeviceKey(cnf)), sid),
  }
}

function parseDeviceKey(cnf: unknown): PublicJwk {
  const { jwk, ...others } = isJsonObject(cnf) ? cnf : {}
  if (isJsonObject(jwk) && Object.keys(others).length === 0) return jwk as PublicJwk
  throw new InvalidProofError('Token is not bound to a device')
}
