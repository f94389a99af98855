import { randomBytes } from 'node:crypto'
import { TokenConfig, TokenManager } from 'tokenlib'
import { isConfigurationError } from 'tokenlib/errors'
import {
  type Algorithm,
  importSecret,
  isHmac,
  type ManagerInspection,
  parseJwkText,
  unknownName,
} from 'tokenlib/kit'
import { CONFIG_NAMES, type Environment, type FieldName, KEY_FIELDS } from '../configuration.js'

/** What `doctor` knows about a configuration. */
export interface ConfigurationFacts {
  /** Where it is from: the variables, or the manager of the application. */
  readonly source: 'environment' | 'application'
  /** Of the variables that have a valid value. */
  readonly config: TokenConfig
  /** What is wrong with single variables. */
  readonly fieldErrors: readonly string[]
  /** Why a manager cannot be built from the variables that are valid by themselves. */
  readonly ruleErrors: readonly string[]
  /** For each variable with an unknown name, a sentence with the nearest known one. */
  readonly unknownNames: readonly string[]
  /** Whether a variable has a key. */
  readonly hasKeys: boolean
  readonly keysInCode: boolean
  /** Why a secret can be guessed. */
  readonly weakSecrets: readonly string[]
  /** The names of secrets that look as if a person had typed them. */
  readonly typedSecrets: readonly string[]
  readonly isProduction: boolean
  readonly nodeEnv: string | null
}

// They mean something only together with keys.
const KEY_OPTIONS: readonly FieldName[] = [
  'JWT_ALGORITHM',
  'JWT_DECODE_ALGORITHMS',
  'JWT_PRIVATE_KEY_PASSPHRASE',
]
const SECRET_FIELDS = ['JWT_SECRET_KEY', 'JWT_PREVIOUS_SECRET_KEY'] as const

/** Reads an environment as `TokenConfig.fromEnv` does, but goes on after the first mistake. */
export function readConfiguration(env: Environment, keysInCode: boolean): ConfigurationFacts {
  const valid: Record<string, string> = {}
  const fieldErrors: string[] = []
  for (const name of CONFIG_NAMES) {
    const text = env[name]
    if (text === undefined) continue
    const error = readConfigurationError(() => TokenConfig.fromEnv({}, { [name]: text }))
    if (error === null) valid[name] = text
    else fieldErrors.push(error)
  }
  const config = TokenConfig.fromEnv({}, valid)
  const hasKeys = KEY_FIELDS.some((name) => valid[name] !== undefined)
  return {
    source: 'environment',
    config,
    fieldErrors,
    ruleErrors: readRuleErrors(valid, hasKeys),
    hasKeys,
    keysInCode,
    ...readSecrets(config),
    ...readProcess(env),
  }
}

/** The configuration of a manager: it exists, so nothing in it is invalid. */
export function readManagerConfiguration(
  { config, keys }: Pick<ManagerInspection, 'config' | 'keys'>,
  env: Environment,
): ConfigurationFacts {
  return {
    source: 'application',
    config,
    fieldErrors: [],
    ruleErrors: [],
    hasKeys: keys.length > 0,
    keysInCode: true,
    ...readSecrets(config),
    ...readProcess(env),
  }
}

function readProcess(
  env: Environment,
): Pick<ConfigurationFacts, 'unknownNames' | 'isProduction' | 'nodeEnv'> {
  return {
    unknownNames: Object.keys(env)
      .filter(
        (name) => /^JWT_/i.test(name) && !CONFIG_NAMES.includes(name as FieldName) && env[name] !== undefined,
      )
      .map((name) => unknownName('variable', name, CONFIG_NAMES)),
    isProduction: env['NODE_ENV'] === 'production',
    nodeEnv: env['NODE_ENV'] ?? null,
  }
}

function readSecrets(config: TokenConfig): Pick<ConfigurationFacts, 'weakSecrets' | 'typedSecrets'> {
  return {
    weakSecrets: readWeakSecrets(config),
    typedSecrets: SECRET_FIELDS.filter((name) => isTyped(config[name])),
  }
}

function isOfKeys(name: string): boolean {
  return [...KEY_FIELDS, ...KEY_OPTIONS].includes(name as FieldName)
}

// Checks keys separately from everything else, so that a mistake in one does not hide a mistake in the other.
function readRuleErrors(valid: Environment, hasKeys: boolean): string[] {
  const pick = (test: (name: string) => boolean): Environment =>
    Object.fromEntries(Object.entries(valid).filter(([name]) => test(name)))
  const others = TokenConfig.fromEnv(
    { JWT_SECRET_KEY: randomBytes(64) },
    pick((name) => !isOfKeys(name)),
  )
  // Weak secrets have a finding of their own.
  const keys = TokenConfig.fromEnv({ JWT_ALLOW_WEAK_SECRET: true }, pick(isOfKeys))
  const errors = [hasKeys ? keys : null, others].map(
    (config) => config && readConfigurationError(() => new TokenManager({ config })),
  )
  return errors.filter((error) => error !== null)
}

function readWeakSecrets(config: TokenConfig): string[] {
  const algorithm: Algorithm = config.JWT_ALGORITHM
  if (!isHmac(algorithm)) return []
  const errors = SECRET_FIELDS.map((name) => {
    const material = parseJwkText(config[name])
    if (material === null) return null
    // An unusable secret is reported as a broken rule.
    const error = readConfigurationError(() => importSecret(name, material, algorithm, true))
    return error === null
      ? readConfigurationError(() => importSecret(name, material, algorithm, false))
      : null
  })
  // "JWT_SECRET_KEY is too short: it has 5 bytes; HS256 needs …"
  return errors.filter((error) => error !== null).map((error) => error.split(';', 1)[0] as string)
}

// 64 hexadecimal digits are 32 bytes. Random base64 of 32 bytes has about 5 bits for each character, and words have
// at most 4; it has all classes of characters, except by a chance of less than one in a thousand.
const MIN_BITS_PER_CHARACTER = 4.3
const HEXADECIMAL = /^(?:[0-9a-f]{2}){32,}$/i
const CLASSES = [/[a-z]/, /[A-Z]/, /[0-9]/]

/** Whether a secret looks as if a person had typed it, instead of a random generator. */
export function isTyped(secret: unknown): boolean {
  // Bytes and key objects come from a program.
  const text = typeof secret === 'string' ? secret.trim() : ''
  // A key in JSON, and bytes that are not text, come from a program.
  if (text === '' || text.startsWith('{') || !/^[ -~]*$/.test(text)) return false
  if (HEXADECIMAL.test(text)) return readBits(text.toLowerCase()) < 3
  return readBits(text) < MIN_BITS_PER_CHARACTER || !CLASSES.every((characters) => characters.test(text))
}

// Shannon entropy of the characters, in bits for each.
function readBits(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  return [...counts.values()].reduce((bits, count) => {
    const share = count / text.length
    return bits - share * Math.log2(share)
  }, 0)
}

function readConfigurationError(build: () => unknown): string | null {
  try {
    build()
    return null
  } catch (error) {
    if (isConfigurationError(error)) return error.message
    throw error
  }
}
