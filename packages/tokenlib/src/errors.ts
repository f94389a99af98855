import {
  type ClaimsValidationError,
  type MissingCsrfTokenError,
  type MissingTokenError,
  type TokenAudienceError,
  type TokenDecodeError,
  TokenError,
  type TokenExpiredError,
  type TokenIssuerError,
  type TokenNotYetValidError,
  type TokenSignatureError,
} from './token-error.js'

export * from './token-error.js'

/** A genuine token of the wrong type. */
export class TokenTypeError extends TokenError {
  override readonly name: string = 'TokenTypeError'
  declare readonly code: 'ACCESS_TOKEN_REQUIRED' | 'REFRESH_TOKEN_REQUIRED'
  declare readonly expected: string
  declare readonly actual: string

  constructor(expected: 'access' | 'refresh', actual: string) {
    super(`${expected === 'access' ? 'An access' : 'A refresh'} token is required`)
    this.code = expected === 'access' ? 'ACCESS_TOKEN_REQUIRED' : 'REFRESH_TOKEN_REQUIRED'
    this.expected = expected
    this.actual = actual
  }
}

/** The route requires an access token, and the token has another type. */
export class AccessTokenRequiredError extends TokenTypeError {
  override readonly name = 'AccessTokenRequiredError'
  declare readonly code: 'ACCESS_TOKEN_REQUIRED'

  constructor(actual: string) {
    super('access', actual)
  }
}

/** The route requires a refresh token, and the token has another type. */
export class RefreshTokenRequiredError extends TokenTypeError {
  override readonly name = 'RefreshTokenRequiredError'
  declare readonly code: 'REFRESH_TOKEN_REQUIRED'

  constructor(actual: string) {
    super('refresh', actual)
  }
}

/** The route requires a token from a recent login. */
export class FreshTokenRequiredError extends TokenError {
  override readonly name = 'FreshTokenRequiredError'
  readonly code = 'FRESH_TOKEN_REQUIRED'

  constructor() {
    super('A fresh token is required')
  }
}

/** The token lacks a scope that the route requires: one of `required`, or all of `anyOf`, of which it needs one. */
export class InsufficientScopeError extends TokenError {
  override readonly name = 'InsufficientScopeError'
  readonly code = 'INSUFFICIENT_SCOPE'
  declare readonly required: readonly string[]
  declare readonly provided: readonly string[]
  declare readonly anyOf: readonly string[]

  constructor(
    required: readonly string[],
    provided: readonly string[] | null | undefined,
    anyOf: readonly string[] = [],
  ) {
    super('Token lacks a required scope')
    this.required = required
    this.provided = provided ?? []
    this.anyOf = anyOf
  }
}

/** The CSRF value of the request is not the one bound to its token. */
export class CsrfError extends TokenError {
  override readonly name = 'CsrfError'
  readonly code = 'CSRF_MISMATCH'

  constructor(message = 'CSRF token does not match') {
    super(message)
  }
}

/** The token is bound to a key and came without a proof of it, or the route requires a bound token. */
export class ProofRequiredError extends TokenError {
  override readonly name = 'ProofRequiredError'
  readonly code = 'PROOF_REQUIRED'

  constructor(message = 'Token is bound to a key and is not accepted as a bearer token') {
    super(message)
  }
}

/** The proof that came with a token is invalid, or is for another key, token or request. */
export class InvalidProofError extends TokenError {
  override readonly name = 'InvalidProofError'
  readonly code = 'PROOF_INVALID'
}

/** The proof was used before: somebody may have copied the request. */
export class ReusedProofError extends TokenError {
  override readonly name = 'ReusedProofError'
  readonly code = 'PROOF_REUSED'

  constructor(message = 'DPoP proof was used before') {
    super(message)
  }
}

/** The proof needs a nonce of this server; the response has one. */
export class ProofNonceRequiredError extends TokenError {
  override readonly name = 'ProofNonceRequiredError'
  readonly code = 'PROOF_NONCE_REQUIRED'

  constructor(message = 'DPoP proof needs a nonce of this server') {
    super(message)
  }
}

type Members = Readonly<Record<string, unknown>>

/** The token is genuine, but it was revoked. */
export class RevokedTokenError extends TokenError {
  override readonly name: string = 'RevokedTokenError'
  readonly code: string = 'TOKEN_REVOKED'
  readonly #payload: Members
  readonly #header: Members

  constructor(payload: Members, header: Members, message = 'Token is revoked') {
    super(message)
    this.#payload = payload
    this.#header = header
  }

  /** The claims of the revoked token. */
  get payload(): Members {
    return this.#payload
  }

  /** The JOSE header of the revoked token. */
  get header(): Members {
    return this.#header
  }
}

/** A refresh token was used again after its successor: it may be stolen, and the session is revoked. */
export class RefreshTokenReusedError extends RevokedTokenError {
  override readonly name = 'RefreshTokenReusedError'
  override readonly code = 'REFRESH_TOKEN_REUSED'

  constructor(payload: Members, header: Members) {
    super(payload, header, 'Refresh token is used up: another token of its session was used')
  }
}

/** A newer refresh token of the session has just been used. The session goes on: the client retries with the newest token. */
export class RefreshSupersededError extends TokenError {
  override readonly name = 'RefreshSupersededError'
  readonly code = 'REFRESH_SUPERSEDED'

  constructor() {
    super('A newer refresh token of the session was used just now')
  }
}

/** The access cookie and the refresh cookie of a request belong to different sessions: somebody may have planted one. */
export class SessionMismatchError extends TokenError {
  override readonly name = 'SessionMismatchError'
  readonly code = 'SESSION_MISMATCH'

  constructor() {
    super('The access cookie and the refresh cookie belong to different sessions')
  }
}

/** The data of a session cannot be kept: it is not JSON, does not satisfy the schema, or is too large. */
export class SessionDataError extends TypeError {
  override readonly name = 'SessionDataError'
  readonly code: 'SESSION_DATA_INVALID' | 'SESSION_DATA_TOO_LARGE'

  constructor(code: SessionDataError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The user has as many sessions as `maxSessions` allows, and the login does not end others. */
export class SessionLimitError extends TokenError {
  override readonly name = 'SessionLimitError'
  readonly code = 'SESSION_LIMIT_REACHED'
  declare readonly maxSessions: number

  constructor(maxSessions: number) {
    super('Session limit reached')
    this.maxSessions = maxSessions
  }
}

/** The revocation store or callback failed or did not answer in time; `cause` has the reason. */
export class RevocationUnavailableError extends TokenError {
  override readonly name = 'RevocationUnavailableError'
  readonly code = 'REVOCATION_UNAVAILABLE'

  constructor(cause: unknown) {
    super('Revocation store unavailable', { cause })
  }
}

/** The issuer did not provide its keys or answer about a token, or the signer of a key failed; `cause` has the reason. */
export class KeysUnavailableError extends TokenError {
  override readonly name = 'KeysUnavailableError'
  readonly code = 'KEYS_UNAVAILABLE'
  /** The issuer that did not answer; `null` for a key of our own. */
  readonly issuer: string | null

  constructor(cause: unknown, message = 'Keys of the issuer unavailable', issuer: string | null = null) {
    super(message, { cause })
    this.issuer = issuer
  }
}

/** The token is genuine, but its subject does not exist, or no longer. */
export class SubjectNotFoundError extends TokenError {
  override readonly name = 'SubjectNotFoundError'
  readonly code = 'SUBJECT_NOT_FOUND'

  constructor() {
    super('The subject of the token was not found')
  }
}

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
  | ProofRequiredError
  | InvalidProofError
  | ReusedProofError
  | ProofNonceRequiredError
  | (RevokedTokenError & { readonly code: 'TOKEN_REVOKED' })
  | RefreshTokenReusedError
  | RefreshSupersededError
  | SessionMismatchError
  | SessionLimitError
  | RevocationUnavailableError
  | KeysUnavailableError
  | SubjectNotFoundError

/** Every `code` a `TokenError` can have. */
export type TokenErrorCode = AnyTokenError['code']

/** Holds across duplicate installs of this package, where `instanceof TokenError` does not. */
export function isTokenError(value: unknown): value is AnyTokenError {
  return value instanceof Error && (value as Partial<TokenError>).isTokenError === true
}

/** Whether the store or the keys of an issuer were unavailable, so that nothing is known about the token. */
export function isOutage(error: unknown): error is RevocationUnavailableError | KeysUnavailableError {
  return isTokenError(error) && (error.code === 'REVOCATION_UNAVAILABLE' || error.code === 'KEYS_UNAVAILABLE')
}
