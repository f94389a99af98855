import { ConfigurationError, type Duration } from 'tokenlib'
import {
  anyText,
  callable,
  count,
  duration,
  flag,
  IS_WORKERD,
  type Jwk,
  type Kind,
  kindOf,
  type OptionKinds,
  parseDuration,
  parseOptions,
  recordOf,
  type SourceContext,
  type SourceKeys,
  unchecked,
} from 'tokenlib/kit'
import { type FetchRules, type KeyFetch, parseKeyUrl } from './fetch-json.js'
import { createFunctionKeys, type KeyFunction } from './function-keys.js'
import { bindKeySet, createFixedKeys, noUsableKey, selectIssuerKeys } from './jwk-set.js'
import type { KeyOwner, KeyTiming } from './key-cache.js'
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

const headers: Kind<Readonly<Record<string, string>>> = kindOf(
  'an object of strings that HTTP allows as headers',
  (value) => recordOf(anyText).isValid(value) && readHeaders(value) !== null,
)

/** What the options of fetched keys accept. */
export const REMOTE_OPTIONS: OptionKinds<RemoteKeysOptions> = {
  timeout: between(0.001, 60),
  maxAge: between(1, 7 * 86_400),
  maxStale: between(0, 30 * 86_400),
  cooldown: between(1, 86_400),
  maxBytes: count(1, 2 ** 24),
  maxKeys: count(1, 10_000),
  maxRedirects: count(0, 10),
  allowPrivateNetwork: flag,
  headers,
  fetch: callable(),
}
// The URL is checked with `allowPrivateNetwork`.
const JWKS_OPTIONS: OptionKinds<JwksUriSource> = { ...REMOTE_OPTIONS, jwksUri: unchecked() }
const DISCOVERY_OPTIONS: OptionKinds<DiscoverySource> = { ...REMOTE_OPTIONS, discovery: unchecked() }
const STATIC_OPTIONS: OptionKinds<StaticSource> = {
  keys: kindOf('a list of JWKs', (value) => Array.isArray(value)),
}

function between(minimum: number, maximum: number): Kind<Duration> {
  return duration(
    `a duration between ${minimum} and ${maximum} seconds`,
    (seconds) => seconds >= minimum && seconds <= maximum,
  )
}

/** Creates the keys of an issuer for one manager. Nothing is requested before a key is needed. */
export type CreateKeys = (
  manager: Pick<SourceContext, 'emit' | 'scheduler'>,
  isWorkerd?: boolean,
) => SourceKeys

/**
 * The keys of an issuer from their source; `undefined` means discovery at the issuer.
 *
 * Throws `TypeError` or `ConfigurationError` for a source that is invalid.
 */
export function parseKeySource(source: KeySource | undefined, context: KeyOwner): CreateKeys {
  const owner = `the keys of issuer ${JSON.stringify(context.issuer)}`
  if (typeof source === 'function') {
    const timing = toTiming({})
    return ({ emit, scheduler }, isWorkerd = IS_WORKERD) =>
      createFunctionKeys(source, { ...context, timing, emit, runtime: { scheduler, isWorkerd } })
  }
  const given = source === undefined ? { discovery: toDiscoveryUrl(owner, context.issuer) } : source
  if (
    typeof given !== 'object' ||
    given === null ||
    Array.isArray(given) ||
    !('keys' in given || 'jwksUri' in given || 'discovery' in given)
  ) {
    throw new TypeError(
      `${owner} must be { keys: [jwk] }, { jwksUri: url }, { discovery: url } or a function`,
    )
  }
  const parse = <Options extends object>(options: Options, kinds: OptionKinds<Options>): Options =>
    parseOptions(owner, options, kinds, {}, (problem) => new TypeError(`${owner}: ${problem}`))
  if ('keys' in given) {
    const keys = createStaticKeys(owner, parse(given, STATIC_OPTIONS).keys, context)
    return () => keys
  }
  const options = 'jwksUri' in given ? parse(given, JWKS_OPTIONS) : parse(given, DISCOVERY_OPTIONS)
  const timing = toTiming(options)
  const remote = toRemote(owner, options, timing)
  return ({ emit, scheduler }, isWorkerd = IS_WORKERD) =>
    createRemoteKeys(remote, { ...context, timing, emit, runtime: { scheduler, isWorkerd } })
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

function createStaticKeys(owner: string, entries: readonly Jwk[], { algorithms }: KeyOwner): SourceKeys {
  const set = bindKeySet(entries, { algorithms })
  // Keys for encryption are often part of a published set; every other refusal is a mistake in the configuration.
  const mistake = set.refused.find(({ isForOtherUse }) => !isForOtherUse)
  if (mistake !== undefined) {
    throw new ConfigurationError(`${owner}: key ${JSON.stringify(mistake.kid)}: ${mistake.reason}`)
  }
  if (set.keys.length === 0) throw new ConfigurationError(`${owner}: ${noUsableKey(set).message}`)
  return createFixedKeys(set.keys, selectIssuerKeys)
}

function toRemote(
  owner: string,
  options: JwksUriSource | DiscoverySource,
  { timeoutMs }: KeyTiming,
): RemoteSource {
  const { maxBytes = 256 * 1024, maxKeys = 100, maxRedirects = 0, allowPrivateNetwork = false } = options
  const rules: FetchRules = {
    timeoutMs,
    maxBytes,
    maxRedirects,
    allowPrivateNetwork,
    headers: readHeaders(options.headers ?? {}) ?? {},
    fetch: options.fetch ?? null,
  }
  const isJwksUri = 'jwksUri' in options
  const kind = isJwksUri ? 'jwksUri' : 'discovery'
  const url = isJwksUri ? options.jwksUri : options.discovery
  try {
    return { kind, url: parseKeyUrl(url, allowPrivateNetwork).href, rules, maxKeys }
  } catch (error) {
    throw new ConfigurationError(`${owner}: ${kind}: ${(error as Error).message}`)
  }
}

function toTiming(options: RemoteKeysOptions): KeyTiming {
  const { timeout = '5s', maxAge = '10m', maxStale = '24h', cooldown = '30s' } = options
  return {
    timeoutMs: parseDuration(timeout) * 1000,
    maxAgeMs: parseDuration(maxAge) * 1000,
    maxStaleMs: parseDuration(maxStale) * 1000,
    cooldownMs: parseDuration(cooldown) * 1000,
  }
}

// In lower case, so that a given header replaces ours instead of being sent with it. `null` for invalid headers.
function readHeaders(given: unknown): Readonly<Record<string, string>> | null {
  try {
    return Object.freeze(Object.fromEntries(new Headers(given as Record<string, string>)))
  } catch {
    return null
  }
}
