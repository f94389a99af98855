export { CONFIG_NAMES, isConfigName } from './config/config-table.js'
export { KEY_FIELDS, resolveKeys } from './config/resolve-keys.js'
export { resolveStore, toGraceMs } from './config/settings.js'
export { readBase64url, toBase64url } from './encoding.js'
export { ConfigurationError, isOutage, isTokenError } from './errors.js'
export { createEmitter, type SessionClient, type TokenEmitter } from './events.js'
export { isForm, isJson, isUrlEncoded, parseBody, readBytes, toMediaType } from './http/body.js'
export { parseSetCookie } from './http/cookies.js'
export { readBearer } from './http/credentials.js'
export { isEndpointUrl, isIdentifierUrl } from './http/endpoint-url.js'
export { FetchView } from './http/fetch-view.js'
export {
  type NodeRequest,
  NodeView,
  readSingleHeader,
  type WrappedRequest,
  wrappedRequestReader,
} from './http/node-view.js'
export {
  fetchRequestReader,
  nodeRequestReader,
  type RequestSource,
  toRequestView,
} from './http/request-source.js'
export { attach, readAttached, rememberView, type RequestReader, type RequestView } from './http/view.js'
export { type ManagerInspection, readInspection } from './inspection.js'
export { hasNestedDuplicates, isJsonObject, isWithinJsonLimits, readJsonObject } from './json.js'
export { createObservers } from './observer.js'
export { assertOptions, type OptionNames, unknownName } from './options.js'
export { isPromise, settleQuietly, withDeadline } from './promises.js'
export {
  type Answering,
  callDependency,
  createEnforcer,
  createInjector,
  type Dependencies,
  type Dependency,
  type DependencyValues,
  type Enforcer,
  type Injector,
  type NamedDependencies,
  requiredTokenType,
} from './requests/dependencies.js'
export {
  assertErrorOptions,
  type ErrorResponse,
  type ErrorResponseOptions,
  toErrorResponse,
  toFetchErrorResponse,
} from './requests/error-response.js'
export { USED_ONCE } from './requests/issued-jwt.js'
export { connectStore, type StoreConnection } from './revocation/connect-store.js'
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
export { createClientReader } from './revocation/session-client.js'
export { MAX_NOTE_LENGTH, parseActor } from './revocation/session-options.js'
export type {
  FoundSession,
  LimitedOpening,
  ListOptions,
  NewSession,
  OpenedSession,
  OpeningOptions,
  SessionLimit,
  SessionStore,
  StoredSession,
  WhenFull,
} from './revocation/session-store.js'
export type { Sessions } from './revocation/sessions.js'
export { readOrigin, type StoreOrigin } from './revocation/store-origin.js'
export {
  assertKnownLayout,
  assertSessionLimit,
  createLossReporter,
  decideOpening,
  type ListPage,
  type LossReporter,
  MAX_ENDED_AT_ONCE,
  MAX_LIST_LIMIT,
  MAX_SESSION_LIMIT,
  type OpeningDecision,
  parseListOptions,
  pollFeed,
} from './revocation/store-rules.js'
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
export {
  assertIdentity,
  assertPath,
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
  toErrorAnswer,
  toHookError,
} from './routes/router.js'
export type { SessionRoutesOptions } from './routes/session-routes.js'
export { IS_WORKERD, sleep, startTimer, type Timer } from './runtime.js'
export { createMemoryStore } from './stores/memory.js'
export { createPostgresStore } from './stores/postgres.js'
export { type Database, type PostgresClient, toDatabase } from './stores/postgres/client.js'
export { toChannel } from './stores/postgres/notify.js'
export { createRevocationStatements } from './stores/postgres/statements.js'
export { assertUsable, leadSql, type Tables, TABLES_VERSION, toTables } from './stores/postgres/tables.js'
export { createRedisStore } from './stores/redis.js'
export {
  checkServer,
  createScript,
  createSend,
  type RedisClient,
  type Reply,
  runScript,
} from './stores/redis/client.js'
export { HEAD } from './stores/redis/lua.js'
export { createNamespace } from './stores/redis/namespace.js'
export { LAYOUT_VERSION, READ } from './stores/redis/revocation-scripts.js'
export { replicate } from './stores/replica.js'
export { createSqliteStore, type SqliteDatabase } from './stores/sqlite.js'
export type { SqliteStatement } from './stores/sqlite/connection.js'
export { isBusy, isNetworkFileSystem } from './stores/sqlite/database.js'
export { SCHEMA_VERSION, toTables as toSqliteTables } from './stores/sqlite/schema.js'
export { createTestTokens, type FrozenClock } from './testing/test-tokens.js'
export { type Clock, monotonicNow, parseDuration, systemClock } from './time.js'
export { ALGORITHMS, type BoundKey, isHmac } from './tokens/algorithms.js'
export { importPublicKey, readKeyMismatch } from './tokens/asymmetric.js'
export {
  type CompactJws,
  DEFAULT_MAX_TOKEN_LENGTH,
  isAccessTokenHeader,
  MAX_HEADER_LENGTH,
  TOKEN_TYPES,
  toShortType,
  UNSUPPORTED_MEMBERS,
} from './tokens/compact.js'
export { createId, readTimedId, readTokenStart, systemRandom, toTimedId } from './tokens/ids.js'
export { isJwk } from './tokens/jose.js'
export { assertJwkUse, deriveKid, MAX_KID_LENGTH, parseJwkText, toKid } from './tokens/jwk.js'
export {
  type ClaimRules,
  invalidClaim,
  isNonEmptyString,
  readEnd,
  readMissingClaim,
  readMistypedClaim,
  toTokenPayload,
} from './tokens/payload.js'
export { importSecret, readSecretWeakness } from './tokens/secret.js'
export type {
  IssuerSource,
  KeyLoader,
  OpenedToken,
  SignedJwt,
  SourceContext,
  SourceKeys,
  TokenLife,
  TokenSource,
  TrustedIssuer,
} from './tokens/token-source.js'
