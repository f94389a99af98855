import { TokenConfig, type TokenConfigOptions, TokenManager } from 'tokenlib'
import { isConfigurationError } from 'tokenlib/errors'
import { internalsOf, type ManagerInspection, parseDuration } from 'tokenlib/kit'

/** An environment, as `process.env` has it. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The name of a configuration field. */
export type FieldName = keyof TokenConfig & `JWT_${string}`

/** The names of all configuration fields. */
export const CONFIG_NAMES = Object.keys(new TokenConfig()) as readonly FieldName[]

/** The fields that hold keys. */
export const KEY_FIELDS: readonly FieldName[] = [
  'JWT_SECRET_KEY',
  'JWT_PREVIOUS_SECRET_KEY',
  'JWT_PRIVATE_KEY',
  'JWT_PUBLIC_KEY',
  'JWT_PREVIOUS_PUBLIC_KEY',
]

// How the keys are imported.
const KEY_RULES: readonly FieldName[] = [
  'JWT_ALGORITHM',
  'JWT_DECODE_ALGORITHMS',
  'JWT_PRIVATE_KEY_PASSPHRASE',
  'JWT_ALLOW_WEAK_SECRET',
]

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
  /** `null` if no keys are configured. */
  readonly keys: ManagerInspection['keys'] | null
}

/** The rules of the configuration in the environment, or the defaults if it is missing or invalid. */
export function readInspectRules(env: Environment): InspectRules {
  const isSet = CONFIG_NAMES.some((name) => env[name] !== undefined)
  try {
    const rules = toRules(TokenConfig.fromEnv({}, env))
    return isSet ? rules : { ...rules, state: 'none' }
  } catch (error) {
    if (!isConfigurationError(error)) throw error
    return { ...toRules(new TokenConfig()), state: 'invalid', problem: error.message }
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
    keys: hasKeys ? readKeys(config) : null,
  }
}

// Ignores the other fields: the application may complete them in code, and the keys are enough to compare a token.
function readKeys(config: TokenConfig): ManagerInspection['keys'] {
  const fields = [...KEY_FIELDS, ...KEY_RULES].map((name) => [name, config[name]])
  const keysOnly = new TokenConfig(Object.fromEntries(fields) as TokenConfigOptions)
  return internalsOf(new TokenManager({ config: keysOnly })).inspect().keys
}

function toList(value: string | readonly string[] | null): readonly string[] {
  return [value ?? []].flat()
}
