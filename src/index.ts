export type { CreateTokenOptions, RefreshTokenOptions } from './claims/create.js'
export type { RandomBytes } from './claims/ids.js'
export {
  type AnyClaims,
  expiresAt,
  type ExtraClaims,
  extraClaims,
  issuedAt,
  type StandardClaims,
  timeSinceIssued,
  timeUntilExpiry,
  type TokenPayload,
  type TokenType,
} from './claims/payload.js'
export { hasScopes } from './claims/scopes.js'
export type { ClaimsSchema, JsonClaims } from './claims/extra-claims.js'
export type { JsonValue } from './json.js'
export {
  AccessTokenRequiredError,
  type AnyTokenError,
  type ClaimsIssue,
  ClaimsValidationError,
  ConfigurationError,
  CsrfError,
  FreshTokenRequiredError,
  InsufficientScopeError,
  isConfigurationError,
  isTokenError,
  KeysUnavailableError,
  MissingCsrfTokenError,
  MissingTokenError,
  ProofRequiredError,
  RefreshTokenRequiredError,
  RefreshSupersededError,
  RefreshTokenReusedError,
  RevocationUnavailableError,
  RevokedTokenError,
  SessionLimitError,
  SessionMismatchError,
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
export { acceptUpgrade, type UpgradeAuthenticator, type UpgradeConnection } from './http/accept-upgrade.js'
export type { ErrorBody, FormatError, RefusalDetails } from './manager/format-error.js'
export { type ErrorResponse, type ErrorResponseOptions, toErrorResponse } from './http/error-response.js'
export { refreshImplicitly, type RefreshingManager } from './http/implicit-refresh.js'
export type { ImplicitRefresh } from './http/refreshed-response.js'
export {
  protectSocketIo,
  type SocketAuthenticator,
  type SocketIoProtection,
  type SocketIoServer,
  type SocketIoSocket,
} from './http/protect-socket-io.js'
export { type SecurityScheme, securityRequirements, securitySchemes } from './http/openapi.js'
export {
  setAccessCookies,
  setRefreshCookies,
  unsetAccessCookies,
  unsetCookies,
  unsetRefreshCookies,
} from './http/set-cookies.js'
export type { IssuerOptions } from './issuers/issuer-options.js'
export type { AnyIssuerOptions } from './issuers/issuers.js'
export type { LegacyIssuerOptions } from './issuers/legacy-options.js'
export type {
  DiscoverySource,
  JwksUriSource,
  KeyAnswer,
  KeyFetch,
  KeyFunction,
  KeyRequest,
  KeySource,
  RemoteKeysOptions,
  StaticSource,
} from './issuers/key-source.js'
export type { ClaimMapping, IssuerProfile } from './issuers/profile.js'
export type {
  Algorithm,
  Jwk,
  JwsHeader,
  KeyMaterial,
  NodeKey,
  SecretMaterial,
  WebCryptoKey,
} from './jws/jose.js'
export type { SignContext, SignFunction } from './jws/external-signer.js'
export type { JwkSet } from './jws/jwks.js'
export type { OwnKey } from './jws/own-key.js'
export { type DecodedToken, decodeWithoutVerifying, type UnverifiedClaims } from './jws/decode.js'
export {
  type ChoosableManager,
  chooseManager,
  type ManagerChoice,
  type RequireToken,
} from './manager/choose-manager.js'
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
export type { IssuedJwt, IssuedJwtOptions } from './manager/issued-jwt.js'
export type {
  ReadTokenOptions,
  TokenPolicy,
  TokenWithHeader,
  VerifyOptions,
  WithHeader,
} from './manager/policy.js'
export { CLOSE_UNAUTHORIZED, type ClosableSocket } from './manager/closable-socket.js'
export type { AuthenticatedUpgrade, UpgradePolicy } from './manager/sockets.js'
export type { DescribedLogin, DescribeUser, UserDescription } from './manager/describe-user.js'
export type { FailedLogin } from './manager/failed-login.js'
export type { TokenManagerOptions } from './manager/manager-options.js'
export type { SubjectGetter } from './manager/subject-getter.js'
export { TokenManager } from './manager/token-manager.js'
export type { NodeRequest } from './request/node-view.js'
export type { CheckKind, StoreCall, StoreCallObserver, TokenCheck, TokenObserver } from './observer.js'
export { RequestToken, type TokenLocation } from './request/read-token.js'
export { setRequestIp } from './request/request-ip.js'
export type { RequestSource } from './request/request-source.js'
export type { RequestView } from './request/view.js'
export type {
  RegisterTokenBlocklist,
  RevocationContext,
  RevocationRequest,
  TokenBlocklistCallback,
} from './revocation/blocklist.js'
export type { RevocationKind } from './revocation/revocation.js'
export type { Acknowledgement, LogoutPayload, RevocablePayload } from './revocation/revoker.js'
export type { Position, ReplicaState, RevocationStore } from './revocation/store.js'
export type { ReadClientIp, SessionClientOptions } from './sessions/client.js'
export type { ManagerHealth } from './manager/health.js'
export type {
  ActorOptions,
  CreateTokenPairOptions,
  PairTokenOptions,
  RefreshOptions,
  RevokeOptions,
  RefreshedTokens,
  TokenPair,
} from './sessions/options.js'
export type { SessionInfo } from './sessions/session-info.js'
export type { ListSessionsOptions } from './sessions/sessions.js'
export type {
  EventOrigin,
  LoginFailure,
  ReplicaEvent,
  SessionClient,
  TokenEventName,
  TokenEvents,
  TokenListener,
} from './events.js'
export type { Clock, Duration } from './time.js'
