import { type RandomBytes, systemRandom } from '../claims/ids.js'
import type { CreateTokenOptions, RefreshTokenOptions } from '../claims/create.js'
import type { AnyClaims, StandardClaims, TokenPayload, TokenType } from '../claims/payload.js'
import type { ClaimsSchema } from '../claims/extra-claims.js'
import type { JsonValue } from '../encoding.js'
import { createEmitter } from '../events.js'
import { assertOptions, type OptionNames } from '../options.js'
import { createDeferred } from '../promises.js'
import { readToken, toPlaces } from '../request/read-token.js'
import type { RequestToken } from '../request/request-token.js'
import { type RequestSource, toRequestView } from '../request/request-source.js'
import type { RequestView } from '../request/view.js'
import { Blocklist, type RegisterTokenBlocklist } from '../revocation/blocklist.js'
import type { RefreshOptions } from '../sessions/refresh.js'
import { type ActorOptions, parseActor, readSessionClient } from '../sessions/session-client.js'
import { type CreateTokenPairOptions, PAIR_OPTIONS, type TokenPair } from '../sessions/token-pair.js'
import type { StoreConnection, TokenStore } from '../sessions/token-store.js'
import { type Clock, createCheckedClock, type Duration, systemClock } from '../time.js'
import { type Authenticator, authenticateToken, createCheck, wantedLocations } from './authenticate.js'
import { connect } from './connect.js'
import { assertConfig, type TokenConfig } from './config.js'
import { rememberPerRequest, type TokenDependency } from './dependencies.js'
import { rememberType } from './dependency-types.js'
import { createIssuer, type TokenIssuer } from './issue.js'
import {
  assertType,
  parsePolicy,
  parseReadOptions,
  type ReadTokenOptions,
  TOKEN_POLICY_NAMES,
  type TokenPolicy,
} from './policy.js'
import { createRefresher } from './refresher.js'
import { readLogoutClaims } from './logout-request.js'
import { missingStore, RevocableTokens } from './revocable-tokens.js'
import { resolveSettings } from './settings.js'
import {
  type AuthenticatedUpgrade,
  authenticateUpgrade,
  checkMessages,
  parseUpgradePolicy,
  type UpgradePolicy,
} from './sockets.js'
import { findSubject, type SubjectGetter } from './subjects.js'
import { createVerifier } from './verified-tokens.js'
import { type ClosableSocket, closeWhenInvalid } from './watched-sockets.js'

/** Extra claims of a new token, for a manager without a schema. */
export type JsonClaims = { readonly [claim: string]: JsonValue }

/** What a `TokenManager` is built from. */
export interface TokenManagerOptions<Input extends object, Output extends object, Subject> {
  readonly config: TokenConfig
  /** Checks extra claims when a token is made and when it is verified, and gives them their types. */
  readonly claims?: ClaimsSchema<Input, Output>
  /** Where revocations and sessions are kept; checked before the callback. */
  readonly revocation?: TokenStore | undefined
  readonly subjectGetter?: SubjectGetter<Subject, TokenPayload<Output>>
  readonly clock?: Clock
  readonly randomBytes?: RandomBytes
}

const MANAGER_OPTIONS: OptionNames<TokenManagerOptions<object, object, unknown>> = {
  config: true,
  claims: true,
  revocation: true,
  subjectGetter: true,
  clock: true,
  randomBytes: true,
}

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
> extends RevocableTokens {
  /** The configuration, frozen. */
  declare readonly config: TokenConfig
  /** The `kid` of new tokens, or `null` for a manager that only verifies. */
  declare readonly keyId: string | null
  readonly #authenticator: Authenticator
  readonly #issuer: TokenIssuer
  readonly #store: StoreConnection | null
  #subjectGetter: SubjectGetter<Subject, TokenPayload<Output>> | null

  /** Any genuine, unrevoked token, whatever its type. */
  declare readonly tokenRequired: TokenDependency<TokenPayload<Output>>
  /** A genuine, unrevoked access token. */
  declare readonly accessTokenRequired: TokenDependency<TokenPayload<Output>>
  /** A genuine, unrevoked refresh token. */
  declare readonly refreshTokenRequired: TokenDependency<TokenPayload<Output>>
  /** An access token from a recent log-in. */
  declare readonly freshTokenRequired: TokenDependency<TokenPayload<Output>>
  /** `null` for a request without a token; a bad token is refused here too. */
  declare readonly accessTokenOptional: TokenDependency<TokenPayload<Output> | null>
  /** What the subject getter finds for the access token of the request. */
  declare readonly getCurrentSubject: TokenDependency<NonNullable<Subject>>
  /** Registers the callback that decides whether a token is revoked, replacing the one before. Also a decorator. */
  declare readonly setCallbackTokenBlocklist: RegisterTokenBlocklist<TokenPayload<Output>>
  /** Short for `setCallbackTokenBlocklist`. */
  declare readonly setTokenBlocklist: RegisterTokenBlocklist<TokenPayload<Output>>

  constructor(options: TokenManagerOptions<Input, Output, Subject>) {
    // First what does not exist: it is often the configuration under another name.
    if (options !== undefined) assertOptions('new TokenManager()', options, MANAGER_OPTIONS)
    assertConfig(options)
    const {
      config,
      claims = null,
      revocation = null,
      subjectGetter = null,
      clock = systemClock,
      randomBytes = systemRandom,
    } = options
    const settings = resolveSettings(config, claims)
    const now = createCheckedClock(clock)
    const blocklist = new Blocklist()
    const emitter = createEmitter()
    const parts = { now, random: randomBytes, emit: emitter.emit }
    const store = revocation && connect(revocation, settings, parts)
    super(emitter, store)
    this.config = config
    this.keyId = settings.keys.signing?.kid ?? null
    this.#store = store
    this.#issuer = createIssuer({
      ...parts,
      settings,
      startToken: (at) => store?.revoker.startToken(at) ?? at,
      onExpiry: (expiresAt) => store?.expect(expiresAt),
    })
    this.#authenticator = { ...parts, settings, verifier: createVerifier(settings), blocklist, store }
    this.#subjectGetter = subjectGetter

    this.tokenRequired = this.require({ type: 'any' })
    this.accessTokenRequired = this.require({ type: 'access' })
    this.refreshTokenRequired = this.require({ type: 'refresh' })
    this.freshTokenRequired = this.require({ type: 'access', fresh: true })
    this.accessTokenOptional = this.require({ type: 'access', optional: true })
    this.getCurrentSubject = rememberPerRequest(async (view) =>
      findSubject(this.#subjectGetter, await this.accessTokenRequired(view)),
    )
    this.setCallbackTokenBlocklist = blocklist.register as unknown as RegisterTokenBlocklist<
      TokenPayload<Output>
    >
    this.setTokenBlocklist = this.setCallbackTokenBlocklist
  }

  /** An access token for a user; `uid` becomes `sub`, everything else an extra claim. */
  createAccessToken(claims: { readonly uid: string } & Input, options?: CreateTokenOptions): string {
    return this.#issuer.createToken('access', claims, options)
  }

  /** A refresh token for a user, of no session: `refresh` rotates only those of `createTokenPair`. */
  createRefreshToken(claims: { readonly uid: string } & Input, options?: RefreshTokenOptions): string {
    return this.#issuer.createToken('refresh', claims, options)
  }

  /** An access and a refresh token for a new session, which is kept where the store keeps sessions. */
  async createTokenPair(
    claims: { readonly uid: string } & Input,
    options: CreateTokenPairOptions = {},
  ): Promise<TokenPair> {
    assertOptions('createTokenPair()', options, PAIR_OPTIONS)
    const { request, ip, userAgent, ...tokenOptions } = options
    const client = readSessionClient({ request, ip, userAgent })
    const endsAt = this.#issuer.planPair(claims, tokenOptions)
    const kept = await this.#store?.sessions?.open(claims.uid, endsAt, client)
    const session = kept ?? this.#issuer.startSession()
    const pair = this.#issuer.createPair(claims, tokenOptions, session)
    this.#authenticator.emit('loggedIn', () => ({ sub: claims.uid, sid: session.sid, ...client }))
    return pair
  }

  /** A new pair for the refresh token in a request, or for a token itself; each refresh token is good once. */
  async refresh(source: RequestSource | string, options: RefreshOptions<Input> = {}): Promise<TokenPair> {
    const sessions = this.#store?.sessions ?? missingStore('refresh', 'a store that keeps sessions')
    const rotation = createDeferred<void>()
    const refresher = createRefresher(this.#authenticator, this.#issuer, rotation.promise)
    const pair = sessions.refresh(refresher, source, options)
    rotation.resolve(pair.then(() => undefined))
    return pair
  }

  /**
   * Ends the session of every genuine token in a request, expired or not. Returns the claims of the first one, or `null`
   * when there was nothing to end. Rejects for a cookie without its CSRF value, for a request of another site, and when
   * the store is unavailable; in every other case the cookies can be deleted.
   */
  async logoutRequest(request: RequestSource, options: ActorOptions = {}): Promise<StandardClaims | null> {
    const revoker = this.#store?.revoker ?? missingStore('logoutRequest')
    const origin = parseActor('logoutRequest()', options, request)
    const found = await readLogoutClaims(this.#authenticator, toRequestView(request))
    const sessions = new Map(found.map((claims) => [claims.sid ?? claims.jti, claims]))
    for (const claims of sessions.values()) await revoker.logout(claims, origin)
    return found[0] ?? null
  }

  /** The token in a request, unread and unchecked, or `null`. A bound function, like every dependency. */
  readonly getTokenFromRequest = async (
    request: RequestSource,
    options: ReadTokenOptions = {},
  ): Promise<RequestToken | null> => {
    const { reading } = this.#authenticator.settings
    const wanted = parseReadOptions(options)
    const places = toPlaces([wanted.type ?? 'access'], wantedLocations(wanted, reading.locations))
    return Object.freeze(await readToken(toRequestView(request), places, reading))
  }

  /** A dependency for any policy; the other dependencies are presets of it. */
  require(policy: TokenPolicy & { readonly optional: true }): TokenDependency<TokenPayload<Output> | null>
  require(policy?: TokenPolicy & { readonly optional?: false }): TokenDependency<TokenPayload<Output>>
  require(policy: TokenPolicy): TokenDependency<TokenPayload<Output> | null>
  require(policy: TokenPolicy = {}): TokenDependency<TokenPayload<Output> | null> {
    const parsed = parsePolicy(policy)
    const find = createCheck(this.#authenticator, parsed)
    const check = checkMessages(this.#authenticator, parsed, find)
    return rememberType(
      rememberPerRequest(check as (view: RequestView) => TokenPayload<Output> | null),
      parsed.type,
    )
  }

  /** A dependency for an access token that carries every one of the scopes. */
  scopesRequired(...scopes: readonly string[]): TokenDependency<TokenPayload<Output>> {
    return this.require({ type: 'access', scopes })
  }

  /** Checks a token that did not come from a request, revocation included. */
  async verifyToken(
    token: string,
    policy: Pick<TokenPolicy, 'type' | 'fresh' | 'scopes' | 'skipRevocation'> = {},
  ): Promise<TokenPayload<Output>> {
    const checked = parsePolicy(policy, 'verifyToken()', TOKEN_POLICY_NAMES)
    const { payload } = await authenticateToken(this.#authenticator, token, checked, null)
    return payload as TokenPayload<Output>
  }

  /** The standard checks alone, at once. A revoked token passes; `allowExpired` lets an expired one pass as well. */
  verifyTokenWithoutRevocation(
    token: string,
    options: { readonly type?: TokenType | 'any'; readonly allowExpired?: boolean } = {},
  ): TokenPayload<Output> {
    const { verifier, now } = this.#authenticator
    assertOptions('verifyTokenWithoutRevocation()', options, { type: true, allowExpired: true })
    const { allowExpired = false, ...policy } = options
    if (typeof allowExpired !== 'boolean') throw new TypeError('allowExpired must be true or false')
    const checked = parsePolicy(policy)
    const { payload } = verifier.verify(token, now(), allowExpired)
    assertType(payload, checked)
    return payload as TokenPayload<Output>
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

  /** Closes a socket with 4401 once its token expires or is found revoked; returns a function that stops watching. */
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
}
