import type { CreateTokenOptions, ClaimsInput, SessionClaims } from '../claims/create.js'
import { extraClaims, type TokenPayload } from '../claims/payload.js'
import { MissingTokenError, RevokedTokenError } from '../errors.js'
import { assertOptions, type OptionNames } from '../options.js'
import type { RequestSource } from '../request/request-source.js'
import type { CheckedToken, RevocableToken } from '../revocation/check.js'
import { CLIENT_OPTIONS, type SessionClientOptions } from './session-client.js'
import type { Sessions } from './sessions.js'
import type { PairTokenOptions, TokenPair } from './token-pair.js'

/** What a refreshed pair may be given; what is left out comes from the refresh token. */
export interface RefreshOptions<Input extends object> extends SessionClientOptions {
  /** Extra claims in place of those the refresh token carries. */
  readonly claims?: Input
  /** Options of the access token alone. */
  readonly access?: CreateTokenOptions
}

/** The names of `RefreshOptions`. */
export const REFRESH_OPTIONS: OptionNames<RefreshOptions<object>> = {
  ...CLIENT_OPTIONS,
  claims: true,
  access: true,
}

/** What a refresh needs of the manager: a check of the old token, and a new pair. */
export interface Refresher {
  readonly identityClaim: string
  readonly issuer: {
    /** Throws for claims and options that make no pair. */
    planPair(given: ClaimsInput, options: PairTokenOptions, csrf?: string): unknown
    /** Both tokens carry `csrf`; left out, they share a new CSRF value. */
    createPair(
      given: ClaimsInput,
      options: PairTokenOptions,
      session: SessionClaims,
      csrf?: string,
    ): TokenPair
  }
  /** The refresh token in a request, or a token itself, past every check. */
  verify(source: RequestSource | string): RefreshToken | null | Promise<RefreshToken | null>
  /** Tells those who listen that the token was refused after all. */
  reportRejection(error: unknown, claims: TokenPayload): void
}

/** A refresh token that was verified. */
export interface RefreshToken extends CheckedToken {
  /** The claims as they were signed, whatever a schema made of them. */
  readonly claims: TokenPayload
}

/** What a refresh needs of the store. */
export interface RefreshStore {
  readonly rotate: Sessions['rotate']
  readonly isRevoked: (token: RevocableToken) => boolean | Promise<boolean>
}

/** A new pair for the refresh token in a request, or for a token itself; the session moves one generation on. */
export async function refreshPair(
  store: RefreshStore,
  refresher: Refresher,
  source: RequestSource | string,
  refreshOptions: RefreshOptions<object>,
): Promise<TokenPair> {
  assertOptions('refresh()', refreshOptions, REFRESH_OPTIONS)
  const { claims, access, ...client } = refreshOptions
  const { identityClaim, issuer } = refresher
  const verified = await refresher.verify(source)
  if (verified === null) throw new MissingTokenError()

  const given = toGiven(verified.claims, identityClaim, claims)
  const options = { ...toOptions(verified.claims), ...(access && { access }) }
  // Pages of the session hold this value and may send it with any token of the session: a new value would refuse the
  // requests of every tab that read the old one just before the refresh.
  const { csrf } = verified.claims
  issuer.planPair(given, options, csrf)
  const request = typeof source === 'string' ? {} : { request: source }
  try {
    const session = await store.rotate(verified, { ...request, ...client })
    // Again: a key that was revoked since the check must not live on in a pair that another key signs.
    if (await store.isRevoked(verified)) throw new RevokedTokenError(verified.payload, verified.header)
    return issuer.createPair(given, options, session, csrf)
  } catch (error) {
    refresher.reportRejection(error, verified.claims)
    throw error
  }
}

function toGiven(claims: TokenPayload, identityClaim: string, replacement: object | undefined): ClaimsInput {
  if (replacement !== undefined && 'uid' in replacement)
    throw new TypeError('A refresh cannot change the uid')
  const extras: Record<string, unknown> = { ...extraClaims(claims) }
  delete extras[identityClaim]
  return { ...(replacement ?? extras), uid: claims.sub }
}

function toOptions({ scopes, aud, iss }: TokenPayload): CreateTokenOptions {
  return {
    ...(scopes !== undefined && { scopes }),
    ...(aud !== undefined && { audience: aud }),
    ...(iss !== undefined && { issuer: iss }),
  }
}
