import { TokenDecodeError, TokenSignatureError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import type { Clock } from '../time.js'
import type { BoundKey } from './algorithms.js'
import { isAccessTokenHeader, type CompactJws } from './compact.js'
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
  /** The `iss` that its tokens may have, as far as that is known. */
  readonly names: readonly string[]
  readonly keys: SourceKeys
  readonly rules: ClaimRules
  /** Stands before every `sub` in a payload; no user of another source may have it. Empty for none. */
  readonly subjectPrefix: string
  /** Whether its keys also sign JWTs about users and sessions, such as logout tokens. */
  readonly sendsEvents: boolean
  /** Whether its ECDSA signatures may come with the higher s. The manager then uses the spelling with the lower one. */
  readonly allowsHighS: boolean
  /**
   * Whose revocations apply to its tokens: the `issuer`, and `null`, which is us, if the issuer uses this library and may
   * revoke in the same store.
   */
  readonly revokedBy: readonly (string | null)[]
  /** The payload of a token whose signature holds, or `TokenDecodeError`. Time and audience are checked afterwards. */
  toPayload(jwt: SignedJwt): OpenedToken
  /** When a token began, and when it ends at the latest. */
  lifeOf(payload: TokenPayload): TokenLife
}

/** A JWT whose signature holds. */
export interface SignedJwt {
  readonly jws: CompactJws
  readonly header: JwsHeader
  readonly claims: Readonly<Record<string, unknown>>
}

/** A genuine token. */
export interface OpenedToken {
  readonly payload: TokenPayload
  /** The names of the user in revocations, without the prefix of the source: at least one. */
  readonly subjects: readonly string[]
}

/** In epoch milliseconds. */
export interface TokenLife {
  /** What revocations of users are compared with. */
  readonly start: number
  /** From when on the token cannot verify; `null` for never. */
  readonly end: number | null
}

/** The keys of a source, each bound to one algorithm. */
export interface SourceKeys {
  /**
   * The keys that may have signed a JWT with this header: empty if the source has none. `null` when they have to be loaded
   * first. Starts a reload in the background when the keys are due for one.
   *
   * With `isFinal`, for a caller that has waited for `load`, a key that is missing is not looked for again: `null` only says
   * that no keys are there at all.
   */
  find(header: JwsHeader, isFinal?: boolean): readonly BoundKey[] | null
  /**
   * Whether a key that `find` returned now or earlier is one of the source's at `now`, in epoch milliseconds. Starts a reload
   * like `find`.
   */
  isTrusted(key: BoundKey, now: number): boolean
  /** The ids of every key that is known under a `kid` at this moment, including those derived from the key. */
  idsOf(kid: string): readonly string[]
  /** Loads keys; `null` if all of them are there from the start. */
  readonly loader: KeyLoader | null
}

/** Loads the keys of a source. */
export interface KeyLoader {
  /**
   * Loads what `find` lacks for a header, together with every other call that waits for the same. Then `find` answers.
   * Rejects with `KeysUnavailableError` when there is nothing to answer with.
   *
   * With `mustBeCertain`, a key that is missing is looked for now, from a budget that other requests cannot use up. Rejects
   * as well if it cannot be looked for. For callers that may not retry.
   */
  load(header: JwsHeader, mustBeCertain?: boolean): Promise<void>
  /** Starts what `load` does, and waits for nothing; in Workers, where that would end with the request, does nothing. */
  prepare(header: JwsHeader): void
  /** Resolves once the keys are there, and what `prepare` has started is done; rejects with `KeysUnavailableError`. */
  ready(): Promise<void>
}

/** The source of an issuer, connected to one manager. */
export interface IssuerSource extends TokenSource {
  readonly issuer: string
  /** Whether its tokens have no `iss` and are found by their keys; `issuer` is only a name then. */
  readonly isWithoutIss: boolean
  /** What its tokens look like, in a word: `tokenlib doctor` shows it. */
  readonly profile: string
  /** Keys that no other source may have: a token of one could pass for a token of the other. */
  readonly exclusiveKeys: readonly BoundKey[]
  /** From the start of one of its tokens to its end at the latest, in milliseconds. */
  readonly longestLifetime: number
  /** How long revocations of its sessions are kept, in milliseconds. */
  readonly sessionLifetime: number
}

/**
 * An issuer whose tokens a manager accepts in addition to its own: what the option `issuers` takes. The functions of
 * `@tokenlib/issuers` return one.
 */
export interface TrustedIssuer {
  /** The `iss` of its tokens, or a name for an issuer whose tokens have none. */
  readonly issuer: string
  /** Stands before every `sub`. Required as soon as a manager has several sources; `''` says that all mean the same users. */
  readonly subjectPrefix?: string | undefined
  /** Its source for one manager, or `ConfigurationError`. Called once by each manager; sends nothing. */
  connect(manager: SourceContext): IssuerSource
}

/** What a manager tells its issuers. */
export interface SourceContext {
  readonly emit: TokenEmitter['emit']
  /** The clock of the manager, in epoch milliseconds; 0 if the runtime has no time yet, as in a Worker that starts. */
  readonly now: Clock
  /** The clock difference that the configuration tolerates, in seconds. */
  readonly leeway: number
  /** The claim that names the user in the manager's own tokens; in every payload, it has the value of `sub`. */
  readonly identityClaim: string
}

/** What a manager is configured with for its own tokens. */
export interface OwnTokens {
  readonly keys: KeyRing
  readonly rules: ClaimRules
  /** The `iss` that they may have, as far as the configuration says. */
  readonly names: readonly string[]
  /** The claim that names the user. */
  readonly identityClaim: string
}

/** The tokens that a manager makes itself. */
export function createOwnSource({ keys, rules, names, identityClaim }: OwnTokens): TokenSource {
  return {
    issuer: null,
    names,
    keys: createRingKeys(keys),
    rules,
    subjectPrefix: '',
    sendsEvents: false,
    // We make the lower one, and accept no other spelling.
    allowsHighS: false,
    revokedBy: [null],
    toPayload({ header, claims }) {
      const payload = toTokenPayload(claims, identityClaim)
      // We never issue such a token, but somebody else with the same key may have.
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
  // Tokens of one key have the same header, which is one object as long as it is.
  let last: Selection | null = null

  return {
    find(header) {
      const { verifying } = ring
      // Unless the keys were replaced.
      const isKnown = last?.header === header && last.verifying === verifying
      last = last !== null && isKnown ? last : { header, verifying, keys: selectKeys(verifying, header) }
      return last.keys
    },
    isTrusted: (key, now) => ring.isTrusted(key, now),
    idsOf: () => [],
    loader: null,
  }
}

interface Selection {
  readonly header: JwsHeader
  readonly keys: readonly BoundKey[]
  /** The keys of the ring when they were selected. */
  readonly verifying: readonly BoundKey[]
}

// A header selects among keys that are bound to their algorithms; it never decides how one is used.
function selectKeys(keys: readonly BoundKey[], header: JwsHeader): readonly BoundKey[] {
  const allowed = keys.filter((key) => key.algorithm === header.alg)
  if (allowed.length === 0) throw new TokenDecodeError('Token algorithm is not allowed')
  if (header.kid === undefined) return allowed
  const named = allowed.filter((key) => key.kid === header.kid)
  if (named.length === 0) throw new TokenSignatureError('Token was signed with an unknown key')
  return named
}
