export type { CreateTokenOptions, RefreshTokenOptions } from './tokens/create.js'
export type { RandomBytes } from './tokens/ids.js'
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
} from './tokens/payload.js'
export { hasScopes } from './tokens/scopes.js'
export type { ClaimsSchema, JsonClaims } from './tokens/extra-claims.js'
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
export { acceptUpgrade, type UpgradeAuthenticator, type UpgradeConnection } from './sockets/accept-upgrade.js'
export type { ErrorBody, FormatError, RefusalDetails } from './requests/error-response.js'
export { type ErrorResponse, type ErrorResponseOptions, toErrorResponse } from './requests/error-response.js'
export { refreshImplicitly, type RefreshingManager } from './sessions/implicit-refresh.js'
export type { ImplicitRefresh } from './http/refreshed-response.js'
export {
  protectSocketIo,
  type SocketAuthenticator,
  type SocketIoProtection,
  type SocketIoServer,
  type SocketIoSocket,
} from './sockets/protect-socket-io.js'
export { type SecurityScheme, securityRequirements, securitySchemes } from './routes/openapi.js'
export {
  setAccessCookies,
  setCookies,
  setRefreshCookies,
  unsetAccessCookies,
  unsetCookies,
  unsetRefreshCookies,
} from './requests/set-cookies.js'
export type { TrustedIssuer } from './tokens/token-source.js'
export type {
  Algorithm,
  Jwk,
  JwsHeader,
  KeyMaterial,
  NodeKey,
  SecretMaterial,
  WebCryptoKey,
} from './tokens/jose.js'
export type { SignContext, SignFunction } from './tokens/external-signer.js'
export type { JwkSet } from './tokens/key-ring.js'
export type { OwnKey } from './tokens/own-key.js'
export { type DecodedToken, decodeWithoutVerifying, type UnverifiedClaims } from './tokens/compact.js'
export {
  type ChoosableManager,
  chooseManager,
  type ManagerChoice,
  type RequireToken,
} from './choose-manager.js'
export { TokenConfig, type TokenConfigOptions } from './config/config.js'
export type { SameSite, TokenConfigFields } from './config/config-table.js'
export type {
  Dependencies,
  Dependency,
  DependencyValue,
  DependencyValues,
  PayloadOf,
  TokenDependency,
} from './requests/dependencies.js'
export type { IssuedJwt, IssuedJwtOptions } from './requests/issued-jwt.js'
export type {
  ReadTokenOptions,
  TokenPolicy,
  TokenWithHeader,
  VerifyOptions,
  WithHeader,
} from './requests/policy.js'
export { CLOSE_UNAUTHORIZED, type ClosableSocket } from './sockets/closable-socket.js'
export type { AuthenticatedUpgrade, UpgradePolicy } from './requests/sockets.js'
export type { DescribedLogin, DescribeUser, UserDescription } from './sessions/describe-user.js'
export type { FailedLogin } from './sessions/failed-login.js'
export type { TokenManagerOptions } from './manager-options.js'
export type { SubjectGetter } from './requests/check-request.js'
export { TokenManager } from './manager.js'
export type { NodeRequest } from './http/node-view.js'
export type { CheckKind, StoreCall, StoreCallObserver, TokenCheck, TokenObserver } from './observer.js'
export { RequestToken, type TokenLocation } from './http/read-token.js'
export type { RequestSource } from './http/request-source.js'
export { type RequestView, setRequestIp } from './http/view.js'
export type {
  RegisterTokenBlocklist,
  RevocationContext,
  RevocationRequest,
  TokenBlocklistCallback,
} from './revocation/blocklist.js'
export type { RevocationKind } from './revocation/revocation.js'
export type { Acknowledgement, LogoutPayload, RevocablePayload } from './revocation/revoker.js'
export type { Position, ReplicaState, RevocationStore } from './revocation/store.js'
export type { ReadClientIp, SessionClientOptions } from './revocation/session-client.js'
export type { ManagerHealth } from './sessions/health.js'
export type {
  ActorOptions,
  CreateTokenPairOptions,
  PairTokenOptions,
  RefreshOptions,
  RevokeOptions,
  RefreshedTokens,
  TokenPair,
} from './revocation/session-options.js'
export type { SessionInfo } from './revocation/session-info.js'
export type { ListSessionsOptions } from './revocation/sessions.js'
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
