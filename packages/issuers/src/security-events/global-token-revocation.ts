import { createHash } from 'node:crypto'
import {
  callable,
  callHook,
  createEmptyAnswer,
  flag,
  internalsOf,
  isJsonObject,
  type IssuedJwt,
  type MountableRoutes,
  oneOrMore,
  type OptionKinds,
  readBearer,
  RefusedRequest,
  required,
  text,
} from 'tokenlib/kit'
import { invalidRequest, toOAuthBody } from '../oauth-error.js'
import {
  createReceiver,
  parseJsonBody,
  parseReceiver,
  RECEIVER_OPTIONS,
  type ReceiverOptions,
  SUBJECT_OPTIONS,
  type SubjectOptions,
  toExpected,
} from './receiver.js'
import {
  parseUsedJwt,
  prepareEvent,
  type ReceiverTokens,
  revokeSubject,
  type SecurityEvent,
  type UsedJwt,
} from './revoke-subject.js'
import {
  findSubject,
  parseIdentifier,
  readSubjectIssuers,
  type SubjectIdentifier,
} from './subject-identifiers.js'

/** How Global Token Revocation requests are received. If `toSubject` finds no user, the response is 404. */
export interface GlobalTokenRevocationOptions extends ReceiverOptions, SubjectOptions {
  /** The URL of this endpoint, exactly as the sender uses it; several as a list. */
  readonly audience: string | readonly string[]
  /** Refuse JWTs without the header `typ: global-token-revocation+jwt`, which Okta sends. Default `true`. */
  readonly requireTyp?: boolean
  /** Called after the revocation. If it throws, the sender gets a 5xx. */
  readonly onRevocation?: (event: SecurityEvent, request: Request) => unknown
}

const OPTIONS: OptionKinds<GlobalTokenRevocationOptions> = {
  ...RECEIVER_OPTIONS,
  ...SUBJECT_OPTIONS,
  audience: required(oneOrMore(text)),
  requireTyp: flag,
  onRevocation: callable(),
}
const MEANT = { url: 'audience', onEvent: 'onRevocation' }
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
  const parsed = parseReceiver('createGlobalTokenRevocation()', tokens, options, OPTIONS, MEANT)
  const { path = '/global-token-revocation', maxAge = '1h' } = parsed
  const { subjectIssuers = {}, toSubject, onRevocation } = parsed
  const parts = { ...parsed, tokens, revoke: 'user' } as const
  const expected = {
    ...toExpected(parsed, maxAge),
    typ: `${TYPE}+jwt`,
    optionalTyp: parsed.requireTyp === false,
    audience: parsed.audience,
  }

  const authenticate = async (request: Request): Promise<IssuedJwt> => {
    const jwt = readBearer(request.headers.get('authorization'), 'Bearer')
    if (jwt === null) throw unauthorized('The request has no bearer JWT')
    const verified = await internalsOf(tokens).verifyIssuedJwt(jwt, expected)
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
      if (claim.status === 'done') return createEmptyAnswer(204)
      const found = await findSubject(subject, {
        issuer: sender.issuer,
        issuers: readSubjectIssuers(subjectIssuers, sender.issuer),
        effect: 'user',
        toSubject,
      })
      if (found.status === 'forbidden') {
        throw new RefusedRequest(403, 'access_denied', 'The sender may not name users of that issuer')
      }
      const facts = { ...sender, type: TYPE, subject, details: {} }
      const prepared = await prepareEvent(parts, facts, found, 'user')
      if (found.status !== 'found' && prepared.uids.length === 0) throw toNotFound(found.status)
      // Never deferred: the subject is not signed, and only the store can bind the JWT to it.
      const event = await revokeSubject(parts, prepared, null, request)
      if (onRevocation !== undefined) await callHook('onRevocation', () => onRevocation(event, request))
      await claim.finish()
      return createEmptyAnswer(204)
    },
    toRefusal: ({ message }) => unauthorized(message),
    toBody: toOAuthBody,
  })
}

function toNotFound(status: 'unknown' | 'unsupported'): RefusedRequest {
  return status === 'unknown'
    ? new RefusedRequest(404, 'not_found', 'The user was not found')
    : invalidRequest('Subject identifiers of that format are not supported')
}

// RFC 6750 §3.
function unauthorized(message: string): RefusedRequest {
  return new RefusedRequest(401, 'invalid_token', message, {
    'www-authenticate': 'Bearer error="invalid_token"',
  })
}

/** What a JWT may do for a subject that it does not name itself. */
interface Claim {
  /** `other`: the JWT was used for another subject. `done`: for this one, and everything was done. */
  readonly status: 'ours' | 'other' | 'done'
  /** Remembers that everything was done. */
  finish(): Promise<void>
}

// Binds a JWT to the one subject that it is used for, before anything is done for it: with another subject, the JWT is
// refused from then on, in every process and also if the request fails. With the same subject it can be repeated until
// everything was done.
async function claimJwt(
  { claimIds, isIdRevoked }: IssuedJwt,
  { jti, until }: UsedJwt,
  subject: SubjectIdentifier,
): Promise<Claim> {
  // Together with the `jti`, so that a process that finds the one finds the other.
  const bound = `${jti} ${toDigest(subject)}`
  const done = `${bound} done`
  const finish = async (): Promise<void> => void (await claimIds([done], until))
  const { isFirst, position } = await claimIds([jti, bound], until)
  if (isFirst) return { status: 'ours', finish }
  if (!(await isIdRevoked(bound, { atLeast: position }))) return { status: 'other', finish }
  return { status: (await isIdRevoked(done, { atLeast: position })) ? 'done' : 'ours', finish }
}

function toDigest(subject: SubjectIdentifier): string {
  return createHash('sha256').update(toCanonicalJson(subject)).digest('base64url')
}

// Members in one order: a sender that repeats a request may write them in another one.
function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const names = Object.keys(value).toSorted()
  return `{${names.map((name) => `${JSON.stringify(name)}:${toCanonicalJson(value[name])}`).join(',')}}`
}
