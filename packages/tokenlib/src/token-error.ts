/** How a route asks for DPoP proofs (RFC 9449 §7.1). */
export interface DpopChallenge {
  /** The algorithms that a proof may be signed with. */
  readonly algorithms: readonly string[]
  /** Whether the client should use the `DPoP` scheme from now on, because its request did, or because the route requires it. */
  readonly isOnlyScheme: boolean
  /** The nonce for the next proof; `null` if proofs need none. */
  readonly nonce: string | null
}

/** The base of every error a request can cause; `code` is for programs, `message` for people. */
export abstract class TokenError extends Error {
  abstract readonly code: string
  /** The scopes that the route requires, whatever was wrong with the request: the challenge names them (RFC 6750 §3). */
  declare readonly routeScopes?: readonly string[]
  /** Present if the manager accepts DPoP proofs. */
  declare readonly dpop?: DpopChallenge

  /** Marks our errors across duplicate installs of this package; read it through `isTokenError`. */
  declare readonly isTokenError: true
}
// On the prototype, so that an inspected or serialised error shows only its own facts.
Object.defineProperty(TokenError.prototype, 'isTokenError', { value: true })

/** The request carries no token in any of the locations that were tried. */
export class MissingTokenError extends TokenError {
  override readonly name: string = 'MissingTokenError'
  readonly code: string = 'TOKEN_MISSING'

  constructor(message = 'No token found in the request') {
    super(message)
  }
}

/** The request has a token in a cookie and a method that needs a CSRF value, but no CSRF value. */
export class MissingCsrfTokenError extends MissingTokenError {
  override readonly name = 'MissingCsrfTokenError'
  override readonly code = 'CSRF_MISSING'
}

/** The token is malformed or fails one of the standard JWT checks. */
export class TokenDecodeError extends TokenError {
  override readonly name: string = 'TokenDecodeError'
  readonly code: string = 'TOKEN_INVALID'
}

/** The token's signature was not made by a key of this manager. */
export class TokenSignatureError extends TokenDecodeError {
  override readonly name = 'TokenSignatureError'
  override readonly code = 'TOKEN_SIGNATURE_INVALID'

  constructor(message = 'Token signature is invalid') {
    super(message)
  }
}

/** The token expired at `expiredAt`, in epoch seconds. */
export class TokenExpiredError extends TokenDecodeError {
  override readonly name = 'TokenExpiredError'
  override readonly code = 'TOKEN_EXPIRED'
  declare readonly expiredAt: number

  constructor(expiredAt: number) {
    super('Token has expired')
    this.expiredAt = expiredAt
  }
}

/** The token becomes valid at `validFrom`, in epoch seconds. */
export class TokenNotYetValidError extends TokenDecodeError {
  override readonly name = 'TokenNotYetValidError'
  override readonly code = 'TOKEN_NOT_YET_VALID'
  declare readonly validFrom: number

  constructor(validFrom: number) {
    super('Token is not valid yet')
    this.validFrom = validFrom
  }
}

/** The token is not meant for the configured audience. */
export class TokenAudienceError extends TokenDecodeError {
  override readonly name = 'TokenAudienceError'
  override readonly code = 'TOKEN_AUDIENCE_INVALID'

  constructor() {
    super('Token audience does not match')
  }
}

/** The token does not come from the configured issuer. */
export class TokenIssuerError extends TokenDecodeError {
  override readonly name = 'TokenIssuerError'
  override readonly code = 'TOKEN_ISSUER_INVALID'

  constructor() {
    super('Token issuer does not match')
  }
}

/** The token's extra claims do not satisfy the manager's schema; `issues` says where. */
export class ClaimsValidationError extends TokenDecodeError {
  override readonly name = 'ClaimsValidationError'
  override readonly code = 'CLAIMS_INVALID'
  declare readonly issues: readonly ClaimsIssue[]

  constructor(issues: readonly ClaimsIssue[]) {
    super('Token claims do not satisfy the schema')
    this.issues = issues
  }
}

/** One problem found by a claims schema; `path` leads from the extra claims to the invalid value. */
export interface ClaimsIssue {
  readonly message: string
  readonly path: readonly PropertyKey[]
}

/** The configuration is invalid; the message names the field and the fix. Never caused by a request. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  readonly code = 'CONFIGURATION_INVALID'
}

/** Whether a value is a `ConfigurationError`, also one of another copy of this package. */
export function isConfigurationError(value: unknown): value is ConfigurationError {
  return value instanceof Error && (value as Partial<ConfigurationError>).code === 'CONFIGURATION_INVALID'
}
