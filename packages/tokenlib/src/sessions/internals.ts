import type { TokenConfig } from '../config/config.js'
import type { Settings } from '../config/settings.js'
import type { SessionClient } from '../events.js'
import { type RequestSource, toRequestView } from '../http/request-source.js'
import type { DpopAlgorithm } from '../proofs/dpop-proof.js'
import type { ProofKind } from '../proofs/proofs.js'
import type { Authenticator } from '../requests/authenticate.js'
import { checkToken, type UnrevokedOptions, verifyWithoutRevocation } from '../requests/check-request.js'
import type { Dependency, DependencyValue } from '../requests/dependencies.js'
import type { FormatError } from '../requests/error-response.js'
import { type IssuedJwt, type IssuedJwtOptions, verifyIssuedJwt } from '../requests/issued-jwt.js'
import { compilePolicy } from '../requests/policy.js'
import { findFault, type StoreConnection } from '../revocation/connect-store.js'
import { parseText } from '../revocation/revocation.js'
import type { ReplicaState, RevocationStore } from '../revocation/store.js'
import type { Clock } from '../time.js'
import type { BoundKey } from '../tokens/algorithms.js'
import type { ClaimsInput, CreateTokenOptions } from '../tokens/create.js'
import type { RandomBytes } from '../tokens/ids.js'
import type { TokenPayload, TokenType } from '../tokens/payload.js'
import type { IssuerSource } from '../tokens/token-source.js'
import type { DescribeUser, UserDescriber } from './describe-user.js'
import { createDeviceSessions, type DeviceSessions } from './device-sessions.js'
import { readRevocableClaims } from './logout.js'
import type { TokenMaker } from './token-maker.js'

/** What our adapters, routes and packages use of a manager besides its members. Applications do not need it. */
export interface ManagerInternals<Payload = TokenPayload> {
  readonly config: TokenConfig
  /** The option `formatError`; `null` for the standard bodies. */
  readonly formatError: FormatError | null
  /** The clock that every check reads. */
  readonly now: Clock
  readonly store: RevocationStore | null
  /** Whether the store keeps sessions: `sessions.refresh`, `sessions.list` and `sessions.get` need that. */
  readonly keepsSessions: boolean
  /** The issuers whose tokens the manager accepts besides its own, by their `iss`. */
  readonly issuers: readonly string[]
  /** Whether `close` was called. Always `false` for a manager without a store. */
  readonly isClosed: boolean
  /** The state of this process's replica, without a store call. `null` without a replica. */
  readReplica(): ReplicaState | null
  /** Where a request comes from: the address as `clientIp` reads it, and the user agent. */
  readClient(request: RequestSource): SessionClient
  /** What the manager checks of tokens that are bound to a key; metadata tell clients. */
  readonly proofs: AcceptedProofs
  /**
   * Whether a request proves a key that new tokens can be bound to. Throws if its proof is invalid, or is missing where every
   * route demands one.
   */
  hasProof(request: RequestSource): boolean
  /** A nonce for the next DPoP proof of a client; `null` if proofs need none. */
  createNonce(): string | null
  /** Registers `describeUser`, like the option. Throws `ConfigurationError` if the manager already has one. */
  setDescribeUser(describeUser: DescribeUser<object, never>): void
  /** Creates a token without a session; works with every key. Rejects with `KeysUnavailableError` if the signer fails. */
  createToken(type: TokenType, claims: ClaimsInput, options?: CreateTokenOptions): Promise<string>
  /**
   * Only the standard checks, synchronously. A revoked token passes, and so does a bound one without a proof; with
   * `allowExpired`, an expired one too.
   */
  verifyWithoutRevocation(token: string, options?: UnrevokedOptions): Payload
  /**
   * Checks a token of any type without using it: a used refresh token is refused as revoked, but its session continues.
   * For introspection.
   */
  inspectToken(token: string): Promise<Payload>
  /**
   * The claims of a token with a valid signature, or `null`. Time, issuer, audience and revocation are not checked, so use
   * this only to remove access: pass the claims to `logout` or `revoke.token`.
   */
  readRevocableToken(token: string): Promise<TokenPayload | null>
  /** Checks another kind of JWT from an issuer, such as a logout token or a security event token. */
  verifyIssuedJwt(jwt: string, options: IssuedJwtOptions): Promise<IssuedJwt>
  /** How a `sub` of one of the issuers appears in a payload: with the prefix of the issuer. */
  toSubject(issuer: string, sub: string): string
  /** Sessions that are bound to a device. Experimental. */
  readonly devices: DeviceSessions
  /** What `tokenlib doctor` reports. */
  inspect(): ManagerInspection
}

/** The proofs that a manager checks. */
export interface AcceptedProofs {
  /** The algorithms that DPoP proofs may be signed with; `null` if the manager does not accept DPoP. */
  readonly dpopAlgorithms: readonly DpopAlgorithm[] | null
  /** Whether tokens that are bound to a client certificate are accepted. */
  readonly acceptsCertificates: boolean
  /** The kind of proof that every route demands; `null` if bearer tokens are accepted too. */
  readonly required: ProofKind | null
}

// Shared by every copy of this package in a process: the command line may use another copy than the application.
const INTERNALS = Symbol.for('tokenlib.internals')

/** The internals of a manager, or `null` for any other value. */
export function readInternals<Manager>(value: Manager): ManagerInternals<PayloadOf<Manager>> | null {
  if (typeof value !== 'object' || value === null) return null
  const { [INTERNALS]: internals } = value as {
    readonly [INTERNALS]?: ManagerInternals<PayloadOf<Manager>>
  }
  return internals ?? null
}

/** The internals of a manager; `TypeError` for any other value. */
export function internalsOf<Manager>(tokens: Manager): ManagerInternals<PayloadOf<Manager>> {
  const internals = readInternals(tokens)
  if (internals === null) throw new TypeError('This needs a TokenManager')
  return internals
}

type PayloadOf<Manager> = Manager extends { readonly accessTokenRequired: Dependency<unknown> }
  ? DependencyValue<Manager['accessTokenRequired']>
  : TokenPayload

/** The parts that the internals of a manager need. */
interface InternalParts extends Pick<ManagerInternals, 'config' | 'formatError' | 'store'> {
  readonly authenticator: Authenticator
  readonly maker: TokenMaker
  readonly users: UserDescriber
  readonly random: RandomBytes
}

/** Makes the internals of a manager available to `internalsOf`. */
export function exposeInternals(manager: object, parts: InternalParts): void {
  Object.defineProperty(manager, INTERNALS, { value: createInternals(parts), enumerable: false })
}

function createInternals(parts: InternalParts): ManagerInternals {
  const { config, formatError, authenticator, maker, users, store } = parts
  const { settings, now, clients, proofs, store: connection } = authenticator
  return {
    config,
    formatError,
    now,
    store,
    keepsSessions: store?.sessions !== undefined,
    issuers: Object.freeze([...settings.sources.issuers.keys()]),
    get isClosed() {
      return connection?.isClosed ?? false
    },
    readReplica: () => connection?.readReplica() ?? null,
    readClient: (request) => clients.read({ request }),
    proofs: Object.freeze({
      dpopAlgorithms: proofs.dpopAlgorithms,
      acceptsCertificates: proofs.accepts('mtls'),
      required: proofs.required,
    }),
    hasProof: (request) => proofs.hasProof(toRequestView(request)),
    createNonce: () => proofs.createNonce(),
    setDescribeUser: (describeUser) => users.register(describeUser),
    createToken: (type, claims, options) => maker.createTokenAsync(type, claims, options),
    verifyWithoutRevocation: (token, options = {}) => verifyWithoutRevocation(authenticator, token, options),
    async inspectToken(token) {
      const policy = { ...compilePolicy({ type: 'any' }, settings.reading.locations), isInspection: true }
      return (await checkToken(authenticator, policy, token)).payload
    },
    readRevocableToken: (token) => readRevocableClaims(authenticator, token),
    verifyIssuedJwt: (jwt, options) => verifyIssuedJwt(authenticator, jwt, options),
    toSubject(issuer, sub) {
      const known = settings.sources.issuers.get(issuer)
      if (known === undefined) throw new TypeError('issuer must be one of the issuers of this manager')
      return known.subjectPrefix + parseText('sub', sub)
    },
    devices: createDeviceSessions(parts),
    inspect: () => ({ config, store, ...inspect(settings, now()) }),
  }
}

/** What `tokenlib doctor` sees of a manager: the ids of keys, never the keys. */
export interface ManagerInspection extends Pick<ManagerInternals, 'config' | 'store'> {
  /** Every own key: whether it signs new tokens now, and whether its tokens are accepted now. */
  readonly keys: readonly (Pick<BoundKey, 'kid' | 'ids' | 'algorithm'> & {
    readonly signs: boolean
    readonly isTrusted: boolean
  })[]
  /** Why no key signs new tokens now, or `null`. */
  readonly missingKey: string | null
  /** The issuers whose tokens the manager accepts. `loadKeys` rejects with the reason if it fails. */
  readonly issuers: readonly (Pick<IssuerSource, 'issuer' | 'profile'> & {
    readonly audience: readonly string[]
    readonly loadKeys: () => Promise<void>
  })[]
}

function inspect(
  { keys, sources }: Settings,
  moment: number,
): Pick<ManagerInspection, 'keys' | 'missingKey' | 'issuers'> {
  const signing = keys.signingKey(moment)
  return {
    keys: keys.verifying.map((key) => ({
      kid: key.kid,
      ids: key.ids,
      algorithm: key.algorithm,
      signs: key.kid === signing?.kid && key.algorithm === signing.algorithm,
      isTrusted: keys.isTrusted(key, moment),
    })),
    missingKey: signing === null ? keys.explainMissingKey(moment) : null,
    issuers: [...sources.issuers.values()].map(({ issuer, profile, rules, keys: { loader } }) => ({
      issuer,
      profile,
      audience: rules.audience,
      loadKeys: async () => loader?.ready(),
    })),
  }
}

/** What a manager can do now. */
export interface ManagerHealth {
  /** `up`: everything. `degraded`: it checks tokens, but nothing can be written. `down`: it cannot check tokens. */
  readonly status: 'up' | 'degraded' | 'down'
  /** Whether tokens can be checked: by the store, or from a fresh replica. */
  readonly canCheck: boolean
  /** Whether logins, refreshes, logouts and revocations work: the store takes writes, and the signer signs. */
  readonly canWrite: boolean
  /** How long the store took to answer or fail, in milliseconds; `null` for a manager without a store. */
  readonly responseTimeMs: number | null
  /** What is wrong; `null` if `status` is `up`. */
  readonly error: Error | null
  /** The state of this process's replica; `null` without a replica. */
  readonly replica: ReplicaState | null
}

/** Calls the store, and the signer if it failed the last time. Never rejects. */
export async function readHealth(
  store: StoreConnection | null,
  maker: Pick<TokenMaker, 'assertSignerAvailable'>,
): Promise<ManagerHealth> {
  const [found, signerError] = await Promise.all([
    store?.health() ?? null,
    findFault(maker.assertSignerAvailable()),
  ])
  const { checkError = null, writeError = null, responseTimeMs = null } = found ?? {}
  const replica = store?.readReplica() ?? null
  const error = checkError ?? writeError ?? signerError
  const canCheck = checkError === null
  const canWrite = writeError === null && signerError === null
  const status = !canCheck ? 'down' : canWrite ? 'up' : 'degraded'
  return { status, canCheck, canWrite, responseTimeMs, error, replica }
}
