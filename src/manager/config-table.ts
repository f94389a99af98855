import { ALGORITHMS, type Algorithm } from '../jws/algorithms.js'
import { KEY_FORMS } from '../jws/asymmetric.js'
import { SECRET_FORMS } from '../jws/secret.js'
import { isOrigin } from '../request/csrf.js'
import { TOKEN_LOCATIONS } from '../request/read-token.js'
import type { TokenConfigFields } from './config-fields.js'
import { choice, count, duration, type FieldKind, flag, key, lifetime, listOf, text } from './config-kinds.js'

/** A field's default and what it accepts beside it. */
export interface ConfigField<Value> {
  readonly default: Value
  readonly kind: FieldKind<unknown>
}

const field = <Value>(kind: FieldKind<unknown>, value: Value): ConfigField<Value> => ({
  default: value,
  kind,
})

// RFC 9110 §5.6.2: the characters of a header name, a method and a cookie name.
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
// RFC 1035 §2.3.1: labels of letters, digits and inner hyphens, 63 at most.
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const DOMAIN = new RegExp(`^\\.?${LABEL}(?:\\.${LABEL})*$`, 'i')
const token = text("a name of letters, digits and !#$%&'*+.^_`|~-", (value) => TOKEN.test(value))
const scheme = text('an authentication scheme, or empty', (value) => value === '' || TOKEN.test(value))
// RFC 6265 §4.1.1, every character but controls and semicolons.
const path = text('a path that starts with /', (value) => /^\/[\x20-\x3a\x3c-\x7e]*$/.test(value))
const domain = text('a domain name', (value) => DOMAIN.test(value))
const origin = text('an origin like https://app.example', isOrigin)
const algorithm = choice(Object.keys(ALGORITHMS) as Algorithm[])
const location = listOf(choice(TOKEN_LOCATIONS))
const timeout = duration(
  'a duration above zero, at most one hour',
  (seconds) => seconds > 0 && seconds <= 3600,
)
// Within the grace a stolen token passes unnoticed: minutes are for lost answers, not hours.
const grace = duration('a duration of at most five minutes', (seconds) => seconds <= 300)
const secret = key(SECRET_FORMS)
const asymmetric = key(KEY_FORMS)

/** Every field with its default; a field that is `null` by default may be given as `null`. */
export const CONFIG_TABLE: {
  readonly [Name in keyof TokenConfigFields]: ConfigField<TokenConfigFields[Name]>
} = {
  JWT_SECRET_KEY: field(secret, null),
  JWT_PREVIOUS_SECRET_KEY: field(secret, null),
  JWT_PRIVATE_KEY: field(asymmetric, null),
  JWT_PUBLIC_KEY: field(asymmetric, null),
  JWT_PREVIOUS_PUBLIC_KEY: field(asymmetric, null),
  JWT_ALGORITHM: field(algorithm, 'HS256'),
  JWT_DECODE_ALGORITHMS: field(listOf(algorithm), null),
  JWT_ACCESS_TOKEN_EXPIRES: field(lifetime, '15m'),
  JWT_REFRESH_TOKEN_EXPIRES: field(lifetime, '20d'),
  JWT_ENCODE_ISSUER: field(text(), null),
  JWT_DECODE_ISSUER: field(text(), null),
  JWT_ENCODE_AUDIENCE: field(listOf(text()), null),
  JWT_DECODE_AUDIENCE: field(listOf(text()), null),
  JWT_DECODE_LEEWAY: field(duration(), 0),
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
  JWT_COOKIE_MAX_AGE: field(
    duration('a duration of at least one second', (seconds) => seconds >= 1),
    null,
  ),
  JWT_SESSION_COOKIE: field(flag, true),
  JWT_COOKIE_CSRF_PROTECT: field(flag, true),
  JWT_CSRF_IN_COOKIES: field(flag, true),
  JWT_CSRF_METHODS: field(listOf(token), ['POST', 'PUT', 'PATCH', 'DELETE']),
  JWT_CSRF_CHECK_FORM: field(flag, false),
  JWT_CSRF_ORIGINS: field(listOf(origin), null),
  JWT_ACCESS_CSRF_COOKIE_NAME: field(token, 'csrf_access_token'),
  JWT_ACCESS_CSRF_COOKIE_PATH: field(path, '/'),
  JWT_REFRESH_CSRF_COOKIE_NAME: field(token, 'csrf_refresh_token'),
  JWT_REFRESH_CSRF_COOKIE_PATH: field(path, '/'),
  JWT_ACCESS_CSRF_HEADER_NAME: field(token, 'X-CSRF-TOKEN'),
  JWT_REFRESH_CSRF_HEADER_NAME: field(token, 'X-CSRF-TOKEN'),
  JWT_ACCESS_CSRF_FIELD_NAME: field(text(), 'csrf_token'),
  JWT_REFRESH_CSRF_FIELD_NAME: field(text(), 'csrf_token'),
  JWT_QUERY_STRING_NAME: field(text(), 'token'),
  JWT_JSON_KEY: field(text(), 'access_token'),
  JWT_REFRESH_JSON_KEY: field(text(), 'refresh_token'),
  JWT_IDENTITY_CLAIM: field(text(), 'sub'),
  JWT_ERROR_MESSAGE_KEY: field(text(), 'message'),
  JWT_MAX_TOKEN_LENGTH: field(count(1), 8192),
  JWT_REVOCATION_TIMEOUT: field(timeout, '250ms'),
  JWT_REFRESH_GRACE: field(grace, '10s'),
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
