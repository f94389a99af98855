import {
  callable,
  callHook,
  choice,
  createEmptyAnswer,
  flag,
  internalsOf,
  isJsonObject,
  type MountableRoutes,
  oneOrMore,
  type OptionKinds,
  required,
  text,
} from 'tokenlib/kit'
import { invalidRequest, toOAuthBody } from '../oauth-error.js'
import {
  createReceiver,
  parseFormField,
  parseReceiver,
  RECEIVER_OPTIONS,
  type ReceiverOptions,
  toExpected,
} from './receiver.js'
import {
  parseUsedJwt,
  prepareEvent,
  type ReceiverTokens,
  rememberJwt,
  type RevocationScope,
  revokeSubject,
  type SecurityEvent,
} from './revoke-subject.js'
import type { FoundSubject } from './subject-identifiers.js'

/** How a back-channel logout is received. */
export interface BackChannelLogoutOptions extends ReceiverOptions {
  /** The `client_id` at the provider, which is the `aud` of logout tokens; several as a list. */
  readonly clientId: string | readonly string[]
  /**
   * What is revoked when a logout token names a session and its user. Default `both`: access tokens of most providers have
   * no `sid`, and would survive a logout of the session alone.
   */
  readonly revoke?: RevocationScope
  /** Refuse logout tokens without the header `typ: logout+jwt`, which older providers do not send. Default `false`. */
  readonly requireTyp?: boolean
  /** Called after the revocation. If it throws, the provider gets a 5xx and may repeat the logout. */
  readonly onLogout?: (event: SecurityEvent, request: Request) => unknown
}

const OPTIONS: OptionKinds<BackChannelLogoutOptions> = {
  ...RECEIVER_OPTIONS,
  clientId: required(oneOrMore(text)),
  revoke: choice(['session', 'user', 'both']),
  requireTyp: flag,
  onLogout: callable(),
}
const MEANT = { audience: 'clientId', client_id: 'clientId', onEvent: 'onLogout' }

// The event of a logout token (OpenID Connect Back-Channel Logout 1.0 §2.4).
const BACKCHANNEL_LOGOUT = 'http://schemas.openid.net/event/backchannel-logout'

/**
 * Receives the logout tokens of OpenID providers (OpenID Connect Back-Channel Logout 1.0) and revokes in the store.
 *
 * @example
 * const logout = createBackChannelLogout(tokens, { clientId: 'my-app' })
 * app.use(mount(logout))
 */
export function createBackChannelLogout(
  tokens: ReceiverTokens,
  options: BackChannelLogoutOptions,
): MountableRoutes {
  const parsed = parseReceiver('createBackChannelLogout()', tokens, options, OPTIONS, MEANT)
  const { path = '/backchannel-logout', revoke = 'both', maxAge = '1h', onLogout } = parsed
  const parts = { ...parsed, tokens, revoke }
  const expected = {
    ...toExpected(parsed, maxAge),
    // §2.4 recommends `logout+jwt`. Providers from before that send `JWT`, or none; `events` still sets these JWTs apart.
    typ: 'logout+jwt',
    optionalTyp: parsed.requireTyp !== true,
    audience: parsed.clientId,
    allowUnknown: true,
  }

  return createReceiver({
    path,
    async answer(request) {
      const jwt = await parseFormField(request, 'logout_token')
      const verified = await internalsOf(tokens).verifyIssuedJwt(jwt, expected)
      const { details, found } = parseLogout(verified)
      const used = parseUsedJwt(verified, maxAge)
      // §2.6: a logout token that is sent again. The session is over; a user who has signed in since stays signed in.
      if (verified.isRevoked === true) return createEmptyAnswer(200)
      const { issuer: sentBy, claims } = verified
      const facts = { issuer: sentBy, type: BACKCHANNEL_LOGOUT, subject: null, details, claims }
      const prepared = await prepareEvent(parts, facts, found, 'session')
      const event = await revokeSubject(parts, prepared, verified, request)
      if (onLogout !== undefined) await callHook('onLogout', () => onLogout(event, request))
      await rememberJwt(tokens, used, verified)
      return createEmptyAnswer(200)
    },
    toRefusal: ({ message }) => invalidRequest(message),
    toBody: toOAuthBody,
  })
}

// §2.6, steps 4 to 6. They keep ID tokens and access tokens from passing for logout tokens (§4.1).
function parseLogout({ issuer, claims }: Pick<SecurityEvent, 'issuer' | 'claims'>): {
  readonly details: Readonly<Record<string, unknown>>
  readonly found: FoundSubject
} {
  const { events, sub, sid } = claims
  const details =
    isJsonObject(events) && Object.hasOwn(events, BACKCHANNEL_LOGOUT) ? events[BACKCHANNEL_LOGOUT] : null
  if (!isJsonObject(details)) throw invalidRequest('The JWT is not a logout token: it has no logout event')
  if (Object.hasOwn(claims, 'nonce')) throw invalidRequest('The JWT is not a logout token: it has a nonce')
  if (sub === undefined && sid === undefined) throw invalidRequest('The logout token has neither sub nor sid')
  return {
    details,
    found: {
      users: sub === undefined ? [] : [{ issuer, sub: parseId('sub', sub) }],
      sessions: sid === undefined ? [] : [{ issuer, sid: parseId('sid', sid) }],
      status: 'found',
    },
  }
}

function parseId(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw invalidRequest(`${name} must be a non-empty string`)
}
