export type { ChoosableManager, RequireToken } from './choose-manager.js'
export { type SameSite, type TokenConfigFields } from './config/config-table.js'
export { toGraceMs } from './config/settings.js'
export {
  hasNestedDuplicates,
  isJsonObject,
  isWithinJsonLimits,
  type JsonValue,
  readJsonObject,
} from './encoding.js'
export type {
  EventOrigin,
  LoginFailure,
  ReplicaEvent,
  SessionClient,
  TokenEventName,
  TokenListener,
} from './events.js'
export { isForm, isJson, parseBody, readBytes, toMediaType } from './http/body.js'
export { readBearer } from './http/credentials.js'
export {
  type NodeRequest,
  NodeView,
  readSingleHeader,
  type WrappedRequest,
  wrappedRequestReader,
} from './http/node-view.js'
export type { TokenLocation } from './http/read-token.js'
export type { ImplicitRefresh } from './http/refreshed-response.js'
export { fetchRequestReader, FetchView, nodeRequestReader, toRequestView } from './http/request-source.js'
export { attach, readAttached, rememberView, type RequestReader } from './http/view.js'
export {
  type CheckKind,
  type StoreCall,
  type StoreCallObserver,
  type TokenCheck,
  type TokenObserver,
} from './observer.js'
export {
  anyText,
  callable,
  choice,
  count,
  duration,
  flag,
  type Kind,
  kindOf,
  listOf,
  oneOrMore,
  type OptionKinds,
  orNull,
  parseOptions,
  recordOf,
  required,
  text,
  textLike,
  unchecked,
  unknownName,
} from './options.js'
export type { ClientCertificate, MtlsOptions } from './proofs/certificates.js'
export type { DpopOptions } from './proofs/dpop.js'
export type { DpopAlgorithm } from './proofs/dpop-proof.js'
export type { PublicUrl } from './proofs/dpop-url.js'
export type { ProofKind } from './proofs/proofs.js'
export type { SubjectGetter } from './requests/check-request.js'
export {
  type Answering,
  callDependency,
  createEnforcer,
  createInjector,
  type Dependencies,
  type DependencyValues,
  type Enforcer,
  type Injector,
  type NamedDependencies,
  requiredTokenType,
} from './requests/dependencies.js'
export {
  assertErrorOptions,
  type ErrorBody,
  type ErrorResponse,
  type ErrorResponseOptions,
  isEndpointUrl,
  isIdentifierUrl,
  type RefusalDetails,
  toFetchErrorResponse,
} from './requests/error-response.js'
export { type IssuedJwt, type IssuedJwtOptions, USED_ONCE } from './requests/issued-jwt.js'
export type { ReadTokenOptions, VerifyOptions, WithHeader } from './requests/policy.js'
export { parseSetCookie } from './requests/set-cookies.js'
export type { RegisterTokenBlocklist, RevocationContext, RevocationRequest } from './revocation/blocklist.js'
export {
  addDuration,
  EVERY_USER,
  FOREVER,
  isRevokedBy,
  isWatermark,
  type LookupAnswer,
  MAX_SESSION_LEAD_MS,
  MAX_WATERMARK_LEAD_MS,
  raiseWatermark,
  type Revocation,
  type RevocationKey,
  type RevocationKind,
  toRevocationKey,
  toStoredId,
} from './revocation/revocation.js'
export {
  decideRotation,
  type Presentation,
  type PresentedToken,
  type Reuse,
  ROOT,
  type RotatedSession,
  type Rotation,
  type RotationDecision,
  type RotationOptions,
  type RotationPlace,
  type RotationRules,
  type RotationState,
  toCoarseMs,
  toFirstPlace,
  toPresentation,
  toRotation,
} from './revocation/rotation.js'
export { type ReadClientIp, type SessionClientOptions } from './revocation/session-client.js'
export { assertSpendable } from './revocation/spent-ids.js'
export {
  type JsonSessionData,
  MAX_DATA_BYTES,
  type SessionData,
  type SessionDataChanges,
  type SessionDataSchema,
} from './revocation/session-data.js'
export {
  assertSessionLimit,
  decideOpening,
  type FoundSession,
  type LimitedOpening,
  type ListOptions,
  type ListPage,
  MAX_ENDED_AT_ONCE,
  MAX_LIST_LIMIT,
  MAX_SESSION_LIMIT,
  type NewSession,
  type OpenedSession,
  type OpeningDecision,
  type OpeningOptions,
  parseListOptions,
  type SessionLimit,
  type SessionStore,
  type StoredSession,
  type WhenFull,
} from './revocation/session-store.js'
export {
  type Claimed,
  defineStore,
  type FeedOptions,
  type FeedPage,
  type LookupOptions,
  type LostData,
  type Position,
  type Replica,
  type ReplicaChange,
  type ReplicaState,
  type RevocationStore,
  type Revoked,
  type StoreNeeds,
} from './revocation/store.js'
export type { ListSessionsOptions } from './revocation/stored-sessions.js'
export type { SecurityScheme } from './routes/openapi.js'
export {
  assertIdentity,
  callHook,
  createEmptyAnswer,
  createJsonAnswer,
  createRoute,
  createRouter,
  MAX_BODY_BYTES,
  type Methods,
  type MountableRoutes,
  parseBodyText,
  RefusedRequest,
  type Route,
  routePath,
  toErrorAnswer,
  toHookError,
} from './routes/router.js'
export { IS_WORKERD, settleQuietly, sleep, startTimer, withDeadline } from './runtime.js'
export type { DescribedLogin } from './sessions/describe-user.js'
export type { RefreshingManager } from './sessions/implicit-refresh.js'
export {
  internalsOf,
  type AcceptedProofs,
  type ManagerInspection,
  type ManagerInternals,
  readInternals,
} from './sessions/internals.js'
export type { RefreshOptions } from './sessions/refresh.js'
export type { Acknowledgement, LogoutPayload, RevocablePayload } from './sessions/revoke.js'
export { MAX_NOTE_LENGTH } from './sessions/run-revocation.js'
export type { FailedLogin } from './sessions/sessions.js'
export type { PairTokenOptions } from './sessions/token-maker.js'
export type { UpgradeAuthenticator, UpgradeConnection } from './sockets/accept-upgrade.js'
export type {
  SocketAuthenticator,
  SocketIoProtection,
  SocketIoServer,
  SocketIoSocket,
} from './frameworks/socket-io.js'
export type { ClosableSocket } from './sockets/sockets.js'
export { createLossReporter, type LossReporter } from './stores/loss-reporter.js'
export { readOrigin, type StoreOrigin } from './stores/store-origin.js'
export { pollFeed } from './stores/store-parts.js'
export {
  type Clock,
  parseDuration,
  type Scheduler,
  schedulerOf,
  systemClock,
  systemScheduler,
  type Timer,
} from './time.js'
export { ALGORITHMS, type BoundKey, isHmac } from './tokens/algorithms.js'
export { importPublicKey, readKeyMismatch } from './tokens/asymmetric.js'
export {
  type CompactJws,
  type DecodedToken,
  isAccessTokenHeader,
  MAX_HEADER_LENGTH,
  TOKEN_TYPES,
  toShortType,
  UNSUPPORTED_MEMBERS,
  type UnverifiedClaims,
} from './tokens/compact.js'
export type { RefreshTokenOptions } from './tokens/create.js'
export type { SignContext } from './tokens/external-signer.js'
export { type RandomBytes, readTimedId, readTokenStart, toTimedId } from './tokens/ids.js'
export {
  type Algorithm,
  assertJwkUse,
  deriveKid,
  isJwk,
  type Jwk,
  type JwsHeader,
  type KeyMaterial,
  MAX_KID_LENGTH,
  type NodeKey,
  parseJwkText,
  type SecretMaterial,
  toKid,
  type WebCryptoKey,
} from './tokens/jose.js'
export type { JwkSet } from './tokens/key-ring.js'
export {
  type ClaimRules,
  type Confirmation,
  type ExtraClaims,
  invalidClaim,
  readEnd,
  readMissingClaim,
  readMistypedClaim,
  toTokenPayload,
} from './tokens/payload.js'
export { importSecret, readSecretWeakness } from './tokens/secret.js'
export type {
  IssuerSource,
  KeyLoader,
  OpaqueTokens,
  OpenedToken,
  SignedJwt,
  SourceContext,
  SourceKeys,
  TokenLife,
  TokenSource,
} from './tokens/token-source.js'
