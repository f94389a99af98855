import type { LoginFailure } from '../events.js'
import { requestKind, type RequestSource, toRequestView } from '../http/request-source.js'
import {
  assertOptions,
  choice,
  count,
  flag,
  kindOf,
  type OptionKinds,
  parseOptions,
  required,
  unchecked,
} from '../options.js'
import { type Authenticator, reportingRejection } from '../requests/authenticate.js'
import { requireSessions } from '../revocation/connect-store.js'
import { parseText } from '../revocation/revocation.js'
import { clean, CLIENT_OPTIONS, type SessionClientOptions } from '../revocation/session-client.js'
import type { JsonSessionData, SessionData, SessionDataChanges } from '../revocation/session-data.js'
import { MAX_SESSION_LIMIT, type SessionInfo, type WhenFull } from '../revocation/session-store.js'
import type { ListSessionsOptions } from '../revocation/stored-sessions.js'
import { type ClaimsInput, TOKEN_OPTIONS } from '../tokens/create.js'
import type { JsonClaims } from '../tokens/extra-claims.js'
import type { StandardClaims } from '../tokens/payload.js'
import { type RefreshOptions, refreshPair, type SessionParts } from './refresh.js'
import { revokeSessions } from './revoke.js'
import { type RevokeOptions, runRevocation } from './run-revocation.js'
import type { PairTokenOptions, RefreshedTokens, TokenPair } from './token-maker.js'

/** Opens, refreshes, lists and ends sessions. */
export interface Sessions<Input extends object = JsonClaims, Data extends object = JsonSessionData> {
  /** Opens a session and returns its access and refresh token. A store that keeps sessions keeps it. */
  open(claims: { readonly uid: string } & Input, options?: OpenSessionOptions<Data>): Promise<TokenPair>
  /** Exchanges a refresh token, or the one in a request, for new tokens. It is used up once its successor is used. */
  refresh(source: RequestSource | string, options?: RefreshOptions): Promise<RefreshedTokens>
  /** The active sessions of a user, newest first, one page at a time. */
  list(uid: string, options?: ListSessionsOptions): Promise<readonly SessionInfo<Data>[]>
  /** An active session, or `null`; with `uid`, only if it is that user's. Passing `undefined` as `uid` is a `TypeError`. */
  get(id: string, ...owner: [uid?: string]): Promise<SessionInfo<Data> | null>
  /**
   * Changes the data of a user's session, member by member: `null` removes a member, omitted members stay. Changes at the
   * same time are all kept. Returns the session, or `null` if the user has no such session.
   */
  update(id: string, uid: string, changes: SessionDataChanges<Data>): Promise<SessionInfo<Data> | null>
  /** Ends a session of a user. Returns `false` if the user has no such session. */
  end(id: string, uid: string, options?: RevokeOptions): Promise<boolean>
  /** Ends the user's other sessions, all but the token's own. Returns how many it ended. */
  endOthers(payload: Pick<StandardClaims, 'sub' | 'sid' | 'iss'>, options?: RevokeOptions): Promise<number>
  /** Emits `loginFailed`. Call it in your own login route. */
  reportFailedLogin(failed: FailedLogin): void
}

/** `tokens.sessions` of a manager. */
export function createSessions<Input extends object, Data extends object>(
  parts: SessionParts,
): Sessions<Input, Data> {
  const { authenticator } = parts
  const { settings, store } = authenticator

  return {
    open: (claims, options = {}) => openSession(parts, claims, options),
    refresh: (source, options = {}) => refreshPair(parts, source, options),
    async list(uid, options = {}) {
      return (await requireSessions(store, 'sessions.list').list(
        uid,
        options,
      )) as readonly SessionInfo<Data>[]
    },
    async get(id, ...owner) {
      const sessions = requireSessions(store, 'sessions.get')
      const found =
        owner.length === 0 ? await sessions.get(id) : await sessions.get(id, parseText('uid', owner[0]))
      return found as SessionInfo<Data> | null
    },
    async update(id, uid, changes) {
      const updated = await requireSessions(store, 'sessions.update').update(id, uid, changes)
      return updated as SessionInfo<Data> | null
    },
    async end(id, uid, options) {
      const sessions = requireSessions(store, 'sessions.end')
      return runRevocation(authenticator, 'sessions.end', { options }, async (asked) => {
        const session = await sessions.get(id, parseText('uid', uid))
        if (session !== null) await revokeSessions(asked, [session.id], uid)
        return session !== null
      })
    },
    async endOthers(payload, options) {
      const sessions = requireSessions(store, 'sessions.endOthers')
      if (settings.sources.issuers.has(payload?.iss as string)) {
        throw new TypeError('The token belongs to another issuer, which keeps its own sessions')
      }
      return runRevocation(authenticator, 'sessions.endOthers', { options }, (asked) =>
        sessions.endOthers(payload, (sids) => revokeSessions(asked, sids, payload.sub)),
      )
    },
    reportFailedLogin: (failed) => reportFailedLogin(authenticator, failed),
  }
}

/** Options of a new pair, and where its login comes from. */
export interface OpenSessionOptions<Data extends object = JsonSessionData>
  extends PairTokenOptions, SessionClientOptions {
  /** What the store keeps with the session, at most 2,048 bytes of JSON with `label`, the name of the device. */
  readonly data?: SessionData<Data> | undefined
  /**
   * Whether cookies of this session outlive the browser session ("remember me"), also after a refresh. Default: see
   * `JWT_SESSION_COOKIE`.
   */
  readonly remember?: boolean | undefined
  /** How many sessions the user can have, including the new one: 1 to 1,000. Default: no limit. */
  readonly maxSessions?: number | undefined
  /**
   * What happens to a login that would exceed `maxSessions`: `endOldest`, the default, revokes the oldest sessions;
   * `refuse` rejects with `SessionLimitError`.
   */
  readonly whenFull?: WhenFull | undefined
  /**
   * Binds both tokens to the key that this request proves: with a DPoP proof, or by its client certificate. Rejects with
   * `ProofRequiredError` if it proves none.
   */
  readonly proofOf?: RequestSource | undefined
}

const OPEN_OPTIONS: OptionKinds<Omit<OpenSessionOptions<object>, keyof PairTokenOptions>> = {
  ...CLIENT_OPTIONS,
  data: unchecked(),
  remember: flag,
  maxSessions: count(1, MAX_SESSION_LIMIT),
  whenFull: choice(['endOldest', 'refuse']),
  proofOf: requestKind,
}

async function openSession(
  { maker, users, authenticator }: SessionParts,
  given: ClaimsInput,
  options: OpenSessionOptions<object>,
): Promise<TokenPair> {
  assertOptions('sessions.open()', options, { ...TOKEN_OPTIONS, access: {}, refresh: {}, ...OPEN_OPTIONS })
  const { request, ip, userAgent, remember, maxSessions, whenFull, proofOf, data, ...givenOptions } = options
  const own = { request, ip, userAgent, remember, maxSessions, whenFull, proofOf }
  parseOptions('sessions.open()', own, OPEN_OPTIONS)
  if (proofOf === undefined && authenticator.proofs.required !== null) {
    throw new TypeError(
      'sessions.open() needs proofOf: the manager refuses tokens that are not bound to a key',
    )
  }
  if (maxSessions === undefined && whenFull !== undefined) {
    throw new TypeError('whenFull needs maxSessions')
  }
  const { emit, clients, store, proofs } = authenticator
  const sessions =
    maxSessions === undefined ? (store?.sessions ?? null) : requireSessions(store, 'maxSessions')
  const limit = maxSessions === undefined ? null : { max: maxSessions, whenFull: whenFull ?? 'endOldest' }
  const kept = data === undefined ? null : await requireSessions(store, 'data').toText(data)
  const client = clients.read({ request, ip, userAgent })
  const rejected = { claims: { sub: given?.uid }, client: { request, ip, userAgent } }
  // Before the claims are checked: describeUser may complete them.
  const { input: claims, options: tokenOptions } = await reportingRejection(authenticator, rejected, () =>
    users.describe({ input: given, options: givenOptions }, 'login'),
  )
  const cnf =
    proofOf && (await reportingRejection(authenticator, rejected, () => proofs.bind(toRequestView(proofOf))))
  const { endsAt, inputLength } = maker.planPair(claims, tokenOptions, { remember, cnf })
  // Before the session is opened, or it could end up without tokens. A login with a limit may also end another session,
  // which cannot be undone, so the signer has to work right now.
  await maker.assertSignerAvailable(limit === null ? undefined : inputLength)
  const session = (await sessions?.open(claims.uid, endsAt, client, limit, kept)) ?? maker.startSession()
  let pair: TokenPair
  try {
    pair = await maker.signPair(claims, tokenOptions, { ...session, remember, cnf })
  } catch (error) {
    await sessions?.discard(session.sid, endsAt)
    throw error
  }
  emit('loggedIn', () => ({ sub: claims.uid, sid: session.sid, ...client }))
  return pair
}

/** A login that failed, for the event `loginFailed`. */
export interface FailedLogin extends SessionClientOptions {
  readonly reason: LoginFailure
  /** The name as the client sent it, never a password. Strings are cut to 128 characters; anything else becomes `null`. */
  readonly user?: string | null | undefined
  /** The user of the session, for a step-up. */
  readonly sub?: string | null | undefined
}

const FAILED_LOGIN: OptionKinds<FailedLogin> = {
  ...CLIENT_OPTIONS,
  reason: required(choice(['credentials', 'user', 'rateLimit', 'sessionLimit', 'response'])),
  // A client can send anything, and must not be able to keep an attempt out of the log that way.
  user: kindOf('a string', () => true),
  sub: kindOf('a string or null', () => true),
}

const MAX_USER_LENGTH = 128

function reportFailedLogin({ emit, clients }: Authenticator, failed: FailedLogin): void {
  const { reason, user, sub = null, ...client } = parseOptions('reportFailedLogin()', failed, FAILED_LOGIN)
  emit('loginFailed', () => ({
    reason,
    user: typeof user === 'string' ? clean('user', user, MAX_USER_LENGTH) : null,
    sub,
    ...clients.readQuietly(client),
  }))
}
