import type { CreationRules } from '../tokens/create.js'
import { RESERVED_CLAIMS } from '../tokens/payload.js'
import type { ClaimsSchema } from '../tokens/extra-claims.js'
import { ConfigurationError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import { createOwnSource } from '../tokens/token-source.js'
import type { TrustedIssuer } from '../tokens/token-source.js'
import {
  connectSources,
  createCanonicalizer,
  type Issuers,
  type TokenSources,
} from '../tokens/token-sources.js'
import type { PerType, ReadingRules } from '../http/read-token.js'
import { addDuration, FOREVER } from '../revocation/revocation.js'
import type { ConnectionRules } from '../revocation/connect-store.js'
import { type Duration, parseDuration, systemScheduler } from '../time.js'
import { assertFields, freezeConfig, type TokenConfig } from './config.js'
import { type KeyOptions, type ResolvedKeys, resolveKeys } from './config.js'

/** A configuration made ready for use: durations in numbers, keys imported, each layer's rules in one object. */
export interface Settings extends ResolvedKeys {
  readonly creation: PerType<CreationRules>
  readonly sources: TokenSources
  readonly reading: ReadingRules
  readonly schema: ClaimsSchema | null
  readonly identityClaim: string
  readonly maxTokenLength: number
  readonly store: Omit<
    ConnectionRules,
    'now' | 'scheduler' | 'random' | 'clients' | 'emit' | 'observers' | 'dataSchema'
  >
  /** How long after a refresh its tokens may be sent, in milliseconds. */
  readonly sendWithinMs: number
  readonly verifiedCacheSize: number
}

/** The options of a manager that its settings depend on, besides `config`. */
export interface SettingsInput extends KeyOptions {
  readonly schema: ClaimsSchema | null
  readonly issuers: readonly TrustedIssuer[]
  readonly emit: TokenEmitter['emit']
  /** Whether tokens with the scheme `DPoP` are read. */
  readonly acceptsDpop?: boolean
}

/** The settings a configuration stands for, or `ConfigurationError`; the configuration is frozen. */
export function resolveSettings(
  config: TokenConfig,
  { schema, issuers: list, emit, acceptsDpop = false, ...keyOptions }: SettingsInput,
): Settings {
  assertFields(config)
  assertCookies(config)
  assertNames(config)
  assertTyp(config)
  const leeway = parseDuration(config.JWT_DECODE_LEEWAY)
  const { keys, setKeys } = resolveKeys(config, keyOptions, Array.isArray(list) && list.length > 0)
  if (keys.verifying.length === 0) assertNoOwnRules(config)
  const { JWT_IDENTITY_CLAIM: identityClaim } = config
  const own = createOwnSource({
    keys,
    rules: {
      leeway,
      issuers: toList(config.JWT_DECODE_ISSUER ?? []),
      audience: toList(config.JWT_DECODE_AUDIENCE ?? []),
      requiredClaims: toList(config.JWT_REQUIRED_CLAIMS ?? []),
      maxAge: config.JWT_MAX_TOKEN_AGE === null ? null : parseDuration(config.JWT_MAX_TOKEN_AGE),
    },
    names: toList(config.JWT_DECODE_ISSUER ?? []).concat(config.JWT_ENCODE_ISSUER ?? []),
    identityClaim,
  })
  const { scheduler = systemScheduler } = keyOptions
  const context = { emit, leeway, identityClaim, now: () => keyOptions.now?.() ?? 0, scheduler }
  const sources = connectSources(own, keys.verifying, list, context)
  const store = resolveStore(config, sources.issuers)
  const settings: Settings = {
    keys,
    setKeys: setKeys && ((next, at) => setKeys(next, at, (added) => sources.assertOwnKeys(added))),
    sources,
    creation: perType((type) => resolveCreation(config, type, schema)),
    reading: resolveReading(config, sources, acceptsDpop),
    schema,
    identityClaim,
    maxTokenLength: config.JWT_MAX_TOKEN_LENGTH,
    store,
    // Two round trips have to fit into the grace or, without one, between two refreshes at expiry.
    sendWithinMs: (store.graceMs || toMilliseconds(config.JWT_ACCESS_TOKEN_EXPIRES)) / 4,
    verifiedCacheSize: config.JWT_VERIFIED_CACHE_SIZE,
  }
  freezeConfig(config)
  return settings
}

// Without own keys, such a rule was probably meant for the tokens of the issuers, which ignore it.
function assertNoOwnRules(config: TokenConfig): void {
  const name = OWN_RULES.find((field) => config[field] !== null)
  if (name === undefined) return
  throw new ConfigurationError(
    `${name} concerns tokens of this manager's own keys, and it has none: use the options of the issuers`,
  )
}

const OWN_RULES = [
  'JWT_DECODE_ISSUER',
  'JWT_DECODE_AUDIENCE',
  'JWT_REQUIRED_CLAIMS',
  'JWT_MAX_TOKEN_AGE',
] as const

function resolveCreation(
  config: TokenConfig,
  type: 'ACCESS' | 'REFRESH',
  schema: ClaimsSchema | null,
): CreationRules {
  const audience: string | readonly string[] | null = config.JWT_ENCODE_AUDIENCE
  return {
    identityClaim: config.JWT_IDENTITY_CLAIM,
    expires: parseLifetime(config[`JWT_${type}_TOKEN_EXPIRES`]),
    issuer: config.JWT_ENCODE_ISSUER,
    audience: Array.isArray(audience) ? toList(audience) : audience,
    encodeNbf: config.JWT_ENCODE_NBF,
    csrf: config.JWT_COOKIE_CSRF_PROTECT && config.hasLocation('cookies'),
    schema,
    requiredClaims: toList(config.JWT_REQUIRED_CLAIMS ?? []),
    // A refresh token must not pass for an access token at a resource server.
    typ: type === 'ACCESS' ? config.JWT_ACCESS_TOKEN_TYP : 'JWT',
    clientId: config.JWT_CLIENT_ID,
  }
}

// Another process on the same store may allow more leeway than this one.
const MIN_RETENTION_MS = 300_000

function resolveStore(config: TokenConfig, issuers: Issuers): Settings['store'] {
  const others = [...issuers.values()]
  const leeways = others.map(({ rules }) => rules.leeway * 1000)
  const retentionMs = Math.max(toMilliseconds(config.JWT_DECODE_LEEWAY), MIN_RETENTION_MS, ...leeways)
  const lifetimes = [config.JWT_ACCESS_TOKEN_EXPIRES, config.JWT_REFRESH_TOKEN_EXPIRES]
    .map(toMilliseconds)
    .concat(others.map(({ longestLifetime }) => longestLifetime))
  const idleMs = toMilliseconds(config.JWT_REFRESH_IDLE_EXPIRES)
  return {
    timeoutMs: toMilliseconds(config.JWT_REVOCATION_TIMEOUT),
    longestLifetime: addDuration(Math.max(...lifetimes), retentionMs),
    retentionMs,
    graceMs: toGraceMs(config),
    idleMs,
  }
}

/** The grace in milliseconds: `JWT_REFRESH_GRACE`, or less if lifetimes are short. */
export function toGraceMs(config: TokenConfig): number {
  return Math.min(
    toMilliseconds(config.JWT_REFRESH_GRACE),
    // With a longer grace, a client that refreshes at expiry would never advance, or its session would end as idle.
    toMilliseconds(config.JWT_ACCESS_TOKEN_EXPIRES),
    toMilliseconds(config.JWT_REFRESH_IDLE_EXPIRES) / 2,
  )
}

function toMilliseconds(duration: Duration | false): number {
  return duration === false ? FOREVER : parseDuration(duration) * 1000
}

function resolveReading(config: TokenConfig, sources: TokenSources, acceptsDpop: boolean): ReadingRules {
  const access = toList(config.JWT_TOKEN_LOCATION)
  return {
    locations: { access, refresh: toList(config.JWT_REFRESH_TOKEN_LOCATION ?? access) },
    headerName: config.JWT_HEADER_NAME,
    headerKey: config.JWT_HEADER_NAME.toLowerCase(),
    headerType: config.JWT_HEADER_TYPE,
    acceptsDpop,
    cookieName: perType((type) => config[`JWT_${type}_COOKIE_NAME`]),
    jsonKey: { access: config.JWT_JSON_KEY, refresh: config.JWT_REFRESH_JSON_KEY },
    queryName: config.JWT_QUERY_STRING_NAME,
    maxLength: config.JWT_MAX_TOKEN_LENGTH + MAX_LENGTH_BESIDE_TOKEN,
    toCanonical: createCanonicalizer(sources, config.JWT_MAX_TOKEN_LENGTH),
    csrf: {
      protect: config.JWT_COOKIE_CSRF_PROTECT,
      methods: new Set(toList(config.JWT_CSRF_METHODS).map((method) => method.toUpperCase())),
      headerName: config.JWT_ACCESS_CSRF_HEADER_NAME,
      fieldName: config.JWT_ACCESS_CSRF_FIELD_NAME,
      checkForm: config.JWT_CSRF_CHECK_FORM,
      origins: toList(config.JWT_CSRF_ORIGINS ?? []),
    },
  }
}

// Space for everything else in the same header or URL: other cookies, other parameters. Four times what Node
// servers let through.
const MAX_LENGTH_BESIDE_TOKEN = 65_536

// What a browser would drop without a word is an error here.
function assertCookies(config: TokenConfig): void {
  const names = new Set(COOKIES.map((cookie) => config[`JWT_${cookie}_COOKIE_NAME`]))
  if (names.size < COOKIES.length) throw new ConfigurationError('Two cookies have the same name')
  if (config.JWT_COOKIE_SAMESITE === 'none' && !config.JWT_COOKIE_SECURE) {
    throw new ConfigurationError("JWT_COOKIE_SAMESITE 'none' needs JWT_COOKIE_SECURE")
  }
  if (config.JWT_CSRF_ORIGINS !== null && !config.JWT_COOKIE_CSRF_PROTECT) {
    throw new ConfigurationError('JWT_CSRF_ORIGINS needs JWT_COOKIE_CSRF_PROTECT')
  }
  if (config.JWT_COOKIE_MAX_AGE !== null && config.JWT_SESSION_COOKIE) {
    throw new ConfigurationError(
      'JWT_COOKIE_MAX_AGE needs JWT_SESSION_COOKIE: false; a session cookie has no age',
    )
  }
  for (const cookie of COOKIES) {
    assertPrefix(config, config[`JWT_${cookie}_COOKIE_NAME`], config[`JWT_${cookie}_COOKIE_PATH`])
  }
}

const COOKIES = ['ACCESS', 'REFRESH', 'ACCESS_CSRF'] as const

// RFC 6265bis §4.1.3: what the prefixes of a cookie name promise.
function assertPrefix(config: TokenConfig, name: string, path: string): void {
  const prefix = name.toLowerCase()
  if (prefix.startsWith('__secure-') && !config.JWT_COOKIE_SECURE) {
    throw new ConfigurationError(`The cookie ${name} needs JWT_COOKIE_SECURE`)
  }
  const isHostOnly = config.JWT_COOKIE_SECURE && config.JWT_COOKIE_DOMAIN === null && path === '/'
  if (prefix.startsWith('__host-') && !isHostOnly) {
    throw new ConfigurationError(
      `The cookie ${name} needs JWT_COOKIE_SECURE, the path / and no JWT_COOKIE_DOMAIN`,
    )
  }
}

function assertNames(config: TokenConfig): void {
  const { JWT_IDENTITY_CLAIM: identity, JWT_ERROR_MESSAGE_KEY: message } = config
  if (identity !== 'sub' && RESERVED_CLAIMS.has(identity)) {
    throw new ConfigurationError(`JWT_IDENTITY_CLAIM cannot be the standard claim ${identity}`)
  }
  if (message === 'error_type' || message === 'code') {
    throw new ConfigurationError(`JWT_ERROR_MESSAGE_KEY cannot be ${message}, which has a meaning of its own`)
  }
}

// Fail when the manager is built, not at the first login.
function assertTyp(config: TokenConfig): void {
  if (config.JWT_ACCESS_TOKEN_TYP === 'JWT') {
    if (config.JWT_CLIENT_ID === null) return
    throw new ConfigurationError("JWT_CLIENT_ID needs JWT_ACCESS_TOKEN_TYP: 'at+jwt'")
  }
  const needed =
    (config.JWT_ENCODE_ISSUER === null && 'JWT_ENCODE_ISSUER') ||
    (config.JWT_ENCODE_AUDIENCE === null && 'JWT_ENCODE_AUDIENCE') ||
    (config.JWT_ACCESS_TOKEN_EXPIRES === false && 'JWT_ACCESS_TOKEN_EXPIRES') ||
    (config.JWT_IDENTITY_CLAIM !== 'sub' && "JWT_IDENTITY_CLAIM: 'sub'")
  if (needed === false) return
  throw new ConfigurationError(`JWT_ACCESS_TOKEN_TYP 'at+jwt' needs ${needed} (RFC 9068 section 2.2)`)
}

function parseLifetime(lifetime: Duration | false): number | false {
  return lifetime !== false && parseDuration(lifetime)
}

// What two fields say, one for each type.
function perType<Value>(read: (type: 'ACCESS' | 'REFRESH') => Value): PerType<Value> {
  return { access: read('ACCESS'), refresh: read('REFRESH') }
}

// Always a copy: the application may still hold, and change, the list it configured.
function toList<Value>(value: Value | readonly Value[]): readonly Value[] {
  return [value].flat() as Value[]
}
