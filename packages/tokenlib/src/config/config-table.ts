import { KeyObject } from 'node:crypto'
import {
  choice,
  count,
  duration,
  flag,
  type Kind,
  kindOf,
  oneOrMore,
  text,
  textLike,
  wholeSeconds,
} from '../options.js'
import type { Duration } from '../time.js'
import {
  type Algorithm,
  isJwk,
  KEY_FORMS,
  type KeyMaterial,
  SECRET_FORMS,
  type SecretMaterial,
} from '../tokens/jose.js'
import { ALGORITHMS } from '../tokens/algorithms.js'
import { DEFAULT_MAX_TOKEN_LENGTH } from '../tokens/compact.js'
import { isOrigin } from '../http/csrf.js'
import { TOKEN_LOCATIONS, type TokenLocation } from '../http/read-token.js'

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
  /** Verifies; by default derived from `JWT_PRIVATE_KEY`. */
  JWT_PUBLIC_KEY: KeyMaterial | null
  /** Still accepted after a rotation. */
  JWT_PREVIOUS_PUBLIC_KEY: KeyMaterial | null
  JWT_ALGORITHM: Algorithm
  /** Algorithms to accept in addition to `JWT_ALGORITHM`. */
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
  /** Clock difference allowed in `exp`, `nbf` and `iat`. */
  JWT_DECODE_LEEWAY: Duration
  /** The claims that every token must have, of either type; one that is `null` counts as missing. */
  JWT_REQUIRED_CLAIMS: string | readonly string[] | null
  /** How long after its `iat` a token of either type is accepted, whatever its `exp`; it then needs an `iat`. */
  JWT_MAX_TOKEN_AGE: Duration | null
  /** Whether new tokens carry `nbf`. */
  JWT_ENCODE_NBF: boolean
  /** Where tokens are looked for, in this order. */
  JWT_TOKEN_LOCATION: TokenLocation | readonly TokenLocation[]
  /** Where refresh tokens are looked for, if not in the same places. */
  JWT_REFRESH_TOKEN_LOCATION: TokenLocation | readonly TokenLocation[] | null
  JWT_HEADER_NAME: string
  /** The scheme before the token; empty if the header has only the token. */
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
  /** Whether a request with a token in a cookie must also send the CSRF value. */
  JWT_COOKIE_CSRF_PROTECT: boolean
  /** Whether the CSRF value is set as a cookie that scripts can read. */
  JWT_CSRF_IN_COOKIES: boolean
  JWT_CSRF_METHODS: readonly string[]
  /** Whether a form field may carry the CSRF value when the header does not. */
  JWT_CSRF_CHECK_FORM: boolean
  /** Other origins that may send requests with a token in a cookie; `null` for any. */
  JWT_CSRF_ORIGINS: string | readonly string[] | null
  /** The cookie with the CSRF value, which all tokens of a session share. AuthX named the field. */
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
  /** Longer tokens are rejected unread. */
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
  /** Allow short secrets (development only). */
  JWT_ALLOW_WEAK_SECRET: boolean
}

/** The default of a field, and what else it accepts. */
export interface ConfigField<Value> {
  readonly default: Value
  readonly kind: Kind<unknown>
}

function field<Value>(kind: Kind<unknown>, value: Value): ConfigField<Value> {
  return { default: value, kind }
}

// RFC 9110 §5.6.2: the characters of a header name, a method and a cookie name.
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
// RFC 1035 §2.3.1: labels of letters, digits and inner hyphens, 63 at most.
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const DOMAIN = new RegExp(`^\\.?${LABEL}(?:\\.${LABEL})*$`, 'i')
const token = textLike("a name of letters, digits and !#$%&'*+.^_`|~-", (value) => TOKEN.test(value))
const scheme = textLike('an authentication scheme, or empty', (value) => value === '' || TOKEN.test(value))
// RFC 6265 §4.1.1, every character but controls and semicolons.
const path = textLike('a path that starts with /', (value) => /^\/[\x20-\x3a\x3c-\x7e]*$/.test(value))
const domain = textLike('a domain name', (value) => DOMAIN.test(value))
const origin = textLike('an origin like https://app.example', isOrigin)
const algorithm = choice(Object.keys(ALGORITHMS) as Algorithm[])
const location = oneOrMore(choice(TOKEN_LOCATIONS))
/** How long something outside of the process may take. */
export const timeout: Kind<Duration> = duration(
  'a duration above zero, at most one hour',
  (seconds) => seconds > 0 && seconds <= 3600,
)
const atLeastOneSecond = duration('a duration of at least one second', (seconds) => seconds >= 1)
// Within the grace a dead token raises no alarm, so it must not be longer than responses can be in flight.
const grace = duration('a duration of at most five minutes', (seconds) => seconds <= 300)

/** How long a token lives: a duration of whole seconds, or `false`. */
const lifetime: Kind<Duration | false> = kindOf(
  `${wholeSeconds.expected}, or false for never`,
  (value) => value === false || wholeSeconds.isValid(value),
  (value) => (flag.fromText(value) === false && value.trim() !== '0' ? false : wholeSeconds.fromText(value)),
)

/** Key material of any form; what it holds is checked when the keys are imported. */
function key<Value>(expected: string): Kind<Value> {
  return kindOf(
    expected,
    (value) =>
      typeof value === 'string' || value instanceof Uint8Array || value instanceof KeyObject || isJwk(value),
    // Variables often carry a PEM file in one line.
    (value) => (value.includes('-----BEGIN ') ? value.replaceAll('\\n', '\n') : value),
  )
}

const secret = key<SecretMaterial>(SECRET_FORMS)
const asymmetric = key<KeyMaterial>(KEY_FORMS)

/** Every field with its default; a field that is `null` by default may be given as `null`. */
export const CONFIG_TABLE: {
  readonly [Name in keyof TokenConfigFields]: ConfigField<TokenConfigFields[Name]>
} = {
  JWT_SECRET_KEY: field(secret, null),
  JWT_PREVIOUS_SECRET_KEY: field(secret, null),
  JWT_PRIVATE_KEY: field(asymmetric, null),
  JWT_PRIVATE_KEY_PASSPHRASE: field(text, null),
  JWT_PUBLIC_KEY: field(asymmetric, null),
  JWT_PREVIOUS_PUBLIC_KEY: field(asymmetric, null),
  JWT_ALGORITHM: field(algorithm, 'HS256'),
  JWT_DECODE_ALGORITHMS: field(oneOrMore(algorithm), null),
  JWT_ACCESS_TOKEN_EXPIRES: field(lifetime, '15m'),
  JWT_REFRESH_TOKEN_EXPIRES: field(lifetime, '20d'),
  JWT_ACCESS_TOKEN_TYP: field(choice(['JWT', 'at+jwt']), 'JWT'),
  JWT_CLIENT_ID: field(text, null),
  JWT_ENCODE_ISSUER: field(text, null),
  JWT_DECODE_ISSUER: field(oneOrMore(text), null),
  JWT_ENCODE_AUDIENCE: field(oneOrMore(text), null),
  JWT_DECODE_AUDIENCE: field(oneOrMore(text), null),
  JWT_DECODE_LEEWAY: field(duration(), 0),
  JWT_REQUIRED_CLAIMS: field(oneOrMore(text), null),
  JWT_MAX_TOKEN_AGE: field(atLeastOneSecond, null),
  JWT_ENCODE_NBF: field(flag, true),
  JWT_TOKEN_LOCATION: field(location, ['headers']),
  JWT_REFRESH_TOKEN_LOCATION: field(location, null),
  JWT_HEADER_NAME: field(token, 'Authorization'),
  JWT_HEADER_TYPE: field(scheme, 'Bearer'),
  JWT_ACCESS_COOKIE_NAME: field(token, 'access_token_cookie'),
  JWT_ACCESS_COOKIE_PATH: field(path, '/'),
  JWT_REFRESH_COOKIE_NAME: field(token, 'refresh_token_cookie'),
  JWT_REFRESH_COOKIE_PATH: field(path, '/'),
  JWT_COOKIE_SECURE: field(flag, true),
  JWT_COOKIE_HTTP_ONLY: field(flag, true),
  JWT_COOKIE_SAMESITE: field(choice(['lax', 'strict', 'none']), 'lax'),
  JWT_COOKIE_DOMAIN: field(domain, null),
  JWT_COOKIE_MAX_AGE: field(atLeastOneSecond, null),
  JWT_SESSION_COOKIE: field(flag, true),
  JWT_COOKIE_CSRF_PROTECT: field(flag, true),
  JWT_CSRF_IN_COOKIES: field(flag, true),
  JWT_CSRF_METHODS: field(oneOrMore(token), ['POST', 'PUT', 'PATCH', 'DELETE']),
  JWT_CSRF_CHECK_FORM: field(flag, false),
  JWT_CSRF_ORIGINS: field(oneOrMore(origin), null),
  JWT_ACCESS_CSRF_COOKIE_NAME: field(token, 'csrf_access_token'),
  JWT_ACCESS_CSRF_COOKIE_PATH: field(path, '/'),
  JWT_ACCESS_CSRF_HEADER_NAME: field(token, 'X-CSRF-TOKEN'),
  JWT_ACCESS_CSRF_FIELD_NAME: field(text, 'csrf_token'),
  JWT_QUERY_STRING_NAME: field(text, 'token'),
  JWT_JSON_KEY: field(text, 'access_token'),
  JWT_REFRESH_JSON_KEY: field(text, 'refresh_token'),
  JWT_IDENTITY_CLAIM: field(text, 'sub'),
  JWT_ERROR_MESSAGE_KEY: field(text, 'message'),
  JWT_MAX_TOKEN_LENGTH: field(count(1), DEFAULT_MAX_TOKEN_LENGTH),
  JWT_REVOCATION_TIMEOUT: field(timeout, '250ms'),
  JWT_REFRESH_GRACE: field(grace, '60s'),
  JWT_REFRESH_IDLE_EXPIRES: field(lifetime, false),
  JWT_VERIFIED_CACHE_SIZE: field(count(0), 10_000),
  JWT_ALLOW_WEAK_SECRET: field(flag, false),
}

/** The names of all fields. */
export const CONFIG_NAMES: readonly (keyof TokenConfigFields)[] = Object.keys(
  CONFIG_TABLE,
) as (keyof TokenConfigFields)[]

/** Whether a text names a field. */
export function isConfigName(name: string): name is keyof TokenConfigFields {
  return Object.hasOwn(CONFIG_TABLE, name)
}
