import { KeysUnavailableError, TokenDecodeError, TokenSignatureError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import type { Clock, Scheduler } from '../time.js'
import type { BoundKey } from './algorithms.js'
import { type CompactJws, findSigner, isAccessTokenHeader } from './compact.js'
import { readTokenStart } from './ids.js'
import type { JwsHeader } from './jose.js'
import type { KeyRing } from './key-ring.js'
import { type ClaimRules, toTokenPayload, type TokenPayload } from './payload.js'

/**
 * Tokens that a manager trusts, and what it needs to check them: its own tokens, or the tokens of one issuer.
 *
 * The manager itself checks signatures, dates, audience and revocation, in the same way for all sources, with the keys and
 * the rules of the source.
 */
export interface TokenSource {
  /** Names the source in policies and revocations; `null` for the manager's own tokens. */
  readonly issuer: string | null
  /** The `iss` that its tokens may have, if known. */
  readonly names: readonly string[]
  readonly keys: SourceKeys
  readonly rules: ClaimRules
  /** Prepended to every `sub` in a payload. No user of another source may have this prefix. Empty for none. */
  readonly subjectPrefix: string
  /** Whether its keys also sign JWTs about users and sessions, such as logout tokens. */
  readonly sendsEvents: boolean
  /** Whether its ECDSA signatures may have the higher s. The manager then uses the form with the lower s. */
  readonly allowsHighS: boolean
  /**
   * Whose revocations apply to its tokens: those for the `issuer`, and also our own (`null`) if the issuer uses this library
   * and may revoke in the same store.
   */
  readonly revokedBy: readonly (string | null)[]
  /** The payload of a token with a valid signature, or `TokenDecodeError`. Time and audience are checked afterwards. */
  toPayload(jwt: SignedJwt): OpenedToken
  /** When a token started, and when it ends at the latest. */
  lifeOf(payload: TokenPayload): TokenLife
}

/** A JWT with a valid signature. */
export interface SignedJwt {
  readonly jws: CompactJws
  readonly header: JwsHeader
  readonly claims: Readonly<Record<string, unknown>>
}

/** A genuine token. */
export interface OpenedToken {
  readonly payload: TokenPayload
  /** The ids of the user in revocations, without the prefix of the source. At least one. */
  readonly subjects: readonly string[]
}

/** In epoch milliseconds. */
export interface TokenLife {
  /** What revocations of users are compared with. */
  readonly start: number
  /** When the token can no longer be valid; `null` for never. */
  readonly end: number | null
}

/** The keys of a source, each bound to one algorithm. */
export interface SourceKeys {
  /**
   * The keys that may have signed a JWT with this header; empty if the source has no such key. `null` if keys have to be
   * loaded first. Starts a background reload if the keys are due for one.
   *
   * Pass `isFinal` after waiting for `load`: a missing key is then not looked up again, and `null` only means that no keys
   * are loaded at all.
   */
  find(header: JwsHeader, isFinal?: boolean): readonly BoundKey[] | null
  /**
   * Whether a key that `find` returned, now or earlier, is still trusted at `now`, in epoch milliseconds. Starts a reload like
   * `find`.
   */
  isTrusted(key: BoundKey, now: number): boolean
  /** The ids of every key that currently has a `kid`, including the ids derived from the keys. */
  idsOf(kid: string): readonly string[]
  /** Loads keys; `null` if all keys are known from the start. */
  readonly loader: KeyLoader | null
}

/** Tokens that only their issuer can read (RFC 7662). */
export interface OpaqueTokens {
  /**
   * What the issuer said about a token, or `null` if it has to be asked. Throws `TokenDecodeError` for a token that the
   * issuer refuses.
   */
  recall(token: string): OpenedToken | null
  /**
   * Asks the issuer about a token, unless what it said still counts. Rejects with `TokenDecodeError` for a token that it
   * refuses, and with `KeysUnavailableError` if it does not answer. For `mustBeCertain` see `KeyLoader`.
   */
  load(token: string, mustBeCertain?: boolean): Promise<OpenedToken>
}

/** Loads the keys of a source. */
export interface KeyLoader {
  /**
   * Loads what `find` lacks for a header. Calls that wait for the same keys share one load. Afterwards `find` answers.
   * Rejects with `KeysUnavailableError` if no keys are available.
   *
   * With `mustBeCertain`, a missing key is looked up now, from a budget that other requests cannot use up. Also rejects if the
   * lookup is not possible. For callers that may not retry.
   */
  load(header: JwsHeader, mustBeCertain?: boolean): Promise<void>
  /** Starts a load without waiting for it. Does nothing in Workers, where the load would end with the request. */
  prepare(header: JwsHeader): void
  /** Resolves once the keys and the loads that `prepare` started are done. Rejects with `KeysUnavailableError`. */
  ready(): Promise<void>
}

/** The source of an issuer, connected to one manager. */
export interface IssuerSource extends TokenSource {
  readonly issuer: string
  /** Whether its tokens have no `iss` and are recognised by their keys. `issuer` is then only a name. */
  readonly isWithoutIss: boolean
  /** The name of its token format, as `tokenlib doctor` shows it. */
  readonly profile: string
  /** Keys that no other source may have, so that its tokens cannot pass for another source's. */
  readonly exclusiveKeys: readonly BoundKey[]
  /** The longest lifetime of one of its tokens, in milliseconds. */
  readonly longestLifetime: number
  /** How long revocations of its sessions are kept, in milliseconds. */
  readonly sessionLifetime: number
  /** Reads its tokens if they are opaque; its keys then verify nothing. A manager takes one such issuer. */
  readonly opaque?: OpaqueTokens | undefined
}

/** The source of an issuer whose tokens are opaque. */
export type OpaqueSource = IssuerSource & { readonly opaque: OpaqueTokens }

/**
 * An issuer whose tokens a manager accepts in addition to its own, for the option `issuers`. The functions of
 * `@tokenlib/issuers` return one.
 */
export interface TrustedIssuer {
  /** The `iss` of its tokens, or a name if they have no `iss`. */
  readonly issuer: string
  /** Prepended to every `sub`. Required if a manager has several sources; `''` if all sources have the same users. */
  readonly subjectPrefix?: string | undefined
  /** Creates the source for one manager, or throws `ConfigurationError`. Each manager calls it once. Sends no requests. */
  connect(manager: SourceContext): IssuerSource
}

/** What a manager passes to its issuers. */
export interface SourceContext {
  readonly emit: TokenEmitter['emit']
  /** The clock of the manager, in epoch milliseconds; 0 if the runtime has no time yet, as in a starting Worker. */
  readonly now: Clock
  readonly scheduler: Scheduler
  /** The clock difference that the configuration tolerates, in seconds. */
  readonly leeway: number
  /** The claim that names the user in the manager's own tokens; in every payload, it has the value of `sub`. */
  readonly identityClaim: string
}

/** The configuration of a manager's own tokens. */
export interface OwnTokens {
  readonly keys: KeyRing
  readonly rules: ClaimRules
  /** The `iss` that they may have, if configured. */
  readonly names: readonly string[]
  /** The claim that names the user. */
  readonly identityClaim: string
}

/** The tokens that a manager creates itself. */
export function createOwnSource({ keys, rules, names, identityClaim }: OwnTokens): TokenSource {
  return {
    issuer: null,
    names,
    keys: createRingKeys(keys),
    rules,
    subjectPrefix: '',
    sendsEvents: false,
    // We sign with the lower s and accept no other form.
    allowsHighS: false,
    revokedBy: [null],
    toPayload({ header, claims }) {
      const payload = toTokenPayload(claims, identityClaim)
      // We never issue such a token, but another holder of the key may have.
      if (payload.type !== 'access' && isAccessTokenHeader(header)) {
        throw new TokenDecodeError('Unexpected "typ" header: a refresh token must not have "at+jwt"')
      }
      return { payload, subjects: [payload.sub] }
    },
    lifeOf(payload) {
      const { exp, iat } = payload
      return {
        start: readTokenStart(payload),
        end: exp === undefined || iat === undefined ? null : exp * 1000,
      }
    },
  }
}

function createRingKeys(ring: KeyRing): SourceKeys {
  // Tokens of one key have the same header, which stays one object.
  let last: { header: JwsHeader; verifying: readonly BoundKey[]; keys: readonly BoundKey[] } | null = null

  return {
    find(header) {
      const { verifying } = ring
      // `keys.set` replaces the list, and the last selection is valid only for its own list.
      if (last?.header !== header || last.verifying !== verifying) {
        last = { header, verifying, keys: selectKeys(verifying, header) }
      }
      return last.keys
    },
    isTrusted: ring.isTrusted,
    idsOf: () => [],
    loader: null,
  }
}

// A header selects among keys that are bound to their algorithms. It never decides how a key is used.
function selectKeys(keys: readonly BoundKey[], header: JwsHeader): readonly BoundKey[] {
  const allowed = keys.filter((key) => key.algorithm === header.alg)
  if (allowed.length === 0) throw new TokenDecodeError('Token algorithm is not allowed')
  if (header.kid === undefined) return allowed
  return allowed.filter((key) => key.kid === header.kid)
}

/**
 * The key of a source that signed a JWT, or `TokenSignatureError`; `KeysUnavailableError` if the keys are not loaded. Pass
 * `isLoaded` if you have loaded them: a missing key is then unknown.
 */
export function findSourceSigner(
  { keys, issuer }: TokenSource,
  header: JwsHeader,
  jws: CompactJws,
  { now, isLoaded }: { readonly now: number; readonly isLoaded: boolean },
): BoundKey {
  const found = keys.find(header, isLoaded)
  if (found === null) {
    // For the next call, and for ready(): otherwise a caller that cannot wait would never get a new key.
    keys.loader?.prepare(header)
    throw new KeysUnavailableError(
      new Error('The keys of the issuer are not loaded: await tokens.ready() first'),
      undefined,
      issuer,
    )
  }
  if (found.length === 0) throw new TokenSignatureError('Token was signed with an unknown key')
  // Before the signature: a key may go on under another name.
  const trusted = found.filter((key) => keys.isTrusted(key, now))
  if (trusted.length === 0) throw new TokenSignatureError('Token was signed with a retired key')
  return findSigner(trusted, jws)
}
