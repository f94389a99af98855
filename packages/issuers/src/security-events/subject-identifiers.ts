import { callHook, isJsonObject } from 'tokenlib/kit'
import { invalidRequest } from '../oauth-error.js'

/** A subject identifier (RFC 9493 §3) as it was sent: an object with a `format` and what that format needs. */
export type SubjectIdentifier = Readonly<Record<string, unknown>>

/**
 * Finds the `sub` of a user by an identifier that does not have one: an email address, a phone number, an account. Returns
 * `null` for an unknown user.
 */
export type SubjectFinder = (
  identifier: SubjectIdentifier,
  issuer: string,
) => string | null | undefined | Promise<string | null | undefined>

/** The subject of an event; `sub` and `sid` are as the issuer writes them. */
export interface FoundSubject {
  readonly users: readonly { readonly issuer: string; readonly sub: string }[]
  readonly sessions: readonly { readonly issuer: string; readonly sid: string }[]
  /**
   * `forbidden`: a user of an issuer that the sender does not speak for. `unknown`: the application knows no such user.
   * `unsupported`: nothing says whom the identifier means.
   */
  readonly status: 'found' | 'forbidden' | 'unknown' | 'unsupported'
}

/** How an identifier is read. */
export interface SubjectContext {
  /** Who sent it. */
  readonly issuer: string
  /** The issuers whose users the sender may name, itself included. */
  readonly issuers: readonly string[]
  /** What the event revokes: a session or a user, and so what an opaque id stands for. */
  readonly effect: 'session' | 'user'
  readonly toSubject: SubjectFinder | undefined
}

const NOBODY = { users: [], sessions: [] } as const
const UNSUPPORTED: FoundSubject = { ...NOBODY, status: 'unsupported' }
const UNKNOWN: FoundSubject = { ...NOBODY, status: 'unknown' }
const FORBIDDEN: FoundSubject = { ...NOBODY, status: 'forbidden' }

// RFC 9493 §3.2.8 sets no limit, and each one may cost the application a lookup.
const MAX_ALIASES = 16

/**
 * The users and sessions that an identifier means: never users of an issuer that the sender does not speak for, because
 * one issuer could sign out the users of another. Throws `RefusedRequest` for a malformed identifier.
 */
export async function findSubject(
  identifier: SubjectIdentifier,
  context: SubjectContext,
): Promise<FoundSubject> {
  if (readFormat(identifier) !== 'complex') return findSimple(identifier, context)
  // Shared Signals 1.0 §3.2. A device, a tenant or a group narrows the subject down, to what tokens do not tell apart:
  // the revocation is of the whole user then.
  const user = readMember(identifier, 'user')
  const session = readMember(identifier, 'session')
  const [users, sessions] = await Promise.all([
    user === null ? UNSUPPORTED : findSimple(user, { ...context, effect: 'user' }),
    session === null ? UNSUPPORTED : findSimple(session, { ...context, effect: 'session' }),
  ])
  // The session is one of that user.
  if (users.status === 'forbidden') return FORBIDDEN
  const found = merge([users, sessions])
  // A known session does not make its user known.
  return context.effect === 'user' ? { ...found, status: users.status } : found
}

async function findSimple(identifier: SubjectIdentifier, context: SubjectContext): Promise<FoundSubject> {
  const { issuer, issuers, effect, toSubject } = context
  switch (readFormat(identifier)) {
    case 'iss_sub': {
      const iss = parseMember(identifier, 'iss')
      const sub = parseMember(identifier, 'sub')
      if (!issuers.includes(iss)) return FORBIDDEN
      // A sender with an issuer of its own, such as an organisation of Okta, names its users by that one, and the tokens
      // of these users come from the issuers that it speaks for.
      const meant = iss === issuer ? issuers : [iss]
      return { users: meant.map((each) => ({ issuer: each, sub })), sessions: [], status: 'found' }
    }
    case 'opaque': {
      const id = parseMember(identifier, 'id')
      return effect === 'session'
        ? { users: [], sessions: issuers.map((each) => ({ issuer: each, sid: id })), status: 'found' }
        : { users: issuers.map((each) => ({ issuer: each, sub: id })), sessions: [], status: 'found' }
    }
    case 'aliases': {
      const { identifiers } = identifier
      if (!Array.isArray(identifiers) || identifiers.length > MAX_ALIASES) {
        throw invalidRequest(`identifiers must be a list of at most ${MAX_ALIASES} subject identifiers`)
      }
      return merge(await Promise.all(identifiers.map((each) => findAlias(parseIdentifier(each), context))))
    }
    default: {
      if (toSubject === undefined) return UNSUPPORTED
      const sub: unknown = (await callHook('toSubject', () => toSubject(identifier, issuer))) ?? null
      if (sub === null) return UNKNOWN
      if (typeof sub !== 'string' || sub === '') throw new TypeError('toSubject must return a sub or null')
      return { users: issuers.map((each) => ({ issuer: each, sub })), sessions: [], status: 'found' }
    }
  }
}

// RFC 9493 §3.2.8: aliases are not nested.
async function findAlias(identifier: SubjectIdentifier, context: SubjectContext): Promise<FoundSubject> {
  if (readFormat(identifier) === 'aliases') throw invalidRequest('Aliases must not be nested')
  return findSimple(identifier, context)
}

/** The subject identifier in a value, or `RefusedRequest`. */
export function parseIdentifier(value: unknown): SubjectIdentifier {
  if (!isJsonObject(value)) throw invalidRequest('A subject identifier must be an object')
  return value
}

/** For a sender, by its issuer: the issuers whose users it may name in addition to its own. */
export type SubjectIssuers = Readonly<Record<string, readonly string[]>>

/** The issuers whose users a sender may name, itself included. */
export function readSubjectIssuers(given: SubjectIssuers, sender: string): readonly string[] {
  const others = Object.hasOwn(given, sender) ? (given[sender] ?? []) : []
  return [...new Set([sender, ...others])]
}

// Drafts before RFC 9493, which senders still use: `subject_type` with `iss-sub` or `id_token_claims`, and complex
// subjects without a format.
function readFormat(identifier: SubjectIdentifier): string {
  const { format = identifier['subject_type'] } = identifier
  if (format === undefined && (isJsonObject(identifier['user']) || isJsonObject(identifier['session']))) {
    return 'complex'
  }
  if (typeof format !== 'string') throw invalidRequest('A subject identifier must have a format')
  return format === 'id_token_claims' ? 'iss_sub' : format.replaceAll('-', '_')
}

function readMember(identifier: SubjectIdentifier, name: string): SubjectIdentifier | null {
  return identifier[name] === undefined ? null : parseIdentifier(identifier[name])
}

function parseMember(identifier: SubjectIdentifier, name: string): string {
  const value = identifier[name]
  if (typeof value === 'string' && value !== '') return value
  throw invalidRequest(`The subject identifier must have a "${name}" that is a non-empty string`)
}

function merge(found: readonly FoundSubject[]): FoundSubject {
  const statuses = new Set(found.map(({ status }) => status))
  return {
    users: found.flatMap(({ users }) => users),
    sessions: found.flatMap(({ sessions }) => sessions),
    status: BEST_FIRST.find((status) => statuses.has(status)) ?? 'unsupported',
  }
}

const BEST_FIRST = ['found', 'forbidden', 'unknown'] as const
