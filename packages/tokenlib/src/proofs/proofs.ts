import { ConfigurationError, InvalidProofError, isTokenError, ProofRequiredError } from '../errors.js'
import { isJsonObject } from '../encoding.js'
import { DPOP_SCHEME, readBearer } from '../http/credentials.js'
import type { ReadingRules, RequestToken } from '../http/read-token.js'
import type { RequestView } from '../http/view.js'
import type { StoreConnection } from '../revocation/connect-store.js'
import type { Clock } from '../time.js'
import type { DpopChallenge } from '../token-error.js'
import type { Confirmation } from '../tokens/payload.js'
import { readOtherForm } from '../tokens/token-sources.js'
import { type Certificates, createCertificates, type MtlsOptions } from './certificates.js'
import { createDpop, type Dpop, type DpopOptions, toTokenHash } from './dpop.js'
import type { DpopAlgorithm } from './dpop-proof.js'

/** How a request proves that it has the key of its token. */
export type ProofKind = 'dpop' | 'mtls'

/** The kinds of proof that a manager can check. */
export interface ProofOptions {
  readonly dpop?: DpopOptions | undefined
  readonly mtls?: MtlsOptions | undefined
}

/** Checks that requests have the keys of their tokens. */
export interface Proofs {
  /** The algorithms that DPoP proofs may be signed with; `null` if DPoP proofs are not checked. */
  readonly dpopAlgorithms: readonly DpopAlgorithm[] | null
  /** The kind of proof that every route demands; `null` if bearer tokens are accepted too. */
  readonly required: ProofKind | null
  accepts(kind: ProofKind): boolean
  /**
   * Throws if a bound token came without a proof of its key, or if a token that must be bound is not bound. Call the
   * returned function after everything else about the request is checked: it uses up the proof.
   */
  check(token: PresentedToken, demanded: ProofKind | undefined): (() => Promise<void>) | null
  /** Throws `ProofRequiredError` for a token that is bound to a key that this manager does not check. */
  assertCheckable(cnf: unknown): void
  /**
   * Like `assertCheckable`, but also throws if the token is not bound as demanded. For tokens whose proof was checked
   * before.
   */
  assertBound(cnf: unknown, demanded: ProofKind | undefined): void
  /**
   * The key that a request proves, for new tokens. Uses up the proof. Rejects with `ProofRequiredError` if the request
   * has no proof.
   */
  bind(view: RequestView): Promise<Confirmation>
  /** Whether a request proves a key. Throws if the proof is invalid, or missing although every route demands one. */
  hasProof(view: RequestView): boolean
  /** A nonce for the next proof; `null` if proofs need none. */
  createNonce(): string | null
  /** Adds a challenge to a token error: how the client has to prove its key. */
  addChallenge(error: unknown, view: RequestView | null, demanded: ProofKind | undefined): void
}

/** A token, and the request that presents it. */
export interface PresentedToken {
  readonly token: string
  readonly cnf: unknown
  /** `null` for a token that came without a request. */
  readonly view: RequestView | null
  readonly location: RequestToken['location'] | null
}

/** What the checks need. */
export interface ProofParts extends ProofOptions {
  readonly store: StoreConnection | null
  readonly now: Clock
  readonly reading: Pick<ReadingRules, 'headerKey' | 'headerType'>
}

/** Creates the checks that the options enable. */
export function createProofs({ dpop: dpopOptions, mtls, store, now, reading }: ProofParts): Proofs {
  const dpop = dpopOptions === undefined ? null : createDpop(dpopOptions, store, now)
  if (dpop !== null && reading.headerType.toLowerCase() === DPOP_SCHEME.toLowerCase()) {
    throw new ConfigurationError(
      'dpop reads the scheme DPoP besides JWT_HEADER_TYPE, which must be another one',
    )
  }
  const certificates = mtls === undefined ? null : createCertificates(mtls)
  if (dpop?.isRequired === true && certificates?.isRequired === true) {
    throw new ConfigurationError('dpop and mtls cannot both be required: a token is bound to one key')
  }
  const required =
    (dpop?.isRequired === true && 'dpop') || (certificates?.isRequired === true && 'mtls') || null

  // RFC 9449 §7.1: a bound token in a header must use this scheme.
  const hasDpopScheme = (view: RequestView): boolean =>
    readBearer(view.header(reading.headerKey), DPOP_SCHEME) !== null

  // A key that this manager does not check must not count as proven.
  const parseCheckable = (cnf: unknown): Confirmation => {
    const confirmation = parseConfirmation(cnf)
    const { jkt, 'x5t#S256': thumbprint } = confirmation
    const isCheckable =
      (jkt === undefined || dpop !== null) && (thumbprint === undefined || certificates !== null)
    if (!isCheckable) throw new ProofRequiredError()
    return confirmation
  }

  // `null` for a token that is not bound and does not have to be.
  const parseBound = (cnf: unknown, demanded: ProofKind | undefined): Confirmation | null => {
    const confirmation = cnf === undefined ? null : parseCheckable(cnf)
    if (demanded !== undefined && confirmation?.[CONFIRMATIONS[demanded]] === undefined)
      throw new ProofRequiredError(
        `A token that is bound to a key is required: log in with ${PROOF_NAMES[demanded]}`,
      )
    return confirmation
  }

  const assertMayBeUnbound = ({ view, location }: PresentedToken): void => {
    if (dpop !== null && view !== null && location === 'headers' && hasDpopScheme(view)) {
      throw new InvalidProofError('Token is not bound to a key, so its scheme must not be DPoP')
    }
  }

  const checkDpop = (checker: Dpop, jkt: string, presented: PresentedToken): (() => Promise<void>) => {
    const { token, view, location } = presented
    const proof = view && checker.readProof(view)
    if (view === null) throw new ProofRequiredError('Token is bound to a key: pass its request as proofOf')
    if (proof === null)
      throw new ProofRequiredError('Token is bound to a key, and no DPoP proof came with it')
    if (location === 'headers' && !hasDpopScheme(view)) throw new ProofRequiredError()
    if (proof.jkt !== jkt) throw new InvalidProofError('DPoP proof was made with another key')
    // A script cannot read an HttpOnly cookie, so it cannot hash the token in the cookie.
    const mayLack = location === 'cookies' && proof.ath === undefined
    if (!mayLack && !isHashOf(proof.ath, token)) {
      throw new InvalidProofError(
        `DPoP proof ${proof.ath === undefined ? 'has no "ath"' : 'is for another token'}`,
      )
    }
    return proof.spend
  }

  const addChallenge: Proofs['addChallenge'] = (error, view, demanded = required ?? undefined) => {
    if (dpop === null || !isTokenError(error)) return
    const usesDpop = view !== null && hasDpopHeader(view)
    const value: DpopChallenge = Object.freeze({
      algorithms: dpop.algorithms,
      isOnlyScheme: demanded === 'dpop' || usesDpop || error.code.startsWith('PROOF_'),
      nonce: dpop.createNonce(),
    })
    // Reflect, because an assignment would throw if the application froze its own error.
    Reflect.defineProperty(error, 'dpop', { value, configurable: true })
  }

  const readThumbprint = (view: RequestView): string | null =>
    required === 'dpop' ? null : (certificates?.readThumbprint(view) ?? null)

  const hasProof = (view: RequestView): boolean => {
    if ((dpop?.readProof(view) ?? null) !== null || readThumbprint(view) !== null) return true
    if (required === null) return false
    throw noProof()
  }

  const bind = async (view: RequestView): Promise<Confirmation> => {
    if (dpop === null && certificates === null) {
      throw new TypeError('proofOf needs the option dpop or mtls of the TokenManager')
    }
    const proof = dpop?.readProof(view) ?? null
    if (proof !== null) {
      await proof.spend()
      return { jkt: proof.jkt }
    }
    const thumbprint = readThumbprint(view)
    if (thumbprint !== null) return { 'x5t#S256': thumbprint }
    throw noProof()
  }

  return {
    dpopAlgorithms: dpop?.algorithms ?? null,
    required,
    accepts: (kind) => (kind === 'dpop' ? dpop : certificates) !== null,
    check(presented, demanded = required ?? undefined) {
      const confirmation = parseBound(presented.cnf, demanded)
      if (confirmation === null) {
        assertMayBeUnbound(presented)
        return null
      }
      const { jkt, 'x5t#S256': thumbprint } = confirmation
      if (thumbprint !== undefined) checkCertificate(certificates as Certificates, thumbprint, presented)
      return jkt === undefined ? null : checkDpop(dpop as Dpop, jkt, presented)
    },
    assertCheckable(cnf) {
      if (cnf !== undefined) parseCheckable(cnf)
    },
    assertBound(cnf, demanded = required ?? undefined) {
      parseBound(cnf, demanded)
    },
    async bind(view) {
      try {
        return await bind(view)
      } catch (error) {
        addChallenge(error, view, undefined)
        throw error
      }
    },
    hasProof(view) {
      try {
        return hasProof(view)
      } catch (error) {
        addChallenge(error, view, undefined)
        throw error
      }
    },
    createNonce: () => dpop?.createNonce() ?? null,
    addChallenge,
  }
}

// RFC 9449 §4.3: the client hashed the token as it was issued, possibly with the higher s.
function isHashOf(ath: string | undefined, token: string): boolean {
  if (ath === toTokenHash(token)) return true
  const other = readOtherForm(token)
  return other !== null && ath === toTokenHash(other)
}

function checkCertificate(reader: Certificates, thumbprint: string, { view }: PresentedToken): void {
  const found = view && reader.readThumbprint(view)
  if (found === null)
    throw new ProofRequiredError('Token is bound to a client certificate, and the request has none')
  if (found !== thumbprint) {
    throw new InvalidProofError('Token is bound to another client certificate')
  }
}

function noProof(): ProofRequiredError {
  return new ProofRequiredError(
    'The request has no DPoP proof or client certificate that tokens can be bound to',
  )
}

function hasDpopHeader(view: RequestView): boolean {
  try {
    return view.header('dpop') !== null
  } catch {
    // A header that is too long to read is refused when the proof is read.
    return true
  }
}

const HASH = /^[\w-]{43}$/
const CONFIRMATIONS = { dpop: 'jkt', mtls: 'x5t#S256' } as const satisfies Record<
  ProofKind,
  keyof Confirmation
>
const PROOF_NAMES = { dpop: 'a DPoP proof', mtls: 'a client certificate' } as const
const KNOWN_MEMBERS: readonly string[] = Object.values(CONFIRMATIONS)

// RFC 7800 §3.1: a confirmation that we do not understand must not count as checked.
function parseConfirmation(cnf: unknown): Confirmation {
  const entries = isJsonObject(cnf) ? Object.entries(cnf) : []
  const isKnown = entries.every(
    ([name, value]) => KNOWN_MEMBERS.includes(name) && typeof value === 'string' && HASH.test(value),
  )
  if (entries.length === 0 || !isKnown) throw new ProofRequiredError()
  return cnf as Confirmation
}
