export type { CreateTokenOptions, RefreshTokenOptions } from './claims/create.js'
export { type RandomBytes, toTimedId } from './claims/ids.js'
export {
  type AnyClaims,
  expiresAt,
  type ExtraClaims,
  extraClaims,
  hasScopes,
  issuedAt,
  type StandardClaims,
  timeSinceIssued,
  timeUntilExpiry,
  type TokenPayload,
  type TokenType,
} from './claims/payload.js'
export type { ClaimsSchema } from './claims/extra-claims.js'
export type { JsonValue } from './encoding.js'
export {
  AccessTokenRequiredError,
  type AnyTokenError,
  type ClaimsIssue,
  ClaimsValidationError,
  ConfigurationError,
  CsrfError,
  FreshTokenRequiredError,
  InsufficientScopeError,
  isTokenError,
  MissingCsrfTokenError,
  MissingTokenError,
  RefreshTokenRequiredError,
  RefreshTokenReusedError,
  RevocationUnavailableError,
  RevokedTokenError,
  SubjectNotFoundError,
  TokenAudienceError,
  TokenDecodeError,
  TokenError,
  type TokenErrorCode,
  TokenExpiredError,
  TokenIssuerError,
  TokenNotYetValidError,
  TokenSignatureError,
  TokenTypeError,
} from './errors.js'
export { type ErrorResponse, type ErrorResponseOptions, toErrorResponse } from './http/error-response.js'
export { type SecurityScheme, securityRequirements, securitySchemes } from './http/openapi.js'
export {
  setAccessCookies,
  setRefreshCookies,
  unsetAccessCookies,
  unsetCookies,
  unsetRefreshCookies,
} from './http/set-cookies.js'
export type { Algorithm } from './jws/algorithms.js'
export type { KeyMaterial } from './jws/asymmetric.js'
export type { Jwk } from './jws/jwk.js'
export type { SecretMaterial } from './jws/secret.js'
export type { JwsHeader } from './jws/compact.js'
export { TokenConfig, type TokenConfigOptions } from './manager/config.js'
export type { SameSite, TokenConfigFields } from './manager/config-fields.js'
export type {
  Dependencies,
  Dependency,
  DependencyValue,
  DependencyValues,
  PayloadOf,
  TokenDependency,
} from './manager/dependencies.js'
export type { ReadTokenOptions, TokenPolicy } from './manager/policy.js'
export type { AuthenticatedUpgrade, UpgradePolicy } from './manager/sockets.js'
export { CLOSE_UNAUTHORIZED, type ClosableSocket } from './manager/watched-sockets.js'
export type { RevocableTokens } from './manager/revocable-tokens.js'
export type { SubjectGetter } from './manager/subjects.js'
export { type JsonClaims, TokenManager, type TokenManagerOptions } from './manager/token-manager.js'
export type { NodeRequest } from './request/node-view.js'
export { RequestToken, type TokenLocation } from './request/request-token.js'
export type { RequestSource } from './request/request-source.js'
export type { RequestView } from './request/view.js'
export type {
  RegisterTokenBlocklist,
  RevocationContext,
  TokenBlocklistCallback,
} from './revocation/blocklist.js'
export {
  addTime,
  FOREVER,
  isWatermark,
  MOST_AHEAD,
  MOST_SET_BACK,
  raiseWatermark,
  type Revocation,
  type RevocationKey,
  type RevocationKind,
} from './revocation/revocation.js'
export type { RevocableToken } from './revocation/check.js'
export { type ListPage, MAX_LIST_LIMIT, parseListOptions } from './revocation/list-page.js'
export { pollFeed } from './revocation/poll-feed.js'
export type { LogoutPayload, RevocablePayload, Revoker } from './revocation/revoker.js'
export { judgeRotation, type RotationState, type RotationVerdict } from './revocation/rotation.js'
export type {
  ListOptions,
  NewSession,
  OpenedSession,
  Presentation,
  Rotation,
  RotationOptions,
  SessionClient,
  SessionStore,
  StoredSession,
} from './revocation/session-store.js'
export type {
  FeedOptions,
  FeedPage,
  LookupAnswer,
  LostData,
  Position,
  RevocationStore,
  Revoked,
  StoreNeeds,
} from './revocation/store.js'
export type { ConnectionOptions } from './sessions/connection-options.js'
export type { RefreshOptions } from './sessions/refresh.js'
export type { ActorOptions, SessionClientOptions } from './sessions/session-client.js'
export type {
  ListSessionsOptions,
  SessionInfo,
  Sessions,
  SessionState,
  VerifiedRefreshToken,
} from './sessions/sessions.js'
export type { CreateTokenPairOptions, PairTokenOptions, TokenPair } from './sessions/token-pair.js'
export type { ConnectStore, StoreConnection, StoreHealth, TokenStore } from './sessions/token-store.js'
export type { EventOrigin, TokenEmitter, TokenEventName, TokenEvents, TokenListener } from './events.js'
export type { Clock, Duration } from './time.js'
