import { TokenConfig } from 'tokenlib'
import { isConfigurationError } from 'tokenlib/errors'
import {
  type BoundKey,
  CONFIG_NAMES,
  DEFAULT_MAX_TOKEN_LENGTH,
  KEY_FIELDS,
  parseDuration,
  resolveKeys,
} from 'tokenlib/kit'

/** What a token is compared with. */
export interface InspectRules {
  readonly state: 'none' | 'used' | 'without keys' | 'invalid'
  /** What is wrong with an `invalid` configuration; otherwise `null`. */
  readonly problem: string | null
  readonly maxLength: number
  readonly identityClaim: string
  readonly leeway: number
  readonly maxAge: number | null
  readonly issuers: readonly string[]
  readonly audience: readonly string[]
  readonly requiredClaims: readonly string[]
  /** `null` where no keys are configured. */
  readonly keys: readonly BoundKey[] | null
}

const DEFAULTS: InspectRules = {
  state: 'none',
  problem: null,
  maxLength: DEFAULT_MAX_TOKEN_LENGTH,
  identityClaim: 'sub',
  leeway: 0,
  maxAge: null,
  issuers: [],
  audience: [],
  requiredClaims: [],
  keys: null,
}

/** The rules of the configuration in the environment, or the defaults where there is none or an invalid one. */
export function readInspectRules(env: Readonly<Record<string, string | undefined>>): InspectRules {
  if (CONFIG_NAMES.every((name) => env[name] === undefined)) return DEFAULTS
  try {
    return toRules(TokenConfig.fromEnv({}, env))
  } catch (error) {
    if (!isConfigurationError(error)) throw error
    return { ...DEFAULTS, state: 'invalid', problem: error.message }
  }
}

function toRules(config: TokenConfig): InspectRules {
  const hasKeys = KEY_FIELDS.some((name) => config[name] !== null)
  const { JWT_MAX_TOKEN_AGE: maxAge } = config
  return {
    state: hasKeys ? 'used' : 'without keys',
    problem: null,
    maxLength: config.JWT_MAX_TOKEN_LENGTH,
    identityClaim: config.JWT_IDENTITY_CLAIM,
    leeway: parseDuration(config.JWT_DECODE_LEEWAY),
    maxAge: maxAge === null ? null : parseDuration(maxAge),
    issuers: toList(config.JWT_DECODE_ISSUER),
    audience: toList(config.JWT_DECODE_AUDIENCE),
    requiredClaims: toList(config.JWT_REQUIRED_CLAIMS),
    keys: hasKeys ? resolveKeys(config, {}, false).keys.verifying : null,
  }
}

function toList(value: string | readonly string[] | null): readonly string[] {
  return [value ?? []].flat()
}
