export type { CreateTokenOptions } from './claims/create.js'
export type { RandomBytes } from './claims/ids.js'
export type { AnyClaims, StandardClaims, TokenPayload, TokenType } from './claims/payload.js'
export {
  type ExtraClaims,
  expiresAt,
  extraClaims,
  hasScopes,
  issuedAt,
  timeSinceIssued,
  timeUntilExpiry,
} from './claims/read-payload.js'
export type { ClaimsSchema } from './claims/schema.js'
export type { JsonValue } from './claims/serializable.js'
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
export type { JwsHeader } from './jws/verify.js'
export { TokenConfig, type TokenConfigOptions } from './manager/config.js'
export type { SameSite, TokenConfigFields } from './manager/config-fields.js'
export type {
  Dependency,
  DependencyValue,
  DependencyValues,
  TokenDependency,
} from './manager/dependencies.js'
export type { CreateTokenPairOptions, TokenPair } from './manager/issue.js'
export type { TokenPolicy } from './manager/policy.js'
export {
  type AuthenticatedUpgrade,
  type ClosableSocket,
  CLOSE_UNAUTHORIZED,
  type UpgradePolicy,
} from './manager/sockets.js'
export {
  type JsonClaims,
  type SubjectGetter,
  TokenManager,
  type TokenManagerOptions,
} from './manager/token-manager.js'
export type { NodeRequest } from './request/node-view.js'
export { RequestToken, type TokenLocation } from './request/request-token.js'
export type { RequestSource } from './request/request-source.js'
export type { RequestView } from './request/view.js'
export type {
  RegisterTokenBlocklist,
  RevocationContext,
  TokenBlocklistCallback,
} from './revocation/blocklist.js'
export type { Clock, Duration } from './time.js'
