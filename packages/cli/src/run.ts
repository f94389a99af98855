import { readFileSync } from 'node:fs'
import { parseArgs, parseEnv } from 'node:util'
import { isTokenError } from 'tokenlib'
import { isConfigurationError, isOutage } from 'tokenlib/errors'
import {
  assertArguments,
  assertNoTokens,
  COMMON_OPTIONS,
  type Command,
  type CommandCall,
  type CommandOptions,
  describeUnknown,
  writeJson,
} from './command.js'
import { doctor } from './doctor/doctor.js'
import { CommandError, EXIT } from './exit.js'
import { helpOf, helpOfAll } from './help.js'
import { inspect } from './inspect.js'
import { keygen } from './keygen.js'
import { prune } from './prune.js'
import { revoke } from './revoke.js'
import { safe } from './safe-text.js'
import { secret } from './secret.js'
import { sessions } from './sessions.js'
import type { Terminal } from './terminal.js'
import { verify } from './verify.js'
import { toMessage } from './words.js'

const version: Command = {
  name: 'version',
  summary: 'print the version of tokenlib and of Node',
  usage: 'version [options]',
  options: {},
  async run(call) {
    assertArguments(call, [])
    const { values, terminal } = call
    const file = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
    const { version: tokenlib } = JSON.parse(file) as { readonly version: string }
    const node = process.versions.node
    if (values['json'] === true) writeJson(terminal, { tokenlib, node })
    else terminal.write(safe`tokenlib ${tokenlib} (Node ${node})\n`)
    return EXIT.ok
  },
}

const COMMANDS: readonly Command[] = [
  secret,
  keygen,
  inspect,
  verify,
  sessions,
  revoke,
  prune,
  doctor,
  version,
]

/** What the command line runs with. */
export interface RunOptions {
  readonly terminal: Terminal
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Runs one command; resolves to the exit code and never rejects. */
export async function run(args: readonly string[], { terminal, env }: RunOptions): Promise<number> {
  try {
    const [name, ...rest] = args
    if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
      return help(rest[0], terminal)
    }
    const command = name === '--version' || name === '-v' ? version : findCommand(name)
    const { positionals, values } = parse(command, rest)
    if (values['help'] === true) return help(command.name, terminal)
    assertNoTokens(values)
    return await command.run({ positionals, values, env: withFile(env, values['env-file']), terminal })
  } catch (error) {
    return report(error, args.includes('--json'), terminal)
  }
}

function help(name: string | undefined, terminal: Terminal): number {
  terminal.write(name === undefined ? helpOfAll(COMMANDS, terminal) : helpOf(findCommand(name), terminal))
  return EXIT.ok
}

function findCommand(name: string): Command {
  const command = COMMANDS.find((one) => one.name === name)
  if (command !== undefined) return command
  const known = COMMANDS.map((one) => one.name)
  throw new CommandError(`${describeUnknown('command', name, known)} See tokenlib help`, EXIT.usage)
}

function parse(command: Command, args: readonly string[]): Pick<CommandCall, 'positionals' | 'values'> {
  const options: CommandOptions = { ...command.options, ...COMMON_OPTIONS }
  const config = { args: [...args], options, allowPositionals: true } as const
  const { tokens } = parseArgs({ ...config, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(options, token.name)) continue
    const names = Object.keys(options).map((name) => `--${name}`)
    throw new CommandError(
      `${describeUnknown('option', token.rawName, names, command.name)} ` +
        'Put -- before a value that begins with a hyphen',
      EXIT.usage,
    )
  }
  try {
    const { positionals, values } = parseArgs(config)
    return { positionals, values }
  } catch (cause) {
    // Some of its messages have several lines.
    const message = toMessage(cause).replaceAll('\n', ' ')
    throw new CommandError(message, EXIT.usage, { cause })
  }
}

function withFile(env: RunOptions['env'], path: string | boolean | undefined): RunOptions['env'] {
  if (typeof path !== 'string') return env
  try {
    return { ...(parseEnv(readFileSync(path, 'utf8')) as RunOptions['env']), ...env }
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'invalid'
    throw new CommandError(`--env-file ${path} cannot be read: ${reason}`, EXIT.usage, { cause })
  }
}

function report(error: unknown, isJson: boolean, terminal: Terminal): number {
  const exitCode = toExitCode(error)
  const message = toMessage(error)
  if (isJson) writeJson(terminal, { error: { message, exitCode } })
  else terminal.warn(safe`${terminal.style('red', 'error')}: ${message}\n`)
  return exitCode
}

function toExitCode(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode
  if (isTokenError(error)) return isOutage(error) ? EXIT.unavailable : EXIT.no
  // An invalid argument, such as a malformed cursor.
  return isConfigurationError(error) || error instanceof TypeError ? EXIT.usage : EXIT.unavailable
}
