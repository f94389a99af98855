export { OptionalAuth, Public } from './access.js'
export { Depends, enforce, type ParameterFor } from './depends.js'
export { type AnyManager, getTokenManagerToken, InjectTokenManager } from './manager-token.js'
export { implicitRefresh, mount, type NodeMiddleware } from './middleware.js'
export { CurrentSubject, Token, TokenClaims } from './payload.js'
export { protectSockets, type SocketProtection } from './protect-sockets.js'
export { readUpgrade } from './protected-sockets.js'
export { SessionController } from './session-controller.js'
export {
  SessionModule,
  type SessionModuleAsyncOptions,
  type SessionModuleExtras,
  type SessionModuleOptions,
} from './session-module.js'
export { type CookieTarget, sendCookies } from './token-exception-filter.js'
export { type ConstructorParameterFor, createTokenDecorators, type TokenDecorators } from './payload.js'
export { TokenExceptionFilter } from './token-exception-filter.js'
export {
  AccessTokenGuard,
  FreshTokenGuard,
  FreshWithin,
  ManagerGuard,
  RefreshTokenGuard,
  RequireAnyScope,
  RequireScopes,
  TokenGuard,
} from './token-guards.js'
export { type TokenHealth, TokenHealthIndicator, type TokenHealthOptions } from './token-health-indicator.js'
export {
  TokenModule,
  type TokenModuleAsyncOptions,
  type TokenModuleExtras,
  type TokenOptionsFactory,
  type TokenSource,
} from './token-module.js'
