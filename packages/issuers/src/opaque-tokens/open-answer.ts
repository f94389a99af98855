import { createHash } from 'node:crypto'
import { TokenDecodeError } from 'tokenlib/errors'
import { type OpenedToken, text } from 'tokenlib/kit'
import { type ClaimMapping, type ProfileRules, toIssuerPayload } from '../profile.js'

/** How an answer becomes a payload. */
export interface AnswerProfile extends ProfileRules {
  /** Whether every token must have a `jti`, so that none is created. */
  readonly hasIds: boolean
}

/** The token that an answer is about, or `TokenDecodeError`. */
export function openAnswer(
  answer: Readonly<Record<string, unknown>>,
  issuer: string,
  { hasIds, ...profile }: AnswerProfile,
): OpenedToken {
  assertAccessToken(answer, profile.mapping)
  const { iss = issuer, ...others } = answer
  const claims = { ...others, iss }
  const toId = hasIds ? null : () => toAnswerId(answer, profile.mapping)
  const payload = toIssuerPayload(claims, { alg: 'introspection' }, profile, toId)
  const user = payload.sub.slice(profile.subjectPrefix.length)
  const { sub } = answer
  return { payload, subjects: text.isValid(sub) && sub !== user ? [user, sub] : [user] }
}

// The endpoint calls refresh tokens active too (RFC 7662 §2.1), so something must say that it is an access token.
function assertAccessToken(answer: Readonly<Record<string, unknown>>, { access }: ClaimMapping): void {
  const { token_type: type, token_use: use, typ, cnf } = answer
  if (type !== undefined && (typeof type !== 'string' || !ACCESS.test(type))) {
    throw new TokenDecodeError('Token is not an access token')
  }
  // As a bearer token, it would pass without the proof that it is for.
  if (type?.toLowerCase() === 'dpop' && cnf === undefined)
    throw new TokenDecodeError('Token claim "cnf" is missing')
  if (type !== undefined || use !== undefined || typ !== undefined || access !== undefined) return
  throw new TokenDecodeError(
    'Token may not be an access token: the answer has no token_type. Set mapping.access to what only access tokens have',
  )
}

const ACCESS = /^(?:bearer|dpop|access_token)$/i

/**
 * Creates an id for a token without one, from what its issuer says about it.
 *
 * Not from its text: many issuers accept several spellings of one token, for example with other unused bits in base64url. A
 * revoked token would come back in another one. Tokens of one user and client from the same second share an id.
 */
function toAnswerId(
  answer: Readonly<Record<string, unknown>>,
  { sub = 'sub', sid = 'sid' }: ClaimMapping,
): string {
  const facts = ['client_id', sub, sid, 'iat'].map((name) => answer[name] ?? null)
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64url')
}
