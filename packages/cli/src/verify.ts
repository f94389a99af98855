import { isTokenError, type RevocationStore, TokenManager, type TokenPayload } from 'tokenlib'
import {
  AccessTokenRequiredError,
  type AnyTokenError,
  isOutage,
  RefreshTokenRequiredError,
} from 'tokenlib/errors'
import { systemClock, internalsOf } from 'tokenlib/kit'
import {
  type Command,
  type CommandCall,
  parseChoice,
  STORE_OPTIONS,
  writeJson,
  readTokenArgument,
} from './command.js'
import { readConfig, readStoreUrl, withStore } from './connect.js'
import { EXIT } from './exit.js'
import { safe } from './safe-text.js'
import { toIsoTime, toPrintable, toRelative } from './words.js'

/** Verifies a token. */
export const verify: Command = {
  name: 'verify',
  summary: 'verify a token with the configuration of the environment and, with a store, its revocation',
  usage: 'verify <token|-> [--store <url>] [options]',
  options: {
    type: { type: 'string', value: 'type', default: 'any', description: 'access, refresh or any' },
    ...STORE_OPTIONS,
  },
  details: safe`
The keys and rules are those of the JWT_ variables. A refresh token is not used up. Without a store nobody knows whether
the token is revoked, and the output says so. The exit code is 0 for a valid token and 1 for any other.`,
  async run(call) {
    const token = await readTokenArgument(call)
    const hasStore = readStoreUrl(call) !== null
    const result = hasStore
      ? await withStore(call, ({ store }) => check(call, token, store))
      : await check(call, token, null)
    return report(call, result, hasStore)
  },
}

type Result = { readonly payload: TokenPayload } | { readonly error: AnyTokenError }

async function check(call: CommandCall, token: string, store: RevocationStore | null): Promise<Result> {
  const type = parseChoice(call, 'type', ['access', 'refresh', 'any'])
  const tokens = new TokenManager({
    config: readConfig(call),
    ...(store !== null && { store }),
  })
  await tokens.ready()
  try {
    const payload: TokenPayload = await internalsOf(tokens).inspectToken(token)
    if (type === 'access' && payload.type !== type) throw new AccessTokenRequiredError(payload.type)
    if (type === 'refresh' && payload.type !== type) throw new RefreshTokenRequiredError(payload.type)
    return { payload }
  } catch (error) {
    if (!isTokenError(error) || isOutage(error)) throw error
    return { error }
  }
}

const UNCHECKED = 'Revocation was NOT checked: no store was given (--store or TOKENLIB_STORE).'

function report({ values, terminal }: CommandCall, result: Result, hasStore: boolean): number {
  const isValid = 'payload' in result
  const exitCode = isValid ? EXIT.ok : EXIT.no
  if (values['json'] === true) {
    const revocation = hasStore ? 'checked' : 'not checked'
    const { code, message } = isValid ? { code: null, message: null } : result.error
    writeJson(terminal, {
      valid: isValid,
      revocation,
      code,
      message,
      claims: isValid ? result.payload : null,
    })
    return exitCode
  }
  if (!isValid) {
    const { code, message } = result.error
    terminal.write(safe`${terminal.style('red', 'refused')}  ${code}: ${message}\n`)
    return exitCode
  }
  const { payload } = result
  const words = payload.exp === undefined ? 'never expires' : describeExpiry(payload.exp)
  terminal.write(safe`${terminal.style('green', 'valid')}  ${payload.type} token, ${words}\n`)
  for (const [name, value] of Object.entries(payload)) {
    terminal.write(safe`  ${toPrintable(name).padEnd(8)}  ${JSON.stringify(value)}\n`)
  }
  if (!hasStore) terminal.warn(safe`${terminal.style('yellow', UNCHECKED)}\n`)
  return exitCode
}

function describeExpiry(exp: number): string {
  return `expires ${toRelative(exp * 1000, systemClock())} (${toIsoTime(exp * 1000)})`
}
