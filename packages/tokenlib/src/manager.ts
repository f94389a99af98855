import { ConfigurationError } from './errors.js'
import type { CreateTokenOptions, RefreshTokenOptions } from './tokens/create.js'
import type { JsonClaims } from './tokens/extra-claims.js'
import { systemRandom } from './tokens/ids.js'
import type { AnyClaims, StandardClaims, TokenPayload } from './tokens/payload.js'
import {
  createEmitter,
  type EventOrigin,
  type SessionClient,
  type TokenEmitter,
  type TokenEventName,
  type TokenListener,
} from './events.js'
import { createObservers, type TokenObserver } from './observer.js'
import { type JwkSet, toJwkSet } from './tokens/key-ring.js'
import type { OwnKey } from './tokens/own-key.js'
import { assertOptions } from './options.js'
import { settleQuietly } from './promises.js'
import { readToken, type RequestToken } from './http/read-token.js'
import { type RequestSource, toRequestView } from './http/request-source.js'
import { Blocklist, type RegisterTokenBlocklist } from './revocation/blocklist.js'
import {
  type Acknowledgement,
  type LogoutPayload,
  parseText,
  readPendingSubject,
  type RevocablePayload,
  type RevokedIssuers,
  type Revoker,
} from './revocation/revoker.js'
import type { ReplicaState } from './revocation/store.js'
import { createClientReader } from './revocation/session-client.js'
import { connectStore, type StoreConnection } from './revocation/connect-store.js'
import {
  type RevokeOptions,
  type CreateTokenPairOptions,
  type RefreshedTokens,
  parseActor,
  type RefreshOptions,
  type TokenPair,
} from './revocation/session-options.js'
import type { SessionInfo } from './revocation/session-info.js'
import type { ListSessionsOptions, Sessions } from './revocation/sessions.js'
import { type Clock, createCheckedClock, type Duration, systemClock } from './time.js'
import type { Authenticator } from './requests/authenticate.js'
import {
  checkToken,
  createTokenDependency,
  preparePolicy,
  type UnrevokedOptions,
  verifyWithoutRevocation,
} from './requests/check-request.js'
import type { TokenConfig } from './config/config.js'
import { createTokenPair } from './sessions/create-pair.js'
import { createDependency, type TokenDependency } from './requests/dependencies.js'
import { createUserDescriber, type DescribeUser } from './sessions/describe-user.js'
import type { FormatError } from './requests/error-response.js'
import { type ManagerHealth, readHealth } from './sessions/health.js'
import { allowInspection } from './inspection.js'
import { createTokenMaker, type TokenMaker } from './sessions/token-maker.js'
import { type IssuedJwt, type IssuedJwtOptions, verifyIssuedJwt } from './requests/issued-jwt.js'
import { logoutRequest, readRevocableClaims } from './sessions/logout-request.js'
import { type FailedLogin, reportFailedLogin } from './sessions/failed-login.js'
import { assertManagerOptions, missingStore, type TokenManagerOptions } from './manager-options.js'
import {
  compilePolicy,
  parseReadOptions,
  type ReadTokenOptions,
  type PolicyValue,
  type RequirePolicy,
  type TokenPolicy,
  type TokenWithHeader,
  toPolicyValue,
  VERIFY_OPTIONS,
  VERIFY_POLICY_NAMES,
  type VerifyOptions,
  type WithHeader,
} from './requests/policy.js'
import { refreshPair } from './sessions/refresh.js'
import { parseIssuer, toKeyIssuers, toRevokedIssuers, toRevokedUsers } from './requests/revoked-issuers.js'
import { resolveSettings } from './config/settings.js'
import { findSubject, type SubjectGetter } from './requests/check-request.js'
import type { ClosableSocket } from './sockets/closable-socket.js'
import { closeWhenInvalid } from './sockets/close-when-invalid.js'
import {
  type AuthenticatedUpgrade,
  authenticateUpgrade,
  parseUpgradePolicy,
  type UpgradePolicy,
} from './requests/sockets.js'
import { createVerifier } from './requests/verified-tokens.js'

/**
 * Creates access and refresh tokens, and guards routes with dependencies that check them.
 *
 * @example
 * const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: secret }) })
 * const payload = await tokens.accessTokenRequired(request)
 */
export class TokenManager<
  Input extends object = JsonClaims,
  Output extends object = AnyClaims,
  Subject = unknown,
> {
  /** The configuration, frozen. */
  readonly config: TokenConfig
  /** The clock that every check reads. */
  readonly clock: Clock
  /** The option `formatError`; `null` for the standard bodies. */
  readonly formatError: FormatError | null
  readonly #authenticator: Authenticator
  readonly #emitter: TokenEmitter
  readonly #maker: TokenMaker
  readonly #store: StoreConnection | null
  readonly #users = createUserDescriber()
  #subjectGetter: SubjectGetter<Subject, TokenPayload<Output>> | null

  /** Any genuine, unrevoked token, whatever its type. */
  readonly tokenRequired: TokenDependency<TokenPayload<Output>>
  /** A genuine, unrevoked access token. */
  readonly accessTokenRequired: TokenDependency<TokenPayload<Output>>
  /** A genuine, unrevoked refresh token. */
  readonly refreshTokenRequired: TokenDependency<TokenPayload<Output>>
  /** A genuine, unrevoked access token that was created with `fresh`. */
  readonly freshTokenRequired: TokenDependency<TokenPayload<Output>>
  /** `null` for a request without a token; a bad token is refused here too. */
  readonly accessTokenOptional: TokenDependency<TokenPayload<Output> | null>
  /** What the subject getter finds for the access token of the request. */
  readonly getCurrentSubject: TokenDependency<NonNullable<Subject>>
  /** Registers the callback that decides whether a token is revoked, replacing the one before. Also a decorator. */
  readonly setCallbackTokenBlocklist: RegisterTokenBlocklist<TokenPayload<Output>>
  /** Short for `setCallbackTokenBlocklist`. */
  readonly setTokenBlocklist: RegisterTokenBlocklist<TokenPayload<Output>>

  constructor(options: TokenManagerOptions<Input, Output, Subject>) {
    assertManagerOptions(options)
    const {
      config,
      claims = null,
      revocation = null,
      subjectGetter = null,
      describeUser,
      clientIp,
      issuers = [],
      keys,
      signTimeout,
      clock = systemClock,
      randomBytes = systemRandom,
    } = options
    this.#emitter = createEmitter()
    const observers = createObservers()
    const now = createCheckedClock(clock)
    const settings = resolveSettings(config, {
      schema: claims,
      issuers,
      emit: this.#emitter.emit,
      keys,
      signTimeout,
      now,
    })
    const blocklist = new Blocklist()
    const clients = createClientReader(clientIp)
    const parts = { now, random: randomBytes, emit: this.#emitter.emit, observers, clients }
    if (describeUser !== undefined) this.#users.register(describeUser)
    const store = revocation === null ? null : connectStore(revocation, { ...parts, ...settings.store })
    this.config = config
    this.formatError = options.formatError ?? null
    this.clock = now
    this.#store = store
    this.#maker = createTokenMaker({
      ...parts,
      settings,
      startToken: (at) => store?.revoker.startToken(at) ?? at,
      onExpiry: (expiresAt) => store?.expect(expiresAt),
    })
    this.#authenticator = { ...parts, settings, verifier: createVerifier(settings), blocklist, store }
    this.#subjectGetter = subjectGetter
    allowInspection(this, { config, settings, now, store: revocation })

    this.tokenRequired = this.require({ type: 'any' })
    this.accessTokenRequired = this.require({ type: 'access' })
    this.refreshTokenRequired = this.require({ type: 'refresh' })
    this.freshTokenRequired = this.require({ type: 'access', fresh: true })
    this.accessTokenOptional = this.require({ type: 'access', optional: true })
    this.getCurrentSubject = createDependency({
      lane: null,
      type: null,
      scopes: [],
      run: async (view) => findSubject(this.#subjectGetter, await this.accessTokenRequired(view)),
    })
    this.setCallbackTokenBlocklist = blocklist.register as unknown as RegisterTokenBlocklist<
      TokenPayload<Output>
    >
    this.setTokenBlocklist = this.setCallbackTokenBlocklist
  }

  /** The `kid` of new tokens at this moment, or `null` for a manager that only verifies. */
  get keyId(): string | null {
    const { settings, now } = this.#authenticator
    return settings.keys.signingKey(now())?.kid ?? null
  }

  /** Replaces the keys of the option `keys`. A bad list throws, and changes nothing. */
  setKeys(keys: readonly OwnKey[]): void {
    const { settings, now } = this.#authenticator
    if (settings.setKeys === null) {
      throw new ConfigurationError('setKeys() needs the option keys: new TokenManager({ config, keys })')
    }
    settings.setKeys(keys, now())
  }

  /** The public keys that verify the tokens of this manager, as a JWK Set; those that sign later are in it already. */
  jwks(): JwkSet {
    const { settings, now } = this.#authenticator
    return toJwkSet(settings.keys, now())
  }

  /** Whether a store keeps the sessions of this manager: `refresh`, `listSessions` and `getSession` need that. */
  get keepsSessions(): boolean {
    return (this.#store?.sessions ?? null) !== null
  }

  /** Whether a store keeps the revocations of this manager: everything that revokes needs one. */
  get keepsRevocations(): boolean {
    return this.#store !== null
  }

  /** Whether the store of this manager is a replica: `everywhere` of a revocation needs one. */
  get hasReplica(): boolean {
    return (this.#store?.waitForOthers ?? null) !== null
  }

  /** The issuers whose tokens this manager accepts beside its own, by their `iss`. */
  get issuers(): readonly string[] {
    return Object.freeze([...this.#authenticator.settings.sources.issuers.keys()])
  }

  /** An access token for a user; `uid` becomes `sub`, everything else an extra claim. */
  createAccessToken(claims: { readonly uid: string } & Input, options?: CreateTokenOptions): string {
    return this.#maker.createToken('access', claims, options)
  }

  /**
   * A refresh token that belongs to no session: `refresh` cannot rotate it, and no list of sessions shows it. For a user
   * who logs in, use `createTokenPair`.
   */
  createRefreshToken(claims: { readonly uid: string } & Input, options?: RefreshTokenOptions): string {
    return this.#maker.createToken('refresh', claims, options)
  }

  /** Like `createAccessToken`, with every key; rejects with `KeysUnavailableError` when the signer of the key fails. */
  async createAccessTokenAsync(
    claims: { readonly uid: string } & Input,
    options?: CreateTokenOptions,
  ): Promise<string> {
    return this.#maker.createTokenAsync('access', claims, options)
  }

  /** Like `createRefreshToken`, with every key; rejects with `KeysUnavailableError` when the signer of the key fails. */
  async createRefreshTokenAsync(
    claims: { readonly uid: string } & Input,
    options?: RefreshTokenOptions,
  ): Promise<string> {
    return this.#maker.createTokenAsync('refresh', claims, options)
  }

  /** An access and a refresh token for a new session, which is kept where the store keeps sessions. */
  async createTokenPair(
    claims: { readonly uid: string } & Input,
    options: CreateTokenPairOptions = {},
  ): Promise<TokenPair> {
    const sessions = this.#store?.sessions ?? null
    const parts = { maker: this.#maker, sessions, users: this.#users, authenticator: this.#authenticator }
    return createTokenPair(parts, claims, options)
  }

  /** Exchanges the refresh token in a request, or a given one, for new tokens. It is used up once its successor is used. */
  async refresh(source: RequestSource | string, options: RefreshOptions = {}): Promise<RefreshedTokens> {
    const sessions = this.#requireSessions('refresh')
    const parts = { authenticator: this.#authenticator, maker: this.#maker, users: this.#users }
    return refreshPair({ ...parts, store: this.#requireStore('refresh'), sessions }, source, options)
  }

  /** The token in a request, unread and unchecked, or `null`. A bound function, like every dependency. */
  readonly getTokenFromRequest = async (
    request: RequestSource,
    options: ReadTokenOptions = {},
  ): Promise<RequestToken | null> => {
    const { reading } = this.#authenticator.settings
    const { places } = compilePolicy(parseReadOptions(options), reading.locations)
    return Object.freeze(await readToken(toRequestView(request), places, reading))
  }

  /** A dependency for any policy; the other dependencies are presets of it. */
  require(
    policy: TokenPolicy & WithHeader & { readonly optional?: false },
  ): TokenDependency<TokenWithHeader<TokenPayload<Output>>>
  require(policy: TokenPolicy & WithHeader): TokenDependency<TokenWithHeader<TokenPayload<Output>> | null>
  require(policy: TokenPolicy & { readonly optional: true }): TokenDependency<TokenPayload<Output> | null>
  require(policy?: TokenPolicy & { readonly optional?: false }): TokenDependency<TokenPayload<Output>>
  require(policy: TokenPolicy): TokenDependency<TokenPayload<Output> | null>
  require(policy: RequirePolicy = {}): TokenDependency<PolicyValue<TokenPayload<Output>> | null> {
    return createTokenDependency(this.#authenticator, preparePolicy(this.#authenticator.settings, policy))
  }

  /** A dependency for an access token that carries every one of the scopes. */
  scopesRequired(...scopes: readonly string[]): TokenDependency<TokenPayload<Output>> {
    return this.require({ type: 'access', scopes })
  }

  /** A dependency for an access token that carries at least one of the scopes. */
  anyScopeRequired(...anyScope: readonly string[]): TokenDependency<TokenPayload<Output>> {
    return this.require({ type: 'access', anyScope })
  }

  /**
   * Checks a token that did not come from a request, revocation included. With `atLeast`, the `position` of a revocation,
   * the answer includes that revocation, wherever it was made.
   */
  verifyToken(
    token: string,
    options: VerifyOptions & WithHeader,
  ): Promise<TokenWithHeader<TokenPayload<Output>>>
  verifyToken(token: string, options?: VerifyOptions): Promise<TokenPayload<Output>>
  async verifyToken(
    token: string,
    options: VerifyOptions & Partial<WithHeader> = {},
  ): Promise<PolicyValue<TokenPayload<Output>>> {
    assertOptions('verifyToken()', options, VERIFY_OPTIONS)
    const { atLeast, ...policy } = options
    if (atLeast !== undefined) parseText('atLeast', atLeast)
    const { settings } = this.#authenticator
    const compiled = preparePolicy(settings, policy, 'verifyToken()', VERIFY_POLICY_NAMES)
    const verified = await checkToken(this.#authenticator, compiled, token, atLeast)
    return toPolicyValue(verified, compiled) as PolicyValue<TokenPayload<Output>>
  }

  /**
   * Checks a token of any type as `verifyToken` does, but does not use it: a used refresh token is refused as revoked, and
   * its session goes on. For introspection, where somebody else asks about a token.
   */
  async inspectToken(token: string): Promise<TokenPayload<Output>> {
    const { locations } = this.#authenticator.settings.reading
    const policy = { ...compilePolicy({ type: 'any' }, locations), isInspection: true }
    const { payload } = await checkToken(this.#authenticator, policy, token)
    return payload as TokenPayload<Output>
  }

  /** The standard checks alone, at once. A revoked token passes; `allowExpired` lets an expired one pass as well. */
  verifyTokenWithoutRevocation(token: string, options: UnrevokedOptions = {}): TokenPayload<Output> {
    return verifyWithoutRevocation(this.#authenticator, token, options) as TokenPayload<Output>
  }

  /** Checks a JWT of an issuer that is no access token, such as a logout token or a security event token. */
  async verifyIssuedJwt(jwt: string, options: IssuedJwtOptions): Promise<IssuedJwt> {
    return verifyIssuedJwt(this.#authenticator, jwt, options)
  }

  /** How a `sub` of one of the issuers appears in a payload: with the prefix of the issuer. */
  toSubject(issuer: string, sub: string): string {
    const known = this.#authenticator.settings.sources.issuers.get(issuer)
    if (known === undefined) throw new TypeError('issuer must be one of the issuers of this manager')
    return known.subjectPrefix + parseText('sub', sub)
  }

  /** Checks the token of a WebSocket handshake: a Node `upgrade` request or a Fetch one. Nothing is remembered. */
  async authenticateUpgrade(
    request: RequestSource,
    policy: UpgradePolicy = {},
  ): Promise<AuthenticatedUpgrade<TokenPayload<Output>>> {
    const checked = parseUpgradePolicy(policy)
    const upgrade = await authenticateUpgrade(this.#authenticator, toRequestView(request), checked)
    return upgrade as AuthenticatedUpgrade<TokenPayload<Output>>
  }

  /**
   * Closes a socket with 4401 once its token expires or is revoked, or once the session ends that it follows; returns a
   * function that stops watching.
   */
  closeWhenInvalid(
    socket: ClosableSocket,
    upgrade: AuthenticatedUpgrade<TokenPayload<Output>>,
    options: { readonly every?: Duration } = {},
  ): () => void {
    assertOptions('closeWhenInvalid()', options, { every: true })
    return closeWhenInvalid(
      this.#authenticator,
      socket,
      upgrade as AuthenticatedUpgrade,
      options.every ?? '30s',
    )
  }

  /** Registers how `getCurrentSubject` finds a subject, replacing the getter before; returns what it was given. */
  setSubjectGetter<Getter extends SubjectGetter<Subject, TokenPayload<Output>>>(getter: Getter): Getter {
    if (typeof getter !== 'function') throw new TypeError('The subject getter must be a function')
    this.#subjectGetter = getter
    return getter
  }

  /** Registers `describeUser`, like the option of that name; throws `ConfigurationError` if there is one already. */
  setDescribeUser(describeUser: DescribeUser<Input, AnyClaims>): void {
    this.#users.register(describeUser)
  }

  /** Where a request comes from: the address as `clientIp` reads it, and the user agent. */
  readClient(request: RequestSource): SessionClient {
    return this.#authenticator.clients.read({ request })
  }

  /** Emits `loginFailed`, for a login route of your own. */
  reportFailedLogin(failed: FailedLogin): void {
    reportFailedLogin(this.#authenticator, failed)
  }

  /** Resolves once the store is fit for use and the keys of every issuer are loaded; rejects after a few seconds. */
  async ready(): Promise<void> {
    const issuers = [...this.#authenticator.settings.sources.issuers.values()]
    const keys = Promise.all(issuers.map(async (issuer) => issuer.keys.loader?.ready()))
    // The store first: without it nothing works, whoever has made a token.
    void settleQuietly(keys)
    await this.#store?.ready()
    await keys
  }

  /** Calls the store now, within `JWT_REVOCATION_TIMEOUT`; returns what works and what does not. Never rejects. */
  async health(): Promise<ManagerHealth> {
    return readHealth(this.#store, this.#maker)
  }

  /**
   * Ends all work in the background and closes the store. Clients that you passed to the store stay open. From then on,
   * everything that needs the store rejects with `RevocationUnavailableError`. Without a store there is nothing to close.
   */
  async close(): Promise<void> {
    await this.#store?.close()
  }

  /** Whether `close` was called. Always `false` for a manager without a store. */
  get isClosed(): boolean {
    return this.#store?.isClosed ?? false
  }

  /** Calls a listener at every event of a kind; returns a function that ends that. */
  on<Name extends TokenEventName>(name: Name, listener: TokenListener<Name>): () => void {
    return this.#emitter.on(name, listener)
  }

  /** Reports every check and every call of the store to an observer, for telemetry; returns a function that ends that. */
  observe(observer: TokenObserver): () => void {
    return this.#authenticator.observers.add(observer)
  }

  /** What the replica of this process knows at this moment, without a call of the store; `null` where there is none. */
  readReplica(): ReplicaState | null {
    return this.#store?.readReplica() ?? null
  }

  /** Revokes one token by its `jti`; the other token of its session stays good. */
  async revokeToken(payload: RevocablePayload, options: RevokeOptions = {}): Promise<Acknowledgement> {
    return this.#revoke('revokeToken', options, (revoker, origin) =>
      revoker.revokeToken(payload, origin, this.#toIssuers(options, payload)),
    )
  }

  /** Revokes every token of a session, those still to be refreshed included. */
  async revokeSession(
    session: string | (Pick<StandardClaims, 'sid' | 'iss'> & { readonly sub?: string }),
    options: RevokeOptions = {},
  ): Promise<Acknowledgement> {
    return this.#revoke('revokeSession', options, async (revoker, origin) => {
      const sid = typeof session === 'string' ? session : session?.sid
      if (sid === undefined) throw new TypeError('The token belongs to no session: revoke the token instead')
      const { sub = null, ...payload } = typeof session === 'string' ? {} : session
      // For the event alone. A revoked session has no row, so this cannot wait until the store has the revocation; the
      // revocation does not wait for this either.
      const mustRead = typeof session === 'string' && this.#emitter.isHeard('revoked')
      const user = mustRead ? readPendingSubject(sid, this.#store?.sessions ?? null) : sub
      return revoker.revokeSessions([sid], user, origin, this.#toIssuers(options, payload))
    })
  }

  /** Revokes every token of a user that began before now: `uid` is the `sub` of a payload or, with `issuer`, of that issuer. */
  async revokeUser(uid: string, options: RevokeOptions = {}): Promise<Acknowledgement> {
    const users = toRevokedUsers(this.#authenticator.settings.sources.issuers, options.issuer, uid)
    return this.#revoke('revokeUser', options, (revoker, origin) => revoker.revokeUser(uid, origin, users))
  }

  /** Revokes every token that a key has signed or will sign, for good; take the key out of the configuration too. */
  async revokeKey(kid: string, options: RevokeOptions = {}): Promise<Acknowledgement> {
    const { settings } = this.#authenticator
    return this.#revoke('revokeKey', options, (revoker, origin) => {
      const issuers = toKeyIssuers(settings.sources.issuers, settings.keys.verifying, options.issuer)
      // Where a key has no `kid` of its own, a token may name it as it likes: its derived id is revoked as well.
      const otherIds = settings.sources.issuers.get(options.issuer ?? '')?.keys.idsOf(kid)
      return revoker.revokeKey(kid, origin, issuers, otherIds)
    })
  }

  /** Revokes every token of everybody whose session began before now; with an `issuer`, only the tokens of that one. */
  async revokeAll(options: RevokeOptions = {}): Promise<Acknowledgement> {
    return this.#revoke('revokeAll', options, (revoker, origin) => {
      if (options.issuer === undefined) return revoker.revokeAll(origin)
      const issuer = parseIssuer(this.#authenticator.settings.sources.issuers, options.issuer)
      if (issuer !== null) return revoker.revokeIssuer(issuer, origin)
      throw new TypeError('revokeAll() takes one of the issuers, or none for every token of everybody')
    })
  }

  /** Ends the session of a token: its access and refresh tokens die together. A token of no session is revoked by itself. */
  async logout(payload: LogoutPayload, options: RevokeOptions = {}): Promise<Acknowledgement> {
    return this.#revoke('logout', options, (revoker, origin) =>
      revoker.logout(payload, origin, this.#toIssuers(options, payload)),
    )
  }

  /** The live sessions of a user, newest first, a page at a time. */
  async listSessions(uid: string, options: ListSessionsOptions = {}): Promise<readonly SessionInfo[]> {
    return this.#requireSessions('listSessions').listSessions(uid, options)
  }

  /** One live session, or `null`; with a `uid`, only if it is that user's. A `uid` that is `undefined` is a `TypeError`. */
  async getSession(id: string, ...owner: [uid?: string]): Promise<SessionInfo | null> {
    const sessions = this.#requireSessions('getSession')
    return owner.length === 0 ? sessions.getSession(id) : sessions.getSession(id, parseText('uid', owner[0]))
  }

  /** Revokes every session of the token's user but its own; returns how many they were. */
  async revokeOtherSessions(
    payload: Pick<StandardClaims, 'sub' | 'sid' | 'iss'>,
    options: RevokeOptions = {},
  ): Promise<number> {
    const sessions = this.#requireSessions('revokeOtherSessions')
    if (this.#authenticator.settings.sources.issuers.has(payload?.iss as string)) {
      throw new TypeError('The token belongs to another issuer, which keeps its own sessions')
    }
    return this.#revoke('revokeOtherSessions', options, (_, origin) =>
      sessions.revokeOtherSessions(payload, origin),
    )
  }

  /**
   * Ends the session of every genuine token in a request, expired or not. Returns the claims of the first one, or `null`
   * when there was nothing to end. Rejects for a cookie without its CSRF value, for a request of another site, and when
   * the store is unavailable; in every other case the cookies can be deleted.
   */
  async logoutRequest(request: RequestSource, options: RevokeOptions = {}): Promise<StandardClaims | null> {
    const end = (revoker: Revoker, origin: EventOrigin): Promise<StandardClaims | null> =>
      logoutRequest(this.#authenticator, revoker, toRequestView(request), origin)
    return this.#revoke('logoutRequest', options, end, request)
  }

  /**
   * The claims of a genuine token, or `null`. Time, issuer, audience and revocation are not checked, so this is only good
   * for taking rights away: pass the claims to `logout` or `revokeToken`.
   */
  async readRevocableToken(token: string): Promise<TokenPayload | null> {
    return readRevocableClaims(this.#authenticator, token)
  }

  #toIssuers(options: RevokeOptions, payload: { readonly iss?: string } | null): RevokedIssuers {
    return toRevokedIssuers(this.#authenticator.settings.sources, options.issuer, payload ?? {})
  }

  async #revoke<Answer>(
    method: string,
    options: RevokeOptions,
    revoke: (revoker: Revoker, origin: EventOrigin) => Promise<Answer>,
    request?: RequestSource,
  ): Promise<Answer> {
    const { revokerFor, waitForOthers } = this.#requireStore(method)
    const origin = parseActor(this.#authenticator.clients, `${method}()`, options, request)
    if (options.everywhere === true && waitForOthers === null) {
      throw new ConfigurationError(
        'everywhere needs to know the bound of the replicas: new TokenManager({ revocation: replicate(store) }). ' +
          'Where no process has a replica, a revocation holds everywhere without it',
      )
    }
    const answer = await revoke(revokerFor(options.deferUnless), origin)
    if (options.everywhere === true) await waitForOthers?.()
    return answer
  }

  #requireStore(method: string): StoreConnection {
    return this.#store ?? missingStore(method, 'a store')
  }

  #requireSessions(method: string): Sessions {
    return this.#store?.sessions ?? missingStore(method, 'a store that keeps sessions')
  }
}
