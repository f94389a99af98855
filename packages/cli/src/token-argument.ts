import { assertArguments, type CommandCall, TOKEN_ARGUMENT } from './command.js'
import { CommandError, EXIT } from './exit.js'

/** The token that a command was given as its argument, or on stdin for `-`, without `Bearer` before it. */
export async function readTokenArgument(call: CommandCall): Promise<string> {
  assertArguments(call, [TOKEN_ARGUMENT])
  const [argument = ''] = call.positionals
  const text = argument === '-' ? await call.terminal.readInput() : argument
  // As it is copied from a request.
  const token = text.trim().replace(/^(?:authorization: *)?bearer +/i, '')
  if (token === '') {
    throw new CommandError(
      'No token was given: pass it as an argument, or - and the token on stdin',
      EXIT.usage,
    )
  }
  return token
}
