import { inspectAsJson } from '../encoding.js'
import { ConfigurationError } from '../errors.js'
import type { TokenLocation } from '../http/read-token.js'
import { type Kind, kindOf, unknownName } from '../options.js'
import { type Clock, type Duration, parseDuration, type Scheduler, systemScheduler } from '../time.js'
import type { BoundKey } from '../tokens/algorithms.js'
import { createEmptyRing, createKeyRing, type KeyRing } from '../tokens/key-ring.js'
import { createScheduledRing } from '../tokens/key-schedule.js'
import type { OwnKey } from '../tokens/own-key.js'
import type { TokenType } from '../tokens/payload.js'
import { CONFIG_NAMES, CONFIG_TABLE, isConfigName, timeout, type TokenConfigFields } from './config-table.js'

const HIDDEN = /(?:SECRET|PRIVATE|PUBLIC)_KEY$|PASSPHRASE$/

/** The fields of a `TokenConfig`; a missing or `undefined` field gets its default. */
export type TokenConfigOptions = {
  readonly [Name in keyof TokenConfigFields]?: TokenConfigFields[Name] | undefined
}

/** Every field of the table, under its own name. */
export interface TokenConfig extends TokenConfigFields {}

/**
 * The configuration of a `TokenManager`. You can set fields until you create a manager from it.
 *
 * @example new TokenConfig({ JWT_SECRET_KEY: process.env.JWT_SECRET_KEY, JWT_ACCESS_TOKEN_EXPIRES: '10m' })
 */
export class TokenConfig {
  constructor(options: TokenConfigOptions = {}) {
    for (const [name, value] of Object.entries(options)) {
      if (!isConfigName(name)) {
        throw new ConfigurationError(unknownName('configuration field', name, meantBy(name)))
      }
      if (value !== undefined) assertField(name, value)
    }
    for (const name of CONFIG_NAMES) {
      const value = options[name] ?? CONFIG_TABLE[name].default
      Object.assign(this, { [name]: Array.isArray(value) ? (value as unknown[]).slice() : value })
    }
    // A misspelled field is an error when it is assigned later, too.
    Object.seal(this)
  }

  /** A configuration from environment variables named like the fields; `options` take precedence. */
  static fromEnv(
    options: TokenConfigOptions = {},
    env: Readonly<Record<string, string | undefined>> = process.env,
  ): TokenConfig {
    const found = CONFIG_NAMES.flatMap((name) => {
      const text = env[name]
      return text === undefined ? [] : [[name, CONFIG_TABLE[name].kind.fromText(text)]]
    })
    const given = Object.entries(options).filter(([, value]) => value !== undefined)
    return new TokenConfig(Object.fromEntries([...found, ...given]) as TokenConfigOptions)
  }

  /** Whether tokens, or only tokens of one type, are looked for in a location. */
  hasLocation(location: TokenLocation, type?: TokenType): boolean {
    const access = this.JWT_TOKEN_LOCATION
    const refresh = this.JWT_REFRESH_TOKEN_LOCATION ?? access
    return (type === undefined ? [access, refresh] : [type === 'access' ? access : refresh])
      .flat()
      .includes(location)
  }

  /** Every field, secrets and private keys hidden. */
  toJSON(): Record<string, unknown> {
    return Object.fromEntries(
      CONFIG_NAMES.map((name) => [name, HIDDEN.test(name) && this[name] !== null ? '[hidden]' : this[name]]),
    )
  }
}
inspectAsJson(TokenConfig)

// AuthX has a CSRF cookie for each type of token. By its spelling alone, the nearest name would be another one.
function meantBy(name: string): readonly string[] {
  const shared = name.replace('_REFRESH_CSRF_', '_ACCESS_CSRF_')
  return isConfigName(shared) ? [shared] : CONFIG_NAMES
}

/** Throws `ConfigurationError` unless every field of a configuration is of its kind, however it was set. */
export function assertFields(config: TokenConfig): void {
  for (const name of CONFIG_NAMES) assertField(name, config[name])
}

/** Makes a configuration unchangeable, its lists included. */
export function freezeConfig(config: TokenConfig): void {
  // One configuration may serve several managers.
  if (Object.isFrozen(config)) return
  for (const name of CONFIG_NAMES) {
    const value: unknown = config[name]
    if (Array.isArray(value)) Object.assign(config, { [name]: Object.freeze(value.slice()) })
  }
  Object.freeze(config)
}

function assertField(name: keyof TokenConfigFields, value: unknown): void {
  const { default: standard, kind } = CONFIG_TABLE[name]
  const isValid = (value === null && standard === null) || kind.isValid(value)
  // Without the value, which may be a secret.
  if (!isValid) throw new ConfigurationError(`${name} must be ${kind.expected}`)
}

/** The kind of a `TokenConfig`. Recognised by its shape, because it may come from another copy of this package. */
export const tokenConfig: Kind<TokenConfig> = kindOf(
  'a TokenConfig',
  (value) => typeof (value as Partial<TokenConfig> | null)?.hasLocation === 'function',
)

/** Throws `ConfigurationError` unless a manager was given a configuration. */
export function assertConfig<Options extends { readonly config?: TokenConfig }>(
  options: Options | undefined,
): asserts options is Options {
  if (tokenConfig.isValid(options?.config)) return
  throw new ConfigurationError(
    'TokenManager needs a config: new TokenManager({ config: new TokenConfig({ … }) })',
  )
}

/** The options of a manager that concern its own keys. */
export interface KeyOptions {
  readonly keys?: readonly OwnKey[] | undefined
  readonly signTimeout?: Duration | undefined
  /** Which keys of a list are in use is checked at this moment. */
  readonly now?: Clock | undefined
  readonly scheduler?: Scheduler
}

/** The own keys of a manager. */
export interface ResolvedKeys {
  readonly keys: KeyRing
  /**
   * Replaces the keys at `now`, in epoch milliseconds, unless `assertKeys` throws; `null` if the configuration has the keys.
   */
  readonly setKeys:
    | ((list: readonly OwnKey[], now: number, assertKeys?: (keys: readonly BoundKey[]) => void) => void)
    | null
}

/** The keys of the configuration or of the option `keys`; empty if only issuers are configured. */
export function resolveKeys(config: TokenConfig, options: KeyOptions, hasIssuers: boolean): ResolvedKeys {
  const { keys: list, signTimeout = '5s', now, scheduler = systemScheduler } = options
  const configured = KEY_FIELDS.find((name) => config[name] !== null)
  if (list === undefined) {
    if (options.signTimeout !== undefined) throw new ConfigurationError('signTimeout needs the option keys')
    const isEmpty = hasIssuers && configured === undefined
    return { keys: isEmpty ? createEmptyRing() : createKeyRing(config), setKeys: null }
  }
  const conflict = configured ?? (config.JWT_DECODE_ALGORITHMS === null ? undefined : 'JWT_DECODE_ALGORITHMS')
  if (conflict !== undefined) throw new ConfigurationError(`Set ${conflict} or the option keys, not both`)
  if (!timeout.isValid(signTimeout)) throw new ConfigurationError(`signTimeout must be ${timeout.expected}`)
  const rules = {
    allowWeakSecret: config.JWT_ALLOW_WEAK_SECRET,
    signTimeoutMs: parseDuration(signTimeout) * 1000,
    scheduler,
    longestLifetimeMs: readLongestLifetime(config),
  }
  const ring = createScheduledRing(list, rules, now?.() ?? 0)
  return { keys: ring, setKeys: (next, at, assertKeys) => ring.replace(next, at, assertKeys) }
}

const KEY_FIELDS = [
  'JWT_SECRET_KEY',
  'JWT_PREVIOUS_SECRET_KEY',
  'JWT_PRIVATE_KEY',
  'JWT_PRIVATE_KEY_PASSPHRASE',
  'JWT_PUBLIC_KEY',
  'JWT_PREVIOUS_PUBLIC_KEY',
] as const

// In milliseconds, with the leeway that an expired token is still accepted for.
function readLongestLifetime(config: TokenConfig): number {
  const lifetimes = [config.JWT_ACCESS_TOKEN_EXPIRES, config.JWT_REFRESH_TOKEN_EXPIRES].map((lifetime) =>
    lifetime === false ? Number.POSITIVE_INFINITY : parseDuration(lifetime),
  )
  return (Math.max(...lifetimes) + parseDuration(config.JWT_DECODE_LEEWAY)) * 1000
}
