import type { CreateTokenOptions, GivenClaims } from '../claims/create.js'
import type { TokenPayload } from '../claims/payload.js'
import { extraClaims } from '../claims/read-payload.js'
import { MissingTokenError, RevokedTokenError } from '../errors.js'
import { type RequestSource, toRequestView } from '../request/request-source.js'
import type { SessionClientOptions } from '../sessions/session-client.js'
import type { Sessions } from '../sessions/sessions.js'
import { type Authenticator, authenticate, authenticateToken, createGuard } from './authenticate.js'
import type { TokenIssuer, TokenPair } from './issue.js'
import { reportRejection } from './report-rejection.js'

/** What a refreshed pair may be given; what is left out comes from the refresh token. */
export interface RefreshOptions<Input extends object> extends SessionClientOptions {
  /** Extra claims in place of those the refresh token carries. */
  readonly claims?: Input
  /** Options of the access token alone. */
  readonly access?: CreateTokenOptions
}

/** What a refresh works with. */
export interface RefreshParts {
  readonly authenticator: Authenticator
  readonly sessions: Sessions
  readonly issuer: TokenIssuer
}

/** A new pair for the refresh token in a request, or for a token itself; the session moves one generation on. */
export async function refreshPair<Input extends object>(
  { authenticator, sessions, issuer }: RefreshParts,
  source: RequestSource | string,
  { claims, access, ...client }: RefreshOptions<Input>,
): Promise<TokenPair> {
  const policy = { type: 'refresh' } as const
  const verified =
    typeof source === 'string'
      ? await authenticateToken(authenticator, source, policy, null)
      : await authenticate(authenticator, toRequestView(source), createGuard(policy, authenticator.settings))
  if (verified === null) throw new MissingTokenError()

  const given = toGiven(verified.claims, authenticator.settings.identityClaim, claims)
  const options = { ...toOptions(verified.claims), ...(access && { access }) }
  issuer.planPair(given, options)
  const request = typeof source === 'string' ? {} : { request: source }
  try {
    const session = await sessions.rotate(verified, { ...request, ...client })
    // Again: a key that was revoked since the check must not live on in a pair that another key signs.
    if (await authenticator.store?.isRevoked(verified)) {
      throw new RevokedTokenError(verified.payload, verified.header)
    }
    return issuer.createPair(given, options, session)
  } catch (error) {
    reportRejection(authenticator, error, verified.claims)
    throw error
  }
}

function toGiven(claims: TokenPayload, identityClaim: string, replacement: object | undefined): GivenClaims {
  if (replacement !== undefined && 'uid' in replacement)
    throw new TypeError('A refresh cannot change the uid')
  const extras: Record<string, unknown> = { ...extraClaims(claims) }
  delete extras[identityClaim]
  return { ...(replacement ?? extras), uid: claims.sub }
}

function toOptions({ scopes, aud }: TokenPayload): CreateTokenOptions {
  return { ...(scopes !== undefined && { scopes }), ...(aud !== undefined && { audience: aud }) }
}
