import { type Dependency, isTokenError } from 'tokenlib'
import { isOutage } from 'tokenlib/errors'
import {
  type Answering,
  assertIdentity,
  callable,
  callDependency,
  callHook,
  choice,
  createEmptyAnswer,
  internalsOf,
  isJsonObject,
  type MountableRoutes,
  oneOrMore,
  type OptionKinds,
  recordOf,
  RefusedRequest,
  required,
  text,
  toHookError,
} from 'tokenlib/kit'
import { invalidRequest, toOAuthCode } from '../oauth-error.js'
import {
  createReceiver,
  parseReceiver,
  parseText,
  RECEIVER_OPTIONS,
  type ReceiverOptions,
  SUBJECT_OPTIONS,
  type SubjectOptions,
  toExpected,
} from './receiver.js'
import {
  type EventEffect,
  parseUsedJwt,
  type PreparedEvent,
  prepareEvent,
  type ReceiverTokens,
  rememberJwt,
  type RevocationScope,
  revokeSubject,
  type SecurityEvent,
} from './revoke-subject.js'
import { findSubject, parseIdentifier, readSubjectIssuers } from './subject-identifiers.js'

/** How security events are received. */
export interface EventReceiverOptions<Value> extends ReceiverOptions, SubjectOptions {
  /** The `aud` of the stream, as agreed with the transmitter; several as a list. */
  readonly audience: string | readonly string[]
  /** Checks the `Authorization` header that was agreed with the transmitter; throws to refuse. Every event is signed too. */
  readonly authorization?: ((request: Request) => Value | Promise<Value>) & Answering<Value>
  /** What events revoke, by their URI: overrides the defaults, or adds to them. */
  readonly events?: Readonly<Record<string, EventEffect>>
  /** What is revoked when an event about a session names its user too. Default `both`. Other events revoke the user. */
  readonly revoke?: RevocationScope
  /** Called for every event, those that revoke nothing included. If it throws, the transmitter gets a 5xx and repeats. */
  readonly onEvent?: (event: SecurityEvent, request: Request) => unknown
}

const OPTIONS: OptionKinds<EventReceiverOptions<unknown>> = {
  ...RECEIVER_OPTIONS,
  ...SUBJECT_OPTIONS,
  audience: required(oneOrMore(text)),
  authorization: callable(),
  events: recordOf(choice(['session', 'user', 'none'])),
  revoke: choice(['session', 'user', 'both']),
  onEvent: callable(),
}
const MEANT = { clientId: 'audience', allow: 'authorization' }

/**
 * Receives security events by push (RFC 8935), including CAEP and RISC events, and revokes in the store.
 *
 * @example
 * const events = createEventReceiver(tokens, { audience: 'https://api.example/security-events' })
 * app.use(mount(events))
 */
export function createEventReceiver<Value = unknown>(
  tokens: ReceiverTokens,
  options: EventReceiverOptions<Value>,
): MountableRoutes {
  const parsed = parseReceiver('createEventReceiver()', tokens, options, OPTIONS, MEANT)
  const { path = '/security-events', events = {}, revoke = 'both', maxAge = '7d' } = parsed
  const { authorization, subjectIssuers = {}, toSubject, onEvent } = parsed
  const admit = authorization === undefined ? null : createAdmit(authorization)
  const parts = { ...parsed, tokens, revoke }
  const expected = {
    ...toExpected(parsed, maxAge),
    // Shared Signals 1.0 §4.1.1: events are always typed.
    typ: 'secevent+jwt',
    audience: parsed.audience,
    allowUnknown: true,
  }

  const prepare = async (
    sender: Pick<SecurityEvent, 'issuer' | 'claims'>,
    [type, details]: readonly [string, Readonly<Record<string, unknown>>],
  ): Promise<PreparedEvent> => {
    const given = sender.claims['sub_id'] ?? details['subject']
    const subject = given === undefined ? null : parseIdentifier(given)
    const facts = { ...sender, type, subject, details }
    const effect = readEffect(type, details, events)
    if (effect === 'none') return prepareEvent({}, facts, NOBODY, effect)
    if (subject === null) throw invalidRequest('The event has no subject')
    const found = await findSubject(subject, {
      issuer: sender.issuer,
      issuers: readSubjectIssuers(subjectIssuers, sender.issuer),
      effect,
      toSubject,
    })
    if (found.status === 'forbidden') {
      throw new RefusedRequest(400, 'access_denied', 'The transmitter may not name users of that issuer')
    }
    const prepared = await prepareEvent(parts, facts, found, effect)
    // 202 would tell the transmitter that all is well, and nobody would ever know that it is not.
    if (found.status === 'unsupported' && prepared.uids.length === 0 && onEvent === undefined) {
      throw invalidRequest('Subject identifiers of that format are not supported')
    }
    return prepared
  }

  return createReceiver({
    path,
    async answer(request) {
      const refusal = (await admit?.(request)) ?? null
      if (refusal !== null) return refusal
      const jwt = (await parseText(request, 'application/secevent+jwt')).trim()
      if (!COMPACT.test(jwt)) throw invalidRequest('The body is not a JWT')
      const verified = await internalsOf(tokens).verifyIssuedJwt(jwt, expected)
      const { issuer: sentBy, claims } = verified
      const sender = { issuer: sentBy, claims }
      const used = parseUsedJwt(sender, maxAge)
      const received = parseEvents(claims)
      // RFC 8935 §2: a transmitter sends again what it has no answer to.
      if (verified.isRevoked === true) return createEmptyAnswer(202)
      // All of them before the first revocation: a refused JWT revokes nothing.
      const prepared = await Promise.all(received.map((event) => prepare(sender, event)))
      for (const each of prepared) {
        const event = await revokeSubject(parts, each, verified, request)
        if (onEvent !== undefined) await callHook('onEvent', () => onEvent(event, request))
      }
      await rememberJwt(tokens, used, verified)
      return createEmptyAnswer(202)
    },
    toRefusal: ({ code, message }) => new RefusedRequest(400, ERRORS[code] ?? 'invalid_request', message),
    toBody: (refusal) => ({ err: toOAuthCode(refusal), description: refusal.message }),
  })
}

const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]*$/

const NOBODY = { users: [], sessions: [], status: 'unsupported' } as const

// RFC 8935 §2.4.
const ERRORS: Readonly<Record<string, string | undefined>> = {
  TOKEN_SIGNATURE_INVALID: 'invalid_key',
  TOKEN_ISSUER_INVALID: 'invalid_issuer',
  TOKEN_AUDIENCE_INVALID: 'invalid_audience',
}

const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/'
const RISC = 'https://schemas.openid.net/secevent/risc/event-type/'

// The events that revoke something unless the application says otherwise; all others revoke nothing.
const EVENT_EFFECTS: Readonly<Record<string, EventEffect>> = {
  [`${CAEP}session-revoked`]: 'session',
  [`${CAEP}credential-change`]: 'user',
  [`${RISC}account-disabled`]: 'user',
  [`${RISC}account-purged`]: 'user',
  [`${RISC}credential-compromise`]: 'user',
  [`${RISC}sessions-revoked`]: 'user',
}

// What one event revokes. A credential that is added does not make those in use less safe; a changed, revoked or deleted
// one may have been stolen (CAEP 1.0 §3.3). A `change_type` that is missing or unknown counts as the latter.
function readEffect(
  type: string,
  details: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, EventEffect>>,
): EventEffect {
  if (Object.hasOwn(given, type)) return given[type] as EventEffect
  if (!Object.hasOwn(EVENT_EFFECTS, type)) return 'none'
  if (type === `${CAEP}credential-change` && details['change_type'] === 'create') return 'none'
  return EVENT_EFFECTS[type] as EventEffect
}

// RFC 8417 §2.2: an object with one member or more, each an object.
function parseEvents(
  claims: Readonly<Record<string, unknown>>,
): readonly (readonly [string, Readonly<Record<string, unknown>>])[] {
  const events: unknown = claims['events']
  const list = isJsonObject(events) ? Object.entries(events) : []
  if (list.length === 0) throw invalidRequest('events must be an object with an event')
  return list.map(([type, details]) => {
    if (isJsonObject(details)) return [type, details]
    throw invalidRequest('Every event must be an object')
  })
}

// RFC 8935 §2.4 has codes of its own for a transmitter that is not let in, with the status 400.
function createAdmit<Value>(authorization: (request: Request) => Value | Promise<Value>) {
  // It is called with Fetch requests only.
  const call = callDependency(authorization as Dependency<Value>)
  return async (request: Request): Promise<Response | null> => {
    let value: unknown
    try {
      value = await call(request)
    } catch (error) {
      // A challenge of the application's own. A success would acknowledge an event that was not read.
      if (error instanceof Response && error.status >= 400) return error
      if (!isTokenError(error)) throw toHookError('authorization', error)
      if (isOutage(error)) throw error
      const code = error.code === 'INSUFFICIENT_SCOPE' ? 'access_denied' : 'authentication_failed'
      throw new RefusedRequest(400, code, error.message)
    }
    assertIdentity('authorization', value)
    return null
  }
}
