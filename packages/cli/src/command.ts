import { unknownName } from 'tokenlib/kit'
import { CommandError, EXIT } from './exit.js'
import { safeLines, type SafeText } from './safe-text.js'
import type { Terminal } from './terminal.js'

/** One option of a command; `value` names the value of a `string` option in the help. */
export interface CommandOption {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly default?: string | boolean
  readonly value?: string
  readonly description: string
}

/** The options of a command by their long names. */
export type CommandOptions = Readonly<Record<string, CommandOption>>

/** One command of the command line. */
export interface Command {
  readonly name: string
  /** One line of the help. */
  readonly summary: string
  /** What follows `tokenlib`, for example `sessions <user> [options]`. */
  readonly usage: string
  /** Options in addition to `COMMON_OPTIONS`. */
  readonly options: CommandOptions
  /** More lines of its help: what it does, and examples. Begins with a line end. */
  readonly details?: SafeText
  /** Resolves to the exit code. */
  run(call: CommandCall): Promise<number>
}

/** The arguments and surroundings of a command. */
export interface CommandCall {
  readonly positionals: readonly string[]
  readonly values: Readonly<Record<string, string | boolean | undefined>>
  /** The environment; variables of `--env-file` are in it already. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly terminal: Terminal
}

/** The options of every command. */
export const COMMON_OPTIONS: CommandOptions = {
  json: { type: 'boolean', description: 'print one JSON document and nothing else' },
  'env-file': {
    type: 'string',
    value: 'path',
    description: 'read variables from a file; those already set win',
  },
  help: { type: 'boolean', short: 'h', description: 'print this help' },
}

/** The options of every command that uses a store. */
export const STORE_OPTIONS: CommandOptions = {
  store: {
    type: 'string',
    value: 'url',
    description: 'redis://, rediss://, postgres://, mysql:// or sqlite:<path>; otherwise TOKENLIB_STORE',
  },
  namespace: {
    type: 'string',
    value: 'name',
    description: "the store's namespace, or the prefix of its SQLite tables; otherwise TOKENLIB_NAMESPACE",
  },
  drivers: {
    type: 'string',
    value: 'folder',
    description: 'folder whose node_modules has the database driver (default: current folder)',
  },
  timeout: {
    type: 'string',
    value: 'duration',
    default: '5s',
    description: 'how long the store may take to connect and to answer',
  },
}

/** The text of an option, or `null` if it was not given. */
export function readText(call: CommandCall, name: string): string | null {
  const value = call.values[name]
  return typeof value === 'string' ? value : null
}

/** Prints one JSON document; it parses to the same value. */
export function writeJson(terminal: Terminal, document: unknown): void {
  // Every line end comes from the indentation: JSON escapes line ends in strings.
  terminal.write(safeLines(JSON.stringify(document, null, 2).split('\n')))
}

/** The whole number of an option, or `CommandError` for anything else. */
export function parseNumber(call: CommandCall, name: string, least: number, most: number): number {
  const text = readText(call, name) ?? ''
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new CommandError(`--${name} must be a whole number from ${least} to ${most}`, EXIT.usage)
}

/**
 * The text for a name that does not exist. A long one is not repeated, nor one with `:` or `@`: it may be a token or an
 * address with a password in the wrong place.
 */
export function describeUnknown(
  what: string,
  name: string,
  known: readonly string[],
  owner?: string,
): string {
  if (name.length <= MAX_SHOWN_LENGTH && !/[:@]/.test(name)) return unknownName(what, name, known, owner, '.')
  return `Unknown ${what}${owner === undefined ? '' : ` of ${owner}`}.`
}

const MAX_SHOWN_LENGTH = 24

/** One of the values of an option, or `CommandError` that suggests the nearest one. */
export function parseChoice<Choice extends string>(
  call: CommandCall,
  name: string,
  choices: readonly Choice[],
): Choice {
  const given = readText(call, name) ?? ''
  const found = choices.find((choice) => choice === given)
  if (found !== undefined) return found
  throw new CommandError(
    `${describeUnknown(`--${name}`, given, choices)} It is one of ${choices.join(', ')}`,
    EXIT.usage,
  )
}

/** Throws `CommandError` unless a command was given so many arguments. */
export function assertArguments(call: CommandCall, names: readonly string[]): void {
  const { length } = call.positionals
  const missing = names[length]
  if (missing !== undefined) throw new CommandError(`Missing argument: <${missing}>`, EXIT.usage)
  // Not repeated: it may be a token.
  if (length > names.length) throw new CommandError('Too many arguments', EXIT.usage)
  const mistaken = call.positionals.findIndex((text, at) => names[at] !== TOKEN_ARGUMENT && TOKEN.test(text))
  if (mistaken === -1) return
  throw new CommandError(
    `<${names[mistaken]}> is a token: tokenlib inspect shows its sub, sid and jti`,
    EXIT.usage,
  )
}

/** The argument that is a token, or `-` for one on stdin. */
export const TOKEN_ARGUMENT = 'token|-'

/** The token that a command was given as its argument, or on stdin for `-`, without `Bearer` before it. */
export async function readTokenArgument(call: CommandCall): Promise<string> {
  assertArguments(call, [TOKEN_ARGUMENT])
  const [argument = ''] = call.positionals
  const text = argument === '-' ? await call.terminal.readInput() : argument
  // People copy it from a request.
  const token = text.trim().replace(/^(?:authorization: *)?bearer +/i, '')
  if (token === '') {
    throw new CommandError(
      'No token was given: pass it as an argument, or - and the token on stdin',
      EXIT.usage,
    )
  }
  return token
}

/** Throws `CommandError` if the value of an option has a token in it: values are printed, stored and audited. */
export function assertNoTokens(values: CommandCall['values']): void {
  for (const [name, value] of Object.entries(values)) {
    // The password of a database may be a token; addresses are printed without it.
    if (name === 'store' || typeof value !== 'string' || !TOKEN.test(value)) continue
    throw new CommandError(
      `--${name} has a token in it: tokenlib inspect shows its sub, sid and jti`,
      EXIT.usage,
    )
  }
}

// An id is printed, and a token must not be; `Bearer` may be before it. `{"` is eyJ in base64url.
const TOKEN = /(?<![\w-])eyJ[\w-]*\.[\w-]+\.[\w-]*/
