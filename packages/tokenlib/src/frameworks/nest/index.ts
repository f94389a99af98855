export { type AnyManager, getTokenManagerToken, InjectTokenManager, readUpgrade } from './context.js'
export {
  AccessTokenGuard,
  enforce,
  FreshTokenGuard,
  FreshWithin,
  ManagerGuard,
  RefreshTokenGuard,
  RequireAnyScope,
  RequireScopes,
  TokenGuard,
} from './guards.js'
export { type CookieTarget, sendCookies, TokenExceptionFilter } from './http.js'
export { OptionalAuth, Public } from './metadata.js'
export {
  type ConstructorParameterFor,
  createTokenDecorators,
  CurrentSubject,
  Depends,
  type ParameterFor,
  Token,
  TokenClaims,
  type TokenDecorators,
} from './parameters.js'
export { SessionController } from './session-controller.js'
export {
  SessionModule,
  type SessionModuleAsyncOptions,
  type SessionModuleExtras,
  type SessionModuleOptions,
} from './session-module.js'
export { protectSockets, type SocketProtection } from './sockets.js'
export {
  type TokenHealth,
  TokenHealthIndicator,
  type TokenHealthOptions,
  TokenModule,
  type TokenModuleAsyncOptions,
  type TokenModuleExtras,
  type TokenOptionsFactory,
  type TokenSource,
} from './token-module.js'
export { mount, type NodeMiddleware } from '../node-bridge.js'
export { implicitRefresh } from '../node-refresh.js'
