export { TokenConfig, type TokenConfigOptions } from './config/config.js'
export { TokenManager } from './manager.js'
export type { TokenManagerOptions } from './manager-options.js'
export { chooseManager, type ManagerChoice } from './choose-manager.js'

export {
  ConfigurationError,
  InsufficientScopeError,
  isTokenError,
  MissingTokenError,
  RevocationUnavailableError,
  RevokedTokenError,
  TokenError,
  type TokenErrorCode,
  TokenExpiredError,
  TokenIssuerError,
} from './errors.js'

export {
  type AnyClaims,
  expiresAt,
  extraClaims,
  issuedAt,
  type StandardClaims,
  timeSinceIssued,
  timeUntilExpiry,
  type TokenPayload,
  type TokenType,
} from './tokens/payload.js'
export type { CreateTokenOptions } from './tokens/create.js'
export { decodeWithoutVerifying } from './tokens/compact.js'
export type { SignFunction } from './tokens/external-signer.js'
export type { ClaimsSchema, JsonClaims } from './tokens/extra-claims.js'
export type { OwnKey } from './tokens/own-key.js'
export { hasScopes } from './tokens/scopes.js'
export type { TrustedIssuer } from './tokens/token-source.js'

export { RequestToken } from './http/read-token.js'
export type { RequestSource } from './http/request-source.js'
export { type RequestView, setRequestIp } from './http/view.js'

export type { Dependency, PayloadOf, TokenDependency } from './requests/dependencies.js'
export { type FormatError, toErrorResponse } from './requests/error-response.js'
export type { TokenPolicy, TokenWithHeader } from './requests/policy.js'
export {
  setAccessCookies,
  setCookies,
  setRefreshCookies,
  unsetAccessCookies,
  unsetCookies,
  unsetRefreshCookies,
} from './requests/set-cookies.js'
export type { AuthenticatedUpgrade, UpgradePolicy } from './sockets/upgrade.js'

export type { TokenBlocklistCallback } from './revocation/blocklist.js'
export type { SessionInfo } from './revocation/session-store.js'
export type { RevocationStore } from './revocation/store.js'
export type { DescribeUser, UserDescription } from './sessions/describe-user.js'
export type { ManagerHealth } from './sessions/internals.js'
export { refreshImplicitly } from './sessions/implicit-refresh.js'
export type { RevokeOptions } from './sessions/run-revocation.js'
export type { OpenSessionOptions } from './sessions/sessions.js'
export type { RefreshedTokens, TokenPair } from './sessions/token-maker.js'

export { acceptUpgrade } from './sockets/accept-upgrade.js'
export { protectSocketIo } from './frameworks/socket-io.js'
export { CLOSE_UNAUTHORIZED } from './sockets/sockets.js'

export { securityRequirements, securitySchemes } from './routes/openapi.js'
export type { TokenEvents } from './events.js'
export type { Duration } from './time.js'
