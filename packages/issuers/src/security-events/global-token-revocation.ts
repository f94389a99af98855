import { assertOptions, callHook, type MountableRoutes, type OptionNames, readBearer } from 'tokenlib/kit'
import type { Duration, IssuedJwt } from 'tokenlib'
import { claimJwt } from './claim-jwt.js'
import { JWT_LIMITS, parseJsonBody } from './read-body.js'
import {
  assertReceiver,
  createAccepted,
  createReceiver,
  type ReceiverTokens,
  RefusedEvent,
} from './receiver.js'
import {
  parseUsedJwt,
  prepareEvent,
  revokeSubject,
  type SecurityEvent,
  type UidFinder,
} from './revoke-subject.js'
import { assertSubjectIssuers, readSubjectIssuers, type SubjectIssuers } from './subject-issuers.js'
import { findSubject, parseIdentifier, type SubjectFinder } from './subject-identifiers.js'

/** How Global Token Revocation requests are received. */
export interface GlobalTokenRevocationOptions {
  /** The URL of this endpoint, exactly as the sender has it; a list where it has several. */
  readonly audience: string | readonly string[]
  /** Where the route is. Default `/global-token-revocation`. */
  readonly path?: string
  /** The issuers that may send requests. Default: every issuer of the manager. */
  readonly issuer?: string | readonly string[]
  /** For a sender, the issuers whose users it may name beside its own. */
  readonly subjectIssuers?: SubjectIssuers
  /** Finds the `sub` of a user by an email address and the like; `null` answers 404. */
  readonly toSubject?: SubjectFinder
  /** Refuse JWTs without the header `typ: global-token-revocation+jwt`, which Okta sends. Default `true`. */
  readonly requireTyp?: boolean
  /** How old the JWT of a request may be. Default `1h`. */
  readonly maxAge?: Duration
  /** Answer once no process accepts the tokens any more; needs a replica. Default `false`. */
  readonly everywhere?: boolean
  /** The user of the application's own tokens, who is signed out as well. */
  readonly toUid?: UidFinder
  /** Called after the revocation. If it throws, the sender gets a 5xx. */
  readonly onRevocation?: (event: SecurityEvent, request: Request) => unknown
}

const OPTIONS: OptionNames<GlobalTokenRevocationOptions> = {
  audience: true,
  path: true,
  issuer: true,
  subjectIssuers: true,
  toSubject: true,
  requireTyp: true,
  maxAge: true,
  everywhere: true,
  toUid: true,
  onRevocation: true,
}
const MEANT = { url: 'audience', onEvent: 'onRevocation', uid: 'toUid' }
const OWNER = 'createGlobalTokenRevocation()'
const TYPE = 'global-token-revocation'

/**
 * Receives Global Token Revocation requests (draft-parecki-oauth-global-token-revocation), which Okta's Universal Logout
 * sends, and revokes every token of the user.
 *
 * @example
 * const revocation = createGlobalTokenRevocation(tokens, { audience: 'https://api.example/global-token-revocation' })
 * app.use(mount(revocation))
 */
export function createGlobalTokenRevocation(
  tokens: ReceiverTokens,
  options: GlobalTokenRevocationOptions,
): MountableRoutes {
  assertOptions(OWNER, options, OPTIONS, MEANT)
  const { audience, issuer, subjectIssuers = {}, toSubject, toUid, onRevocation } = options
  const { path = '/global-token-revocation', requireTyp = true } = options
  const { maxAge = '1h', everywhere = false } = options
  const functions = { toSubject, toUid, onRevocation }
  const checks = { path, audienceName: 'audience', audience, issuer, everywhere, maxAge, functions }
  assertReceiver(OWNER, tokens, checks)
  assertSubjectIssuers(tokens, subjectIssuers)
  if (typeof requireTyp !== 'boolean') throw new TypeError('requireTyp must be true or false')
  const parts = { tokens, revoke: 'user', everywhere, toUid } as const
  const expected = {
    ...JWT_LIMITS,
    typ: `${TYPE}+jwt`,
    optionalTyp: !requireTyp,
    audience,
    maxAge,
    ...(issuer !== undefined && { issuer }),
  }

  const authenticate = async (request: Request): Promise<IssuedJwt> => {
    const jwt = readBearer(request.headers.get('authorization'), 'Bearer')
    if (jwt === null) throw unauthorized('The request has no bearer JWT')
    const verified = await tokens.verifyIssuedJwt(jwt, expected)
    if (typeof verified.claims['exp'] !== 'number') throw unauthorized('The JWT has no exp')
    return verified
  }

  return createReceiver({
    path,
    async answer(request) {
      const verified = await authenticate(request)
      const sender = { issuer: verified.issuer, claims: verified.claims }
      const used = parseUsedJwt(sender, maxAge)
      const subject = parseIdentifier((await parseJsonBody(request))['sub_id'])
      // Whom to revoke is in the body, which the JWT does not cover: with a JWT used before, anybody could be signed out.
      const claim = await claimJwt(verified, used, subject)
      if (claim.status === 'other') throw unauthorized('The JWT was used before, for another subject')
      if (claim.status === 'done') return createAccepted(204)
      const found = await findSubject(subject, {
        issuer: sender.issuer,
        issuers: readSubjectIssuers(subjectIssuers, sender.issuer),
        effect: 'user',
        toSubject,
      })
      if (found.status === 'forbidden') {
        throw new RefusedEvent(403, 'access_denied', 'The sender may not name users of that issuer')
      }
      const facts = { ...sender, type: TYPE, subject, details: {} }
      const prepared = await prepareEvent(parts, facts, found, 'user')
      if (found.status !== 'found' && prepared.uids.length === 0) throw toNotFound(found.status)
      // Never deferred: the subject is not signed, and only the store can bind the JWT to it.
      const event = await revokeSubject(parts, prepared, null, request)
      if (onRevocation !== undefined) await callHook('onRevocation', () => onRevocation(event, request))
      await claim.finish()
      return createAccepted(204)
    },
    toRefusal: ({ message }) => unauthorized(message),
    toBody: ({ code, message }) => ({ error: code, error_description: message }),
  })
}

function toNotFound(status: 'unknown' | 'unsupported'): RefusedEvent {
  return status === 'unknown'
    ? new RefusedEvent(404, 'not_found', 'The user was not found')
    : new RefusedEvent(400, 'invalid_request', 'Subject identifiers of that format are not supported')
}

// RFC 6750 §3.
function unauthorized(message: string): RefusedEvent {
  return new RefusedEvent(401, 'invalid_token', message, {
    'www-authenticate': 'Bearer error="invalid_token"',
  })
}
