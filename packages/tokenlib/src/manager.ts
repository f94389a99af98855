import type { TokenConfig } from './config/config.js'
import { resolveSettings } from './config/settings.js'
import { createEmitter, type TokenEmitter, type TokenEventName, type TokenListener } from './events.js'
import { readToken, type RequestToken } from './http/read-token.js'
import { type RequestSource, toRequestView } from './http/request-source.js'
import { parseManagerOptions, type TokenManagerOptions } from './manager-options.js'
import { createObservers, type TokenObserver } from './observer.js'
import { createProofs } from './proofs/proofs.js'
import { settleQuietly } from './runtime.js'
import type { Authenticator } from './requests/authenticate.js'
import {
  checkToken,
  createTokenDependency,
  findSubject,
  preparePolicy,
  type SubjectGetter,
} from './requests/check-request.js'
import { createDependency, type TokenDependency } from './requests/dependencies.js'
import {
  compilePolicy,
  parseReadOptions,
  type PolicyValue,
  type ReadTokenOptions,
  type RequirePolicy,
  type TokenPolicy,
  type TokenWithHeader,
  toPolicyValue,
  VERIFY_OPTIONS,
  type VerifyOptions,
  type WithHeader,
} from './requests/policy.js'
import { createVerifier } from './requests/verified-tokens.js'
import { createBlocklist, type RegisterTokenBlocklist } from './revocation/blocklist.js'
import { connectStore } from './revocation/connect-store.js'
import { createClientReader } from './revocation/session-client.js'
import type { JsonSessionData } from './revocation/session-data.js'
import { createUserDescriber } from './sessions/describe-user.js'
import { exposeInternals, type ManagerHealth, readHealth } from './sessions/internals.js'
import { createLogout, type Logout } from './sessions/logout.js'
import { createRevoke, type Revoke } from './sessions/revoke.js'
import { createSessions, type Sessions } from './sessions/sessions.js'
import { createTokenMaker, type TokenMaker } from './sessions/token-maker.js'
import { createSockets, type Sockets } from './sockets/sockets.js'
import { createCheckedClock, schedulerOf, systemClock } from './time.js'
import type { CreateTokenOptions, RefreshTokenOptions } from './tokens/create.js'
import type { JsonClaims } from './tokens/extra-claims.js'
import { systemRandom } from './tokens/ids.js'
import { createKeys, type Keys } from './tokens/key-schedule.js'
import type { AnyClaims, TokenPayload } from './tokens/payload.js'

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
  Data extends object = JsonSessionData,
> {
  /** The configuration, frozen. */
  readonly config: TokenConfig
  /** Opens, refreshes, lists and ends sessions. */
  readonly sessions: Sessions<Input, Data>
  /** Ends the sessions of a request, or the session of a payload. */
  readonly logout: Logout
  /** Revokes a token, a session, a user, a key or everything. */
  readonly revoke: Revoke
  /** The keys of this manager's own tokens. */
  readonly keys: Keys
  /** Guards WebSockets. */
  readonly sockets: Sockets<TokenPayload<Output>>

  /** A valid token of either type. */
  readonly tokenRequired: TokenDependency<TokenPayload<Output>>
  /** A valid access token. */
  readonly accessTokenRequired: TokenDependency<TokenPayload<Output>>
  /** A valid refresh token. */
  readonly refreshTokenRequired: TokenDependency<TokenPayload<Output>>
  /** A valid access token that was created with `fresh`. */
  readonly freshTokenRequired: TokenDependency<TokenPayload<Output>>
  /** A valid access token, or `null` for a request without a token. An invalid token is rejected. */
  readonly accessTokenOptional: TokenDependency<TokenPayload<Output> | null>
  /** The user that the subject getter returns for the access token of the request. */
  readonly getCurrentSubject: TokenDependency<NonNullable<Subject>>
  /** Registers the callback that decides whether a token is revoked. Replaces the previous one. Also a decorator. */
  readonly setCallbackTokenBlocklist: RegisterTokenBlocklist<TokenPayload<Output>>
  /** Alias of `setCallbackTokenBlocklist`. */
  readonly setTokenBlocklist: RegisterTokenBlocklist<TokenPayload<Output>>

  readonly #authenticator: Authenticator
  readonly #emitter: TokenEmitter
  readonly #maker: TokenMaker
  #subjectGetter: SubjectGetter<Subject, TokenPayload<Output>> | null

  constructor(options: TokenManagerOptions<Input, Output, Subject, Data>) {
    const given = parseManagerOptions(options)
    const { config, claims = null, store: storage = null, issuers = [], keys, signTimeout } = given
    const { sessionData: dataSchema = null } = given
    const { clock = systemClock, randomBytes = systemRandom, describeUser, formatError = null } = given
    const emitter = createEmitter()
    const { emit } = emitter
    const now = createCheckedClock(clock)
    const scheduler = schedulerOf(clock)
    const timing = { now, scheduler }
    const { dpop, mtls } = given
    const acceptsDpop = dpop !== undefined
    const settings = resolveSettings(config, {
      schema: claims,
      issuers,
      emit,
      acceptsDpop,
      keys,
      signTimeout,
      ...timing,
    })
    const blocklist = createBlocklist()
    const clients = createClientReader(given.clientIp)
    const users = createUserDescriber()
    if (describeUser !== undefined) users.register(describeUser)

    const observers = createObservers(scheduler)
    const parts = { ...timing, random: randomBytes, emit, observers, clients }
    const store = storage === null ? null : connectStore(storage, { ...parts, ...settings.store, dataSchema })
    const { reading } = settings
    const proofs = createProofs({ dpop, mtls, store, now, reading })
    const authenticator = { ...parts, settings, verifier: createVerifier(settings), blocklist, store, proofs }
    const maker = createTokenMaker({ ...parts, settings, store })
    this.config = config
    this.#authenticator = authenticator
    this.#emitter = emitter
    this.#maker = maker
    this.#subjectGetter = given.subjectGetter ?? null
    this.sessions = createSessions({ authenticator, maker, users })
    this.logout = createLogout(authenticator)
    this.revoke = createRevoke(authenticator, emitter)
    this.keys = createKeys(settings.keys, settings.setKeys, now)
    this.sockets = createSockets(authenticator)
    exposeInternals(this, {
      config,
      formatError,
      authenticator,
      maker,
      users,
      store: storage,
      random: randomBytes,
    })

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

  /** Creates an access token for a user. `uid` becomes `sub`, everything else an extra claim. */
  createAccessToken(claims: { readonly uid: string } & Input, options?: CreateTokenOptions): string {
    return this.#maker.createToken('access', claims, options)
  }

  /**
   * Creates a refresh token that belongs to no session: `sessions.refresh` cannot rotate it, and `sessions.list` does not
   * show it. To log a user in, call `sessions.open`.
   */
  createRefreshToken(claims: { readonly uid: string } & Input, options?: RefreshTokenOptions): string {
    return this.#maker.createToken('refresh', claims, options)
  }

  /** Returns the token in a request without checking it, or `null`. A bound function, like every dependency. */
  readonly getTokenFromRequest = async (
    request: RequestSource,
    options: ReadTokenOptions = {},
  ): Promise<RequestToken | null> => {
    const { reading } = this.#authenticator.settings
    const { places } = compilePolicy(parseReadOptions(options), reading.locations)
    return Object.freeze(await readToken(toRequestView(request), places, reading))
  }

  /** Creates a dependency for a policy. The other dependencies are presets of it. */
  require(
    policy: TokenPolicy & WithHeader & { readonly optional?: false },
  ): TokenDependency<TokenWithHeader<TokenPayload<Output>>>
  require(policy: TokenPolicy & WithHeader): TokenDependency<TokenWithHeader<TokenPayload<Output>> | null>
  require(policy: TokenPolicy & { readonly optional: true }): TokenDependency<TokenPayload<Output> | null>
  require(policy?: TokenPolicy & { readonly optional?: false }): TokenDependency<TokenPayload<Output>>
  require(policy: TokenPolicy): TokenDependency<TokenPayload<Output> | null>
  require(policy: RequirePolicy = {}): TokenDependency<PolicyValue<TokenPayload<Output>> | null> {
    return createTokenDependency(this.#authenticator, preparePolicy(this.#authenticator, policy))
  }

  /**
   * Checks a token that did not come from a request, including revocation. Pass the `position` of a revocation as `atLeast`
   * to include that revocation, whichever process made it.
   */
  verify(token: string, policy: VerifyOptions & WithHeader): Promise<TokenWithHeader<TokenPayload<Output>>>
  verify(token: string, policy?: VerifyOptions): Promise<TokenPayload<Output>>
  async verify(
    token: string,
    policy: VerifyOptions & Partial<WithHeader> = {},
  ): Promise<PolicyValue<TokenPayload<Output>>> {
    const compiled = preparePolicy(this.#authenticator, policy, 'verify()', VERIFY_OPTIONS)
    const verified = await checkToken(this.#authenticator, compiled, token)
    return toPolicyValue(verified, compiled) as PolicyValue<TokenPayload<Output>>
  }

  /** Registers how `getCurrentSubject` finds a user. Replaces the previous getter, and returns the new one. */
  setSubjectGetter<Getter extends SubjectGetter<Subject, TokenPayload<Output>>>(getter: Getter): Getter {
    if (typeof getter !== 'function') throw new TypeError('The subject getter must be a function')
    this.#subjectGetter = getter
    return getter
  }

  /** Resolves once the store is ready and the keys of every issuer are loaded. Rejects after a few seconds. */
  async ready(): Promise<void> {
    const { settings, store } = this.#authenticator
    const issuers = [...settings.sources.issuers.values()]
    const keys = Promise.all(issuers.map(async (issuer) => issuer.keys.loader?.ready()))
    // The store first: without it, no token can be checked.
    void settleQuietly(keys)
    await store?.ready()
    await keys
  }

  /** Calls the store, within `JWT_REVOCATION_TIMEOUT`, and reports what works and what does not. Never rejects. */
  async health(): Promise<ManagerHealth> {
    return readHealth(this.#authenticator.store, this.#maker)
  }

  /**
   * Stops all background work and closes the store. Clients that you passed to the store stay open. From then on,
   * everything that needs the store rejects with `RevocationUnavailableError`. Without a store, this does nothing.
   */
  async close(): Promise<void> {
    await this.#authenticator.store?.close()
  }

  /** Subscribes to an event. Returns an unsubscribe function. */
  on<Name extends TokenEventName>(name: Name, listener: TokenListener<Name>): () => void {
    return this.#emitter.on(name, listener)
  }

  /** Reports every check and every store call to an observer, for telemetry. Returns an unsubscribe function. */
  observe(observer: TokenObserver): () => void {
    return this.#authenticator.observers.add(observer)
  }
}
