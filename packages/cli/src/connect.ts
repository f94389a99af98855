import { randomBytes } from 'node:crypto'
import { TokenConfig, TokenManager, type TrustedIssuer } from 'tokenlib'
import { parseDuration } from 'tokenlib/kit'
import { isConfigurationError, isOutage } from 'tokenlib/errors'
import { type CommandCall, readText } from './command.js'
import { unavailable } from './driver.js'
import { CommandError, EXIT } from './exit.js'
import { openStore } from './open-store.js'
import type { OpenedStore, OpenStoreOptions } from './opened-store.js'

/** A store, and a manager that lists and revokes its sessions without a key of the application. */
export interface ConnectedStore {
  readonly opened: OpenedStore
  readonly tokens: TokenManager
}

/** The address of the store, or `null` where none was given. */
export function readStoreUrl({ values, env }: CommandCall): string | null {
  const url = values['store'] ?? env['TOKENLIB_STORE']
  return typeof url === 'string' && url !== '' ? url : null
}

/** `--timeout` in milliseconds, or `CommandError`. */
export function parseTimeout(call: CommandCall): number {
  const text = readText(call, 'timeout') ?? '5s'
  try {
    const timeoutMs = parseDuration(text) * 1000
    if (timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs
  } catch {
    // Reported below, like every other bad value.
  }
  throw new CommandError("--timeout must be a duration of at most one hour: '5s', '500ms'", EXIT.usage)
}

/** How a command's options configure the store to open. */
export function readOpenOptions(call: CommandCall): OpenStoreOptions {
  return {
    namespace: readText(call, 'namespace') ?? call.env['TOKENLIB_NAMESPACE'] ?? null,
    drivers: readText(call, 'drivers') ?? '.',
    timeoutMs: parseTimeout(call),
  }
}

const MAX_TIMEOUT_MS = 3_600_000

/** The configuration of the environment, with the deadline of the command line for calls of the store. */
export function readConfig(call: CommandCall): TokenConfig {
  return TokenConfig.fromEnv({ JWT_REVOCATION_TIMEOUT: parseTimeout(call) / 1000 }, call.env)
}

/** Opens the store, runs a command with it and closes it; `CommandError` for one that is unavailable. */
export async function withStore<Value>(
  call: CommandCall,
  run: (opened: OpenedStore) => Promise<Value>,
): Promise<Value> {
  const url = readStoreUrl(call)
  if (url === null) {
    throw new CommandError('No store was given: pass --store <url>, or set TOKENLIB_STORE', EXIT.usage)
  }
  const opened = await openStore(url, readOpenOptions(call))
  try {
    await assertInUse(opened)
    return await run(opened)
  } catch (error) {
    throw toStoreError(url, error)
  } finally {
    await opened.close()
  }
}

/** The same with a manager, for `--issuer` too. */
export function withManager<Value>(
  call: CommandCall,
  run: (connected: ConnectedStore) => Promise<Value>,
): Promise<Value> {
  const configured = readConfig(call)
  // Copies only the fields that decide how long the store keeps an entry. Keys and other rules are not needed.
  const config = new TokenConfig({
    JWT_SECRET_KEY: randomBytes(32),
    ...Object.fromEntries(STORE_FIELDS.map((name) => [name, configured[name]])),
  })
  const issuer = readText(call, 'issuer') ?? 'own'
  return withStore(call, async (opened) => {
    const issuers = issuer === 'own' ? [] : [toNamedIssuer(issuer)]
    const tokens = new TokenManager({ config, issuers, store: opened.store })
    await tokens.ready()
    return run({ opened, tokens })
  })
}

const STORE_FIELDS = [
  'JWT_ACCESS_TOKEN_EXPIRES',
  'JWT_REFRESH_TOKEN_EXPIRES',
  'JWT_REFRESH_IDLE_EXPIRES',
  'JWT_REFRESH_GRACE',
  'JWT_DECODE_LEEWAY',
  'JWT_REVOCATION_TIMEOUT',
] as const

// An issuer whose tokens are revoked by name. It has no keys, so the manager accepts none of its tokens.
function toNamedIssuer(issuer: string): TrustedIssuer {
  const rules = { leeway: 0, issuers: [issuer], audience: [], requiredClaims: [], maxAge: null }
  return {
    issuer,
    subjectPrefix: '',
    connect: () => ({
      issuer,
      names: [issuer],
      isWithoutIss: false,
      profile: 'named',
      keys: { find: () => [], isTrusted: () => false, idsOf: () => [], loader: null },
      exclusiveKeys: [],
      rules,
      subjectPrefix: '',
      sendsEvents: false,
      allowsHighS: true,
      revokedBy: [issuer],
      // The default of `sessionLifetime` of an issuer: 400 days.
      sessionLifetime: 400 * 86_400_000,
      longestLifetime: 0,
      lifeOf: () => ({ start: 0, end: null }),
      toPayload() {
        throw new TypeError('Its tokens are never accepted')
      },
    }),
  }
}

// A store that no application uses is most likely the wrong one, and a revocation in it would help nobody.
async function assertInUse(opened: OpenedStore): Promise<void> {
  if (await isInUse(opened)) return
  const { kind, url, namespace } = opened
  const name = kind === 'sqlite' ? 'tables with the prefix' : 'the namespace'
  throw new CommandError(
    `No application has used ${name} "${namespace}" of ${url}: check --store and --namespace`,
    EXIT.usage,
  )
}

async function isInUse(opened: OpenedStore): Promise<boolean> {
  const { kind, client, namespace } = opened
  if (kind === 'redis') {
    return Number(await client.command('EXISTS', `{tokenlib:${namespace}}:meta`)) === 1
  }
  if (kind === 'sqlite') {
    // The store has checked the prefix: letters, digits and underscores.
    return client.all(`SELECT 1 FROM sqlite_master WHERE name = '${namespace}meta'`).length > 0
  }
  try {
    return (await client.inspection.readHistory()) !== 'absent'
  } catch (error) {
    // Missing tables, which the store itself reports, with how to create them.
    if (client.isAnswer(error)) return true
    throw error
  }
}

function toStoreError(url: string, error: unknown): unknown {
  if (!isOutage(error)) return error
  const { cause = error } = error
  return isConfigurationError(cause) ? cause : unavailable(url, cause)
}
