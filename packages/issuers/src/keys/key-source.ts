import { ConfigurationError, type Duration } from 'tokenlib'
import type { Jwk } from 'tokenlib/kit'
import {
  assertOptions,
  IS_WORKERD,
  isJsonObject,
  monotonicNow,
  type OptionNames,
  parseDuration,
  type SourceKeys,
  type TokenEmitter,
} from 'tokenlib/kit'
import { type FetchRules, type KeyFetch, parseKeyUrl } from './fetch-json.js'
import { createFunctionKeys, type KeyFunction } from './function-keys.js'
import { bindKeySet, listIds, noUsableKey, selectIssuerKeys } from './jwk-set.js'
import type { KeyOwner, KeyParts, KeyRuntime, KeyTiming } from './key-cache.js'
import { createRemoteKeys, type RemoteSource } from './remote-keys.js'

export type { KeyFetch, KeyRequest } from './fetch-json.js'
export type { KeyAnswer, KeyFunction } from './function-keys.js'

/** How keys are fetched, and for how long they are used. */
export interface RemoteKeysOptions {
  /** How long a load may take, with every request and body of it; `'5s'` by default. */
  readonly timeout?: Duration | undefined
  /** How old keys may be before they are loaded again, in the background; `'10m'` by default. */
  readonly maxAge?: Duration | undefined
  /** How much older they may become if that fails, after which tokens are refused; `'24h'` by default. */
  readonly maxStale?: Duration | undefined
  /** The shortest time between two loads for unknown keys; `'30s'` by default. */
  readonly cooldown?: Duration | undefined
  /** The largest answer in bytes, after decompression; 256 KiB by default. */
  readonly maxBytes?: number | undefined
  /** The most keys in a set; 100 by default. */
  readonly maxKeys?: number | undefined
  /** How many redirects are followed; none by default. */
  readonly maxRedirects?: number | undefined
  /** Also fetch from private addresses, and from those over `http:`. */
  readonly allowPrivateNetwork?: boolean | undefined
  /** Headers of every request to the origin of the URL. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Sends the requests, in place of the global `fetch`: for a proxy, or a certificate authority of your own. */
  readonly fetch?: KeyFetch | undefined
}

/** The URL of a JWK set. */
export interface JwksUriSource extends RemoteKeysOptions {
  readonly jwksUri: string
}

/** The URL of a discovery document, which has the URL of the JWK set. */
export interface DiscoverySource extends RemoteKeysOptions {
  readonly discovery: string
}

/** Keys that do not change. */
export interface StaticSource {
  readonly keys: readonly Jwk[]
}

/** Where the keys of an issuer come from. */
export type KeySource = JwksUriSource | DiscoverySource | StaticSource | KeyFunction

/** The names of the options of fetched keys. */
export const REMOTE_OPTIONS: OptionNames<RemoteKeysOptions> = {
  timeout: true,
  maxAge: true,
  maxStale: true,
  cooldown: true,
  maxBytes: true,
  maxKeys: true,
  maxRedirects: true,
  allowPrivateNetwork: true,
  headers: true,
  fetch: true,
}
const JWKS_OPTIONS: OptionNames<JwksUriSource> = { ...REMOTE_OPTIONS, jwksUri: true }
const DISCOVERY_OPTIONS: OptionNames<DiscoverySource> = { ...REMOTE_OPTIONS, discovery: true }
const STATIC_OPTIONS: OptionNames<StaticSource> = { keys: true }

/** Creates the keys of an issuer for one manager. Nothing is requested before a key is needed. */
export type CreateKeys = (emit: TokenEmitter['emit'], runtime?: KeyRuntime) => SourceKeys

const RUNTIME: KeyRuntime = { now: monotonicNow, isWorkerd: IS_WORKERD }

/**
 * The keys of an issuer from their source; `undefined` means discovery at the issuer.
 *
 * Throws `TypeError` or `ConfigurationError` for a source that is invalid.
 */
export function parseKeySource(source: KeySource | undefined, context: KeyOwner): CreateKeys {
  const owner = `the keys of issuer ${JSON.stringify(context.issuer)}`
  if (typeof source === 'function') {
    const timing = parseTiming(owner, {})
    return (emit, runtime = RUNTIME) => createFunctionKeys(source, { ...context, timing, emit, runtime })
  }
  const given = source === undefined ? { discovery: toDiscoveryUrl(owner, context.issuer) } : source
  if (!isJsonObject(given) || !('keys' in given || 'jwksUri' in given || 'discovery' in given)) {
    throw new TypeError(`${owner} must be an object with jwksUri, discovery or keys, or a function`)
  }
  if ('keys' in given) {
    assertOptions(owner, given, STATIC_OPTIONS)
    const keys = createStaticKeys(owner, given.keys, context)
    return () => keys
  }
  const isJwksUri = 'jwksUri' in given
  assertOptions(owner, given, isJwksUri ? JWKS_OPTIONS : DISCOVERY_OPTIONS)
  const [kind, url] = isJwksUri
    ? (['jwksUri', given.jwksUri] as const)
    : (['discovery', given.discovery] as const)
  const { timing, ...remote } = parseRemote(owner, kind, url, given)
  return (emit, runtime = RUNTIME) => createRemoteKeys(remote, { ...context, timing, emit, runtime })
}

// OpenID Connect Discovery §4.1: a slash at the end of the issuer is removed first.
function toDiscoveryUrl(owner: string, issuer: string): string {
  if (!/^https:\/\/[^?#]+$/.test(issuer)) {
    throw new ConfigurationError(
      `${owner} must be given (jwksUri, discovery, keys or a function): the issuer is not an https URL`,
    )
  }
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

function createStaticKeys(owner: string, entries: unknown, { algorithms }: KeyOwner): SourceKeys {
  if (!Array.isArray(entries)) throw new TypeError(`${owner}: keys must be a list of JWKs`)
  const set = bindKeySet(entries as readonly unknown[], { algorithms })
  // Keys for encryption are often part of a published set; every other refusal is a mistake in the configuration.
  const mistake = set.refused.find(({ isForOtherUse }) => !isForOtherUse)
  if (mistake !== undefined) {
    throw new ConfigurationError(`${owner}: key ${JSON.stringify(mistake.kid)}: ${mistake.reason}`)
  }
  if (set.keys.length === 0) throw new ConfigurationError(`${owner}: ${noUsableKey(set).message}`)
  const trusted = new Set(set.keys)
  return {
    find: (header) => selectIssuerKeys(set.keys, header),
    isTrusted: (key) => trusted.has(key),
    idsOf: (kid) => listIds(set.keys, kid),
    loader: null,
  }
}

function parseRemote(
  owner: string,
  kind: RemoteSource['kind'],
  url: unknown,
  options: RemoteKeysOptions,
): RemoteSource & Pick<KeyParts, 'timing'> {
  const timing = parseTiming(owner, options)
  const rules: FetchRules = {
    timeoutMs: timing.timeoutMs,
    maxBytes: parseCount(owner, 'maxBytes', options.maxBytes ?? 256 * 1024, 1, 2 ** 24),
    maxRedirects: parseCount(owner, 'maxRedirects', options.maxRedirects ?? 0, 0, 10),
    allowPrivateNetwork: parseSwitch(owner, options.allowPrivateNetwork ?? false),
    headers: parseHeaders(owner, options.headers ?? {}),
    fetch: options.fetch ?? null,
  }
  if (rules.fetch !== null && typeof rules.fetch !== 'function') {
    throw new TypeError(`${owner}: fetch must be a function`)
  }
  const maxKeys = parseCount(owner, 'maxKeys', options.maxKeys ?? 100, 1, 10_000)
  try {
    return { kind, url: parseKeyUrl(url, rules.allowPrivateNetwork).href, timing, rules, maxKeys }
  } catch (error) {
    throw new ConfigurationError(`${owner}: ${kind}: ${(error as Error).message}`)
  }
}

const DAY_MS = 86_400_000

function parseTiming(owner: string, options: RemoteKeysOptions): KeyTiming {
  const { timeout = '5s', maxAge = '10m', maxStale = '24h', cooldown = '30s' } = options
  return {
    timeoutMs: parseTime(owner, 'timeout', timeout, 1, 60_000),
    maxAgeMs: parseTime(owner, 'maxAge', maxAge, 1000, 7 * DAY_MS),
    maxStaleMs: parseTime(owner, 'maxStale', maxStale, 0, 30 * DAY_MS),
    cooldownMs: parseTime(owner, 'cooldown', cooldown, 1000, DAY_MS),
  }
}

function parseTime(owner: string, name: string, value: Duration, min: number, max: number): number {
  let milliseconds: number
  try {
    milliseconds = parseDuration(value) * 1000
  } catch (error) {
    throw new TypeError(`${owner}: ${name}: ${(error as Error).message}`, { cause: error })
  }
  if (milliseconds >= min && milliseconds <= max) return milliseconds
  throw new RangeError(`${owner}: ${name} must be between ${min / 1000} and ${max / 1000} seconds`)
}

function parseCount(owner: string, name: string, value: unknown, min: number, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
  throw new TypeError(`${owner}: ${name} must be a whole number from ${min} to ${max}`)
}

function parseSwitch(owner: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw new TypeError(`${owner}: allowPrivateNetwork must be true or false`)
}

function parseHeaders(owner: string, headers: unknown): Readonly<Record<string, string>> {
  const isPlain = typeof headers === 'object' && headers !== null && !Array.isArray(headers)
  const entries = isPlain && !(headers instanceof Headers) ? Object.entries(headers) : null
  if (entries === null || entries.some(([, value]) => typeof value !== 'string')) {
    throw new TypeError(`${owner}: headers must be an object of strings`)
  }
  try {
    // Lower case: one that replaces ours must not be added to it. Without the cause, which quotes the value.
    return Object.freeze(
      Object.fromEntries(new Headers(Object.fromEntries(entries) as Record<string, string>)),
    )
  } catch {
    throw new TypeError(`${owner}: headers has a name or a value that HTTP does not allow`)
  }
}
