import { createSecretKey, randomBytes } from 'node:crypto'
import { deriveKid } from 'tokenlib/kit'
import { assertArguments, type Command, parseNumber, writeJson } from './command.js'
import { EXIT } from './exit.js'
import { safe } from './safe-text.js'

/** Prints a random secret. */
export const secret: Command = {
  name: 'secret',
  summary: 'print a random secret for JWT_SECRET_KEY',
  usage: 'secret [--bytes 32] [options]',
  options: {
    bytes: {
      type: 'string',
      value: 'number',
      default: '32',
      description: 'random bytes, 32 to 1024: HS256 needs 32, HS384 48, HS512 64',
    },
  },
  details: safe`
The secret is printed in base64url. JWT_SECRET_KEY takes the text as it is: it has all of the random bits.

  echo "JWT_SECRET_KEY=$(npx tokenlib secret)" >> .env`,
  async run(call) {
    assertArguments(call, [])
    const { values, terminal } = call
    const bytes = parseNumber(call, 'bytes', 32, 1024)
    const text = randomBytes(bytes).toString('base64url')
    if (values['json'] === true) {
      const kid = deriveKid(createSecretKey(Buffer.from(text)))
      writeJson(terminal, { variable: 'JWT_SECRET_KEY', secret: text, bits: bytes * 8, kid })
      return EXIT.ok
    }
    terminal.write(safe`${text}\n`)
    if (terminal.isInteractive) {
      const advice = 'Set it as JWT_SECRET_KEY in every process, and keep it out of the repository.'
      terminal.warn(safe`${terminal.style('dim', advice)}\n`)
    }
    return EXIT.ok
  },
}
