import type { Algorithm, KeyMaterial, SecretMaterial } from '../tokens/jose.js'
import type { TokenLocation } from '../http/read-token.js'
import type { Duration } from '../time.js'

/** The value of a cookie's `SameSite` attribute. */
export type SameSite = 'lax' | 'strict' | 'none'

/** Every configuration field; `null` means not set. */
export interface TokenConfigFields {
  /** Signs and verifies with HS256, HS384 and HS512; at least as long as the hash. */
  JWT_SECRET_KEY: SecretMaterial | null
  /** Still accepted after a rotation; never signs. */
  JWT_PREVIOUS_SECRET_KEY: SecretMaterial | null
  /** Signs with RS, PS, ES and EdDSA algorithms. */
  JWT_PRIVATE_KEY: KeyMaterial | null
  /** Decrypts a `JWT_PRIVATE_KEY` in encrypted PEM. */
  JWT_PRIVATE_KEY_PASSPHRASE: string | null
  /** Verifies; taken from `JWT_PRIVATE_KEY` when not given. */
  JWT_PUBLIC_KEY: KeyMaterial | null
  /** Still accepted after a rotation. */
  JWT_PREVIOUS_PUBLIC_KEY: KeyMaterial | null
  JWT_ALGORITHM: Algorithm
  /** The algorithms accepted beside `JWT_ALGORITHM`. */
  JWT_DECODE_ALGORITHMS: readonly Algorithm[] | null
  /** `false` makes tokens that never expire. */
  JWT_ACCESS_TOKEN_EXPIRES: Duration | false
  /** `false` makes tokens that never expire. */
  JWT_REFRESH_TOKEN_EXPIRES: Duration | false
  /** The `typ` of new access tokens; `at+jwt` issues RFC 9068 access tokens, for other resource servers. */
  JWT_ACCESS_TOKEN_TYP: 'JWT' | 'at+jwt'
  /** With `at+jwt`: the default `client_id` of access tokens. */
  JWT_CLIENT_ID: string | null
  /** The `iss` of new tokens. */
  JWT_ENCODE_ISSUER: string | null
  /** A token must have one of these as its `iss`. */
  JWT_DECODE_ISSUER: string | readonly string[] | null
  /** The `aud` of new tokens. */
  JWT_ENCODE_AUDIENCE: string | readonly string[] | null
  /** A token must be for one of these. */
  JWT_DECODE_AUDIENCE: string | readonly string[] | null
  /** Clock difference forgiven in `exp`, `nbf` and `iat`. */
  JWT_DECODE_LEEWAY: Duration
  /** The claims that every token must have, of either type; one that is `null` counts as missing. */
  JWT_REQUIRED_CLAIMS: string | readonly string[] | null
  /** How long after its `iat` a token of either type is accepted, whatever its `exp`; it must have an `iat` then. */
  JWT_MAX_TOKEN_AGE: Duration | null
  /** Whether new tokens carry `nbf`. */
  JWT_ENCODE_NBF: boolean
  /** Where tokens are looked for, in this order. */
  JWT_TOKEN_LOCATION: TokenLocation | readonly TokenLocation[]
  /** Where refresh tokens are looked for, if not in the same places. */
  JWT_REFRESH_TOKEN_LOCATION: TokenLocation | readonly TokenLocation[] | null
  JWT_HEADER_NAME: string
  /** The scheme before the token; empty when the header holds the token alone. */
  JWT_HEADER_TYPE: string
  JWT_ACCESS_COOKIE_NAME: string
  JWT_ACCESS_COOKIE_PATH: string
  JWT_REFRESH_COOKIE_NAME: string
  JWT_REFRESH_COOKIE_PATH: string
  JWT_COOKIE_SECURE: boolean
  JWT_COOKIE_HTTP_ONLY: boolean
  JWT_COOKIE_SAMESITE: SameSite
  JWT_COOKIE_DOMAIN: string | null
  /** How long a browser keeps the cookies; the token's own lifetime when not set. Needs `JWT_SESSION_COOKIE: false`. */
  JWT_COOKIE_MAX_AGE: Duration | null
  /** Whether the cookies end with the browser session. */
  JWT_SESSION_COOKIE: boolean
  /** Whether a cookie token needs its CSRF value sent beside it. */
  JWT_COOKIE_CSRF_PROTECT: boolean
  /** Whether the CSRF value is set as a cookie that scripts can read. */
  JWT_CSRF_IN_COOKIES: boolean
  JWT_CSRF_METHODS: readonly string[]
  /** Whether a form field may carry the CSRF value when the header does not. */
  JWT_CSRF_CHECK_FORM: boolean
  /** The origins that requests with a cookie token may come from, beside the application's own; `null` for any. */
  JWT_CSRF_ORIGINS: string | readonly string[] | null
  /** The cookie of the CSRF value, which all tokens of a session share. The name of the field is that of AuthX. */
  JWT_ACCESS_CSRF_COOKIE_NAME: string
  JWT_ACCESS_CSRF_COOKIE_PATH: string
  /** The header that carries the CSRF value of access and refresh cookies. */
  JWT_ACCESS_CSRF_HEADER_NAME: string
  /** The form field that carries the CSRF value of access and refresh cookies. */
  JWT_ACCESS_CSRF_FIELD_NAME: string
  /** The query parameter that carries a token. */
  JWT_QUERY_STRING_NAME: string
  /** The member of a JSON body that carries an access token. */
  JWT_JSON_KEY: string
  /** The member of a JSON body that carries a refresh token. */
  JWT_REFRESH_JSON_KEY: string
  /** The claim that carries the `uid`; the payload has it as `sub` in any case. */
  JWT_IDENTITY_CLAIM: string
  /** The member of an error response that carries its message. */
  JWT_ERROR_MESSAGE_KEY: string
  /** Longer tokens are refused unread. */
  JWT_MAX_TOKEN_LENGTH: number
  /** How long a revocation check may take. */
  JWT_REVOCATION_TIMEOUT: Duration
  /**
   * How long a session waits for responses in flight before it advances to a new refresh token. Capped at the access token
   * lifetime and at half of `JWT_REFRESH_IDLE_EXPIRES`.
   */
  JWT_REFRESH_GRACE: Duration
  /** How long a session may go without a refresh; `false` for as long as it lasts. Needs a store. */
  JWT_REFRESH_IDLE_EXPIRES: Duration | false
  /** How many verified tokens are remembered; 0 for none. */
  JWT_VERIFIED_CACHE_SIZE: number
  /** Accept secrets shorter than the hash; for toys. */
  JWT_ALLOW_WEAK_SECRET: boolean
}
