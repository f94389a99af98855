import { type Duration, RevocationUnavailableError, type RevokeOptions, type TokenManager } from 'tokenlib'
import { isOutage } from 'tokenlib/errors'
import { callHook, internalsOf, type IssuedJwt, parseDuration, USED_ONCE } from 'tokenlib/kit'
import { invalidRequest } from '../oauth-error.js'
import type { FoundSubject, SubjectIdentifier } from './subject-identifiers.js'

/** An event from a sender, with verified signature, issuer and audience. */
export interface SecurityEvent {
  /** The issuer that sent it. */
  readonly issuer: string
  /** The URI of the event, or `global-token-revocation`. */
  readonly type: string
  /** The issuer whose user or session it is about; may differ from `issuer` if `subjectIssuers` allows that. */
  readonly subjectIssuer: string
  /** The user, as that issuer writes `sub`; `null` if the event names no user that could be found. */
  readonly sub: string | null
  /** The session, as that issuer writes `sid`; `null` if the event names none. */
  readonly sid: string | null
  /** The subject identifier as it was sent, or `null`. */
  readonly subject: SubjectIdentifier | null
  /** The members of the event itself. */
  readonly details: Readonly<Record<string, unknown>>
  /** The claims of the JWT that it came in. */
  readonly claims: Readonly<Record<string, unknown>>
  /** Whether something was revoked for it. */
  readonly revoked: boolean
}

/**
 * Finds the user of the application's own tokens for an event; `null` if no user matches. Called for each user that the
 * event is about, with the user's `subjectIssuer` and `sub`. If the event names no known user, it is called once with
 * `sub: null`: a session or a subject identifier may still tell who it is.
 */
export type UidFinder = (
  event: Omit<SecurityEvent, 'revoked'>,
) => string | null | undefined | Promise<string | null | undefined>

/** What an event revokes: sessions and users, users only, or nothing. */
export type EventEffect = 'session' | 'user' | 'none'

/** What is revoked when an event about a session names its user too. */
export type RevocationScope = 'session' | 'user' | 'both'

/** The parts of a manager that receivers use. */
export type ReceiverTokens = Pick<TokenManager, 'revoke'>

/** What receivers revoke with. */
export interface RevokingParts {
  readonly tokens: ReceiverTokens
  readonly revoke: RevocationScope
  readonly everywhere?: boolean
  readonly toUid?: UidFinder
}

/** An event whose subject has been looked for, before anything is revoked. */
export interface PreparedEvent {
  readonly event: Omit<SecurityEvent, 'revoked'>
  readonly found: FoundSubject
  readonly effect: EventEffect
  /** The users of own tokens. */
  readonly uids: readonly string[]
}

/** Looks for the application's own users too. */
export async function prepareEvent(
  { toUid }: Pick<RevokingParts, 'toUid'>,
  facts: Pick<SecurityEvent, 'issuer' | 'type' | 'subject' | 'details' | 'claims'>,
  found: FoundSubject,
  effect: EventEffect,
): Promise<PreparedEvent> {
  const { users, sessions } = found
  const toEvent = (user: FoundSubject['users'][number] | undefined): PreparedEvent['event'] => {
    const session = user === undefined ? sessions[0] : sessions.find(({ issuer }) => issuer === user.issuer)
    const subjectIssuer = (user ?? session)?.issuer ?? facts.issuer
    return Object.freeze({ ...facts, subjectIssuer, sub: user?.sub ?? null, sid: session?.sid ?? null })
  }
  const event = toEvent(users[0])
  if (toUid === undefined) return { event, found, effect, uids: [] }
  const events = users.length === 0 ? [event] : users.map(toEvent)
  const uids = await Promise.all(events.map((each) => findUid(toUid, each)))
  return { event, found, effect, uids: [...new Set(uids.filter((uid) => uid !== null))] }
}

async function findUid(toUid: UidFinder, event: PreparedEvent['event']): Promise<string | null> {
  const uid: unknown = (await callHook('toUid', () => toUid(event))) ?? null
  if (uid === null || (typeof uid === 'string' && uid !== '')) return uid
  throw new TypeError('toUid must return a uid or null')
}

/**
 * Revokes the subject of an event, and resolves once the store has acknowledged it.
 *
 * While the store does not answer, this process rejects the tokens immediately and writes the revocation later: most
 * senders do not retry. Rejects with `RevocationUnavailableError` if that is impossible, or without `verified`.
 */
export async function revokeSubject(
  parts: RevokingParts,
  prepared: PreparedEvent,
  verified: IssuedJwt | null,
  request: Request,
): Promise<SecurityEvent> {
  const { event } = prepared
  const { everywhere = false } = parts
  const origin: RevokeOptions = { actor: event.issuer, note: event.type, request }
  const act = (): Promise<number> => revokeAll(parts, prepared, { ...origin, everywhere })
  const defer = (deferUnless: RevokeOptions['deferUnless']): Promise<number> =>
    revokeAll(parts, prepared, { ...origin, deferUnless })
  const count = await (verified === null ? act() : orDefer(verified, act, defer, everywhere))
  return Object.freeze({ ...event, revoked: count > 0 })
}

// How many revocations it takes.
async function revokeAll(
  { tokens, revoke }: RevokingParts,
  { found, effect, uids }: PreparedEvent,
  options: RevokeOptions,
): Promise<number> {
  const { users } = found
  // An account that is disabled, or a credential that was stolen, concerns every session of the user.
  const sessions = effect === 'user' ? [] : found.sessions
  const hasBoth = users.length > 0 && sessions.length > 0
  const revocations: Promise<unknown>[] = []
  if (!hasBoth || revoke !== 'session') {
    for (const { issuer, sub } of users) {
      revocations.push(tokens.revoke.user(internalsOf(tokens).toSubject(issuer, sub), { ...options, issuer }))
    }
  }
  if (!hasBoth || revoke !== 'user') {
    for (const { issuer, sid } of sessions) {
      const owner = users.find((user) => user.issuer === issuer)
      const session =
        owner === undefined ? { sid } : { sid, sub: internalsOf(tokens).toSubject(issuer, owner.sub) }
      revocations.push(tokens.revoke.session(session, { ...options, issuer }))
    }
  }
  for (const uid of uids) revocations.push(tokens.revoke.user(uid, { ...options, issuer: 'own' }))
  await Promise.all(revocations)
  return revocations.length
}

// Whether the JWT was used before is not known while the store does not answer: then it is not asked to revoke either.
async function orDefer<Answer>(
  { isRevoked, revocationKeys }: IssuedJwt,
  act: () => Promise<Answer>,
  defer: (unless: IssuedJwt['revocationKeys']) => Promise<Answer>,
  everywhere = false,
): Promise<Answer> {
  try {
    if (isRevoked !== null) return await act()
  } catch (error) {
    if (!isOutage(error)) throw error
  }
  // Where it is known that the JWT was not used, nothing has to be found out any more.
  const answer = await defer(isRevoked === null ? revocationKeys : [])
  // Other processes still accept the tokens, and the sender was promised that none would.
  if (everywhere) throw new RevocationUnavailableError(new Error('The store does not answer'))
  return answer
}

/** What makes a JWT one that is accepted once. */
export interface UsedJwt {
  readonly issuer: string
  readonly jti: string
  /** Until when the same JWT would pass its checks, in epoch seconds. */
  readonly until: number
}

/** The `jti` of a verified JWT and how long it has to be remembered, or `RefusedRequest` for one that has no `jti` or `iat`. */
export function parseUsedJwt(
  { issuer, claims }: Pick<SecurityEvent, 'issuer' | 'claims'>,
  maxAge: Duration,
): UsedJwt {
  const { jti, iat, exp } = claims
  if (typeof jti !== 'string' || jti === '') throw invalidRequest('The JWT has no jti')
  if (typeof iat !== 'number') throw invalidRequest('The JWT has no iat')
  const oldest = iat + parseDuration(maxAge)
  return { issuer, jti, until: Math.ceil(typeof exp === 'number' ? Math.min(exp, oldest) : oldest) }
}

/**
 * Remembers in the store that a JWT was used. Called last: if anything before it fails, the sender repeats the JWT, and
 * every step is taken again.
 */
export async function rememberJwt(
  tokens: ReceiverTokens,
  { issuer, jti, until }: UsedJwt,
  verified: IssuedJwt,
): Promise<void> {
  const payload = { jti, exp: until, iss: issuer }
  const origin = { actor: issuer, note: USED_ONCE }
  await orDefer(
    verified,
    () => tokens.revoke.token(payload, origin),
    (deferUnless) => tokens.revoke.token(payload, { ...origin, deferUnless }),
  )
}
