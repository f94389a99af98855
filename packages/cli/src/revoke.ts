import { userInfo } from 'node:os'
import type { RevokeOptions, TokenEvents } from 'tokenlib'
import { FOREVER } from 'tokenlib/kit'
import {
  describeUnknown,
  type Command,
  type CommandCall,
  readText,
  STORE_OPTIONS,
  writeJson,
} from './command.js'
import { type ConnectedStore, withManager } from './connect.js'
import { CommandError, EXIT } from './exit.js'
import { assertRevokeOptions, TARGET_KINDS, type TargetKind } from './revoke-options.js'
import { findTarget, type Target } from './revoke-targets.js'
import { safe } from './safe-text.js'
import { toIsoTime } from './words.js'

/** Revokes a token, a session, a user, a key or everything. */
export const revoke: Command = {
  name: 'revoke',
  summary: 'revoke a token, a session, a user, a key or everything, after a confirmation',
  usage: 'revoke token|session|user|key|all [<id>] [options]',
  options: {
    yes: { type: 'boolean', short: 'y', description: 'do not ask; needed without a terminal' },
    actor: { type: 'string', value: 'name', description: 'who does it (cli:<your user name>)' },
    note: { type: 'string', value: 'text', description: 'why' },
    issuer: {
      type: 'string',
      value: 'name',
      description: "whose tokens: the name (iss) of another issuer; otherwise the application's own",
    },
    jti: { type: 'string', value: 'id', description: 'revoke token: the jti, in place of the token itself' },
    expires: {
      type: 'string',
      value: 'time',
      description:
        'revoke token --jti: when the token expires (ISO 8601 with a zone, or epoch seconds), or never',
    },
    ...STORE_OPTIONS,
  },
  details: safe`
token <token|->   that token alone; its signature is checked first, so the JWT_ variables must have the key
token --jti <id> --expires <time>
                  the same without the token and the key
session <id>      every token of a session, those of later refreshes included
user <id>         every token of a user that began before now
key <kid>         every token that a key has signed or will sign, for good
all               every token of everybody that began before now, whoever issued it

All but "all" revoke tokens that the application itself issued. Tokens of another issuer, a legacy one included, need
--issuer <name>, where the name is that of the application's configuration.

Nothing but "revoke token <token>" needs a key. Afterwards the store is read, and the command says what holds. Processes
with a replica follow within their bound. No application hears of it: keep the output of --json for the audit log.`,
  async run(call) {
    const kind = parseKind(call.positionals[0])
    assertUsage(kind, call)
    const origin = readOrigin(call)
    return withManager(call, async (connected) => {
      const target = await findTarget(kind, call, connected)
      await confirm(call, target, connected)
      const done = await carryOut(call, target, origin, connected)
      report(call, target, connected, done)
      return EXIT.ok
    }).catch((error: unknown) => {
      if (!(error instanceof Declined)) throw error
      if (call.values['json'] === true) writeJson(call.terminal, { revoked: null })
      else call.terminal.write(safe`Nothing was revoked\n`)
      return EXIT.no
    })
  },
}

class Declined extends Error {}

// Before anything is opened.
function assertUsage(kind: TargetKind, call: CommandCall): void {
  assertRevokeOptions(kind, call)
  if (call.values['yes'] === true || call.terminal.isInteractive) return
  throw new CommandError('Cannot ask for confirmation without a terminal: add --yes', EXIT.usage)
}

function parseKind(given: string | undefined): TargetKind {
  const found = TARGET_KINDS.find((kind) => kind === given)
  if (found !== undefined) return found
  const kinds = TARGET_KINDS.join(', ')
  if (given === undefined) throw new CommandError(`Say what to revoke: ${kinds}`, EXIT.usage)
  throw new CommandError(
    `${describeUnknown('kind of revocation', given, TARGET_KINDS)} It is one of ${kinds}`,
    EXIT.usage,
  )
}

function readOrigin(call: CommandCall): RevokeOptions {
  return {
    actor: readText(call, 'actor') ?? `cli:${readUserName(call)}`,
    note: readText(call, 'note') ?? undefined,
  }
}

function readUserName({ env }: CommandCall): string {
  try {
    return userInfo().username
  } catch {
    // A container may run with a number that has no name.
    return env['USER'] ?? 'unknown'
  }
}

async function confirm(call: CommandCall, target: Target, { opened }: ConnectedStore): Promise<void> {
  const { terminal, values } = call
  const place = `${opened.url}, ${opened.kind === 'sqlite' ? 'prefix' : 'namespace'} "${opened.namespace}"`
  const store = terminal.style('dim', `Store: ${place}`)
  terminal.warn(safe`${target.effect}\nCovers ${target.coverage}\n${store}\n`)
  if (values['yes'] === true) return
  if (!(await terminal.confirm(safe`Revoke?`))) throw new Declined()
}

interface Done {
  readonly event: TokenEvents['revoked'] | null
  /** Epoch milliseconds, or `FOREVER`. */
  readonly notBefore: number
  readonly position: string
  readonly left: number | null
}

async function carryOut(
  { terminal }: CommandCall,
  target: Target,
  origin: RevokeOptions,
  { opened, tokens }: ConnectedStore,
): Promise<Done> {
  let event: TokenEvents['revoked'] | null = null
  tokens.on('revoked', (revoked) => void (event ??= revoked))
  const { position } = await target.revoke(origin).catch((error: unknown) => {
    terminal.warn(safe`The store has not acknowledged the revocation: run the command again until it does\n`)
    throw error
  })
  // Reads the store again instead of trusting the write.
  const [notBefore] = await opened.store.lookup([target.key])
  if (notBefore === undefined) {
    throw new CommandError(
      'The store has acknowledged the revocation and does not show it: run the command again',
      EXIT.unavailable,
    )
  }
  return { event, notBefore, position, left: (await target.countLeft?.()) ?? null }
}

function report(
  { values, terminal }: CommandCall,
  target: Target,
  { opened }: ConnectedStore,
  { event, notBefore, position, left }: Done,
): void {
  if (values['json'] === true) {
    const { kind, id, issuer } = target
    const startedUpTo = notBefore === FOREVER ? null : new Date(notBefore)
    const store = { url: opened.url, namespace: opened.namespace }
    const revoked = { kind, id, issuer, startedUpTo, sessionsLeft: left }
    writeJson(terminal, { revoked, store, position, event })
    return
  }
  const began = notBefore === FOREVER ? '' : ` that began up to ${toIsoTime(notBefore)}`
  terminal.write(
    safe`${terminal.style('green', 'Revoked')}. The store refuses ${target.refused}${began}\nThis covers ${target.coverage}\n`,
  )
  if (left !== null) terminal.write(safe`Live sessions left: ${left}\n`)
}
