import { createHash } from 'node:crypto'
import {
  ConfigurationError,
  InvalidProofError,
  ProofNonceRequiredError,
  ReusedProofError,
} from '../errors.js'
import { attach, readAttached, type RequestView } from '../http/view.js'
import {
  choice,
  duration,
  flag,
  kindOf,
  listOf,
  type OptionKinds,
  parseOptions,
  required,
} from '../options.js'
import type { StoreConnection } from '../revocation/connect-store.js'
import { type Clock, type Duration, parseDuration } from '../time.js'
import { createProofParser, type DpopAlgorithm, type DpopProof } from './dpop-proof.js'
import { createUrlCheck, isPublicUrl, type PublicUrl } from './dpop-url.js'
import { createNonces } from './nonces.js'

/** Accepts tokens that are bound to a key of the client, with a proof for every request (DPoP, RFC 9449). */
export interface DpopOptions {
  /**
   * Where clients reach the application, such as `https://api.example.com`. A proof is valid for one URL, and behind a
   * proxy only you know which URL the client used. The `Host` header is never used, because anyone who replays a proof
   * can set it.
   */
  readonly publicUrl: PublicUrl
  /** Rejects tokens of either type that are not bound to a key, on every route. Default `false`. */
  readonly required?: boolean
  /** How old a proof may be, 1 second to 10 minutes. Default `'60s'`. */
  readonly maxAge?: Duration
  /** The algorithms that proofs may be signed with. Default: ES256, ES384, ES512, Ed25519, EdDSA, PS256 and RS256. */
  readonly algorithms?: readonly DpopAlgorithm[]
  /**
   * Requires a nonce from this server in every proof, so that proofs cannot be made in advance. All processes need the
   * same secret of at least 32 bytes. Nonces are not stored.
   */
  readonly nonceSecret?: string | Uint8Array
  /** How long a nonce can be used, 1 second to 10 minutes. Default `'5m'`. */
  readonly nonceMaxAge?: Duration
  /**
   * Whether the store remembers every proof, so that no process accepts a proof twice. Default `true`, which costs one
   * store call per request. `false` needs `nonceSecret`: a copied proof then works until the proof or its nonce is too
   * old.
   */
  readonly rememberProofs?: boolean
}

const ALGORITHMS: readonly DpopAlgorithm[] = ['ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA', 'PS256', 'RS256']
const ALL_ALGORITHMS: readonly DpopAlgorithm[] = [...ALGORITHMS, 'RS384', 'RS512', 'PS384', 'PS512']
const MIN_SECRET_BYTES = 32
const age = duration('a duration of 1 second to 10 minutes', (seconds) => seconds >= 1 && seconds <= 600)

const OPTIONS: OptionKinds<DpopOptions> = {
  publicUrl: required(
    kindOf<PublicUrl>(
      'an http or https URL like https://api.example.com, without user, query and fragment, a list of them or a function',
      (value) =>
        typeof value === 'function' ||
        isPublicUrl(value) ||
        (Array.isArray(value) && value.length > 0 && value.every(isPublicUrl)),
    ),
  ),
  required: flag,
  maxAge: age,
  algorithms: listOf(choice(ALL_ALGORITHMS)),
  nonceSecret: kindOf(`a secret of at least ${MIN_SECRET_BYTES} bytes`, (value) => {
    const isSecret = typeof value === 'string' || value instanceof Uint8Array
    return isSecret && Buffer.byteLength(value) >= MIN_SECRET_BYTES
  }),
  nonceMaxAge: age,
  rememberProofs: flag,
}

const WRONG_NONCE = 'The nonce of the DPoP proof has expired, or was made with another nonceSecret'

// How far the clock of a client may be ahead, and how far the clocks of two servers may be apart.
const MAX_CLOCK_LEAD_SECONDS = 5
const MAX_CLOCK_DIFFERENCE_SECONDS = 60

/** Reads and checks the proofs of requests. */
export interface Dpop {
  readonly isRequired: boolean
  readonly algorithms: readonly DpopAlgorithm[]
  /** A nonce for the next proof; `null` if proofs need none. */
  createNonce(): string | null
  /**
   * The proof of a request, checked against that request, or `null` for a request without a proof. Returns the same
   * object each time.
   */
  readProof(view: RequestView): RequestProof | null
}

/** A proof for the request that it came with. */
export interface RequestProof {
  /** The thumbprint of the key that signed the proof. */
  readonly jkt: string
  /** The hash of the token that the proof is for (RFC 9449 §4.2); `undefined` if the proof names no token. */
  readonly ath: string | undefined
  /** Uses up the proof. Rejects with `ReusedProofError` if another request has already used it. */
  readonly spend: () => Promise<void>
}

/** The hash of a token as proofs carry it. */
export function toTokenHash(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

/** Creates the DPoP checks from the options. Throws `TypeError` or `ConfigurationError` for invalid options. */
export function createDpop(given: DpopOptions, store: StoreConnection | null, now: Clock): Dpop {
  const options = parseOptions(
    'dpop',
    given,
    OPTIONS,
    undefined,
    (problem) => new TypeError(`dpop: ${problem}`),
  )
  const {
    algorithms = ALGORITHMS,
    required: isRequired = false,
    rememberProofs = true,
    nonceSecret,
  } = options
  const maxAge = parseDuration(options.maxAge ?? '60s')
  if (nonceSecret === undefined && options.nonceMaxAge !== undefined) {
    throw new ConfigurationError('nonceMaxAge of dpop needs nonceSecret')
  }
  if (!rememberProofs && nonceSecret === undefined) {
    throw new ConfigurationError('rememberProofs: false needs nonceSecret, or proofs could be used again')
  }
  const spending = rememberProofs ? requireSpending(store) : null
  const nonces =
    nonceSecret === undefined
      ? null
      : createNonces(nonceSecret, parseDuration(options.nonceMaxAge ?? '5m') * 1000)
  const parseProof = createProofParser(algorithms)
  const assertUrl = createUrlCheck(options.publicUrl)
  const keepMs = Math.ceil((maxAge + MAX_CLOCK_LEAD_SECONDS + MAX_CLOCK_DIFFERENCE_SECONDS) * 1000)

  // RFC 9449 §4.3: the steps that compare the proof with the request.
  const assertForRequest = ({ htm, htu, iat, nonce }: DpopProof, view: RequestView): void => {
    if (htm !== view.method) throw new InvalidProofError('DPoP proof is for another method')
    assertUrl(htu, view)
    const seconds = now() / 1000 - iat
    if (seconds > maxAge) throw new InvalidProofError(`DPoP proof is too old: ${Math.round(seconds)} seconds`)
    if (seconds < -MAX_CLOCK_LEAD_SECONDS)
      throw new InvalidProofError(`DPoP proof is ${Math.round(-seconds)} seconds in the future`)
    if (nonces === null || (nonce !== undefined && nonces.isValid(nonce, now()))) return
    throw new ProofNonceRequiredError(nonce === undefined ? undefined : WRONG_NONCE)
  }

  const createSpend = ({ jkt, jti }: DpopProof): RequestProof['spend'] => {
    if (spending === null) return async () => undefined
    // The hash has a fixed length, and nobody can choose an id that another key has used.
    const id = createHash('sha256').update(`${jkt}.${jti}`).digest('base64url')
    let spent: Promise<void> | null = null
    const spend = async (): Promise<void> => {
      if (!(await spending.spend(`dpop:${id}`, keepMs))) throw new ReusedProofError()
    }
    return () => (spent ??= spend())
  }

  // A separate object for each manager, so that several managers can check the same request.
  const key = {}
  return {
    isRequired,
    algorithms,
    createNonce: () => nonces?.create(now()) ?? null,
    readProof(view) {
      const known = readAttached(view, key) as RequestProof | undefined
      if (known !== undefined) return known
      const header = view.header('dpop')
      if (header === null) return null
      // RFC 9449 §4.3, step 1: several `DPoP` headers arrive here joined with commas.
      if (header.includes(',')) throw new InvalidProofError('The request carries more than one DPoP proof')
      const proof = parseProof(header)
      assertForRequest(proof, view)
      const { jkt, ath } = proof
      const found: RequestProof = { jkt, ath, spend: createSpend(proof) }
      attach(view, key, found)
      return found
    },
  }
}

function requireSpending(store: StoreConnection | null): StoreConnection {
  if (store?.canSpend === true) return store
  throw new ConfigurationError(
    store === null
      ? 'dpop needs a store, which remembers the proofs: pass store, or nonceSecret and rememberProofs: false'
      : 'dpop needs a store with spend(), which remembers the proofs: pass nonceSecret and rememberProofs: false instead',
  )
}
