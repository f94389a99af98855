import type {
  AccessTokenRequiredError,
  ClaimsValidationError,
  CsrfError,
  FreshTokenRequiredError,
  InsufficientScopeError,
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
  TokenExpiredError,
  TokenIssuerError,
  TokenNotYetValidError,
  TokenSignatureError,
} from './errors.js'

/** Every error a request can cause, told apart by `code`. */
export type AnyTokenError =
  | (MissingTokenError & { readonly code: 'TOKEN_MISSING' })
  | MissingCsrfTokenError
  | (TokenDecodeError & { readonly code: 'TOKEN_INVALID' })
  | TokenSignatureError
  | TokenExpiredError
  | TokenNotYetValidError
  | TokenAudienceError
  | TokenIssuerError
  | ClaimsValidationError
  | AccessTokenRequiredError
  | RefreshTokenRequiredError
  | FreshTokenRequiredError
  | InsufficientScopeError
  | CsrfError
  | (RevokedTokenError & { readonly code: 'TOKEN_REVOKED' })
  | RefreshTokenReusedError
  | RevocationUnavailableError
  | SubjectNotFoundError

/** Every `code` a `TokenError` can have. */
export type TokenErrorCode = AnyTokenError['code']

/** Holds across duplicate installs of this package, where `instanceof TokenError` does not. */
export function isTokenError(value: unknown): value is AnyTokenError {
  return value instanceof Error && (value as Partial<TokenError>).isTokenError === true
}
