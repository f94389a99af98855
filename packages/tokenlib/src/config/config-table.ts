import { KeyObject } from 'node:crypto'
import { type Duration, parseDuration } from '../time.js'
import { type Algorithm, isJwk, KEY_FORMS, SECRET_FORMS } from '../tokens/jose.js'
import { ALGORITHMS } from '../tokens/algorithms.js'
import { DEFAULT_MAX_TOKEN_LENGTH } from '../tokens/compact.js'
import { isOrigin } from '../http/csrf.js'
import { TOKEN_LOCATIONS } from '../http/read-token.js'
import type { TokenConfigFields } from './config-fields.js'

/** One kind of configuration field: what it accepts, and how it is spelled in an environment variable. */
export interface FieldKind<Value> {
  /** What a wrong value is told it should be. */
  readonly expected: string
  isValid(value: unknown): boolean
  /** The value in an environment variable; what it returns is checked like any other value. */
  fromText(text: string): Value | string
}

/** A non-empty text that passes a further test. */
export function text<Value extends string = string>(
  expected = 'a non-empty string',
  test: (value: string) => boolean = (value) => value !== '',
): FieldKind<Value> {
  return {
    expected,
    isValid: (value) => typeof value === 'string' && test(value),
    fromText: (value) => value,
  }
}

/** One of a few words. */
export function choice<Value extends string>(values: readonly Value[]): FieldKind<Value> {
  return text(`one of ${values.join(', ')}`, (value) => values.includes(value as Value))
}

/** A list of one kind, or a single value of it. In a variable: comma-separated, or a JSON array. */
export function listOf<Value extends string>(kind: FieldKind<Value>): FieldKind<Value | readonly Value[]> {
  return {
    expected: `a non-empty list, each ${kind.expected}`,
    isValid: (value) =>
      Array.isArray(value)
        ? value.length > 0 && value.every((item) => kind.isValid(item))
        : kind.isValid(value),
    fromText: (value) => (readJsonList(value) ?? readCommaList(value)) as Value[],
  }
}

/** `true` or `false`. */
export const flag: FieldKind<boolean> = {
  expected: 'true or false',
  isValid: (value) => typeof value === 'boolean',
  fromText: (value) => BOOLEANS[value.trim().toLowerCase()] ?? value,
}

/** A whole number from `minimum` up. */
export function count(minimum: number): FieldKind<number> {
  return {
    expected: `a whole number, at least ${minimum}`,
    isValid: (value) => Number.isSafeInteger(value) && (value as number) >= minimum,
    fromText: (value) => (/^\d+$/.test(value.trim()) ? Number(value) : value),
  }
}

/** A duration that passes a further test of its seconds. In a variable also bare seconds and `hh:mm:ss`. */
export function duration(
  expected = "a duration: seconds, a number with a unit ('15m') or ISO 8601 ('PT15M')",
  test: (seconds: number) => boolean = () => true,
): FieldKind<Duration> {
  return {
    expected,
    isValid(value) {
      try {
        return test(parseDuration(value as Duration))
      } catch {
        return false
      }
    },
    fromText: (value) => readClock(value.trim()) ?? value.trim(),
  }
}

const wholeSeconds = duration(
  "a duration of whole seconds, at least 1 (900, '15m', 'PT15M'), or false for never",
  (seconds) => Number.isSafeInteger(seconds) && seconds >= 1,
)

/** How long a token lives: a duration of whole seconds, or `false`. */
export const lifetime: FieldKind<Duration | false> = {
  expected: wholeSeconds.expected,
  isValid: (value) => value === false || wholeSeconds.isValid(value),
  fromText: (value) =>
    flag.fromText(value) === false && value.trim() !== '0' ? false : wholeSeconds.fromText(value),
}

/** Key material of any form; what it holds is checked when the keys are imported. */
export function key<Value extends object | string>(expected: string): FieldKind<Value> {
  return {
    expected,
    isValid: (value) =>
      typeof value === 'string' || value instanceof Uint8Array || value instanceof KeyObject || isJwk(value),
    // Variables often carry a PEM file in one line.
    fromText: (value) => (value.includes('-----BEGIN ') ? value.replaceAll('\\n', '\n') : value),
  }
}

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  1: true,
  yes: true,
  false: false,
  0: false,
  no: false,
}

function readJsonList(text: string): unknown[] | null {
  if (!text.trimStart().startsWith('[')) return null
  try {
    return JSON.parse(text) as unknown[]
  } catch {
    return null
  }
}

function readCommaList(text: string): string | string[] {
  return text.includes(',') ? text.split(',').map((item) => item.trim()) : text.trim()
}

function readClock(text: string): number | null {
  if (/^\d+$/.test(text)) return Number(text)
  const clock = /^(\d{1,3}):([0-5]\d):([0-5]\d)$/.exec(text)
  return clock && Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3])
}

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
const atLeastOneSecond = duration('a duration of at least one second', (seconds) => seconds >= 1)
// Within the grace a dead token raises no alarm, so it must not be longer than responses can be in flight.
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
  JWT_PRIVATE_KEY_PASSPHRASE: field(text(), null),
  JWT_PUBLIC_KEY: field(asymmetric, null),
  JWT_PREVIOUS_PUBLIC_KEY: field(asymmetric, null),
  JWT_ALGORITHM: field(algorithm, 'HS256'),
  JWT_DECODE_ALGORITHMS: field(listOf(algorithm), null),
  JWT_ACCESS_TOKEN_EXPIRES: field(lifetime, '15m'),
  JWT_REFRESH_TOKEN_EXPIRES: field(lifetime, '20d'),
  JWT_ACCESS_TOKEN_TYP: field(choice(['JWT', 'at+jwt']), 'JWT'),
  JWT_CLIENT_ID: field(text(), null),
  JWT_ENCODE_ISSUER: field(text(), null),
  JWT_DECODE_ISSUER: field(listOf(text()), null),
  JWT_ENCODE_AUDIENCE: field(listOf(text()), null),
  JWT_DECODE_AUDIENCE: field(listOf(text()), null),
  JWT_DECODE_LEEWAY: field(duration(), 0),
  JWT_REQUIRED_CLAIMS: field(listOf(text()), null),
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
  JWT_CSRF_METHODS: field(listOf(token), ['POST', 'PUT', 'PATCH', 'DELETE']),
  JWT_CSRF_CHECK_FORM: field(flag, false),
  JWT_CSRF_ORIGINS: field(listOf(origin), null),
  JWT_ACCESS_CSRF_COOKIE_NAME: field(token, 'csrf_access_token'),
  JWT_ACCESS_CSRF_COOKIE_PATH: field(path, '/'),
  JWT_ACCESS_CSRF_HEADER_NAME: field(token, 'X-CSRF-TOKEN'),
  JWT_ACCESS_CSRF_FIELD_NAME: field(text(), 'csrf_token'),
  JWT_QUERY_STRING_NAME: field(text(), 'token'),
  JWT_JSON_KEY: field(text(), 'access_token'),
  JWT_REFRESH_JSON_KEY: field(text(), 'refresh_token'),
  JWT_IDENTITY_CLAIM: field(text(), 'sub'),
  JWT_ERROR_MESSAGE_KEY: field(text(), 'message'),
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
