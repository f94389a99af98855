import { systemClock } from 'tokenlib/kit'
import { assertArguments, type CommandCall, readText, TOKEN_ARGUMENT } from './command.js'
import { CommandError, EXIT } from './exit.js'

/** What can be revoked. */
export const TARGET_KINDS = ['token', 'session', 'user', 'key', 'all'] as const

/** What a revocation concerns. */
export type TargetKind = (typeof TARGET_KINDS)[number]

/** Throws `CommandError` for arguments and options that do not fit the kind, before anything is opened. */
export function assertRevokeOptions(kind: TargetKind, call: CommandCall): void {
  const [, ...positionals] = call.positionals
  const hasId = kind === 'token' && readText(call, 'jti') !== null
  assertArguments({ ...call, positionals }, hasId ? [] : ARGUMENTS[kind])
  parseIssuer(kind, call)
  if (hasId) {
    if (readText(call, 'jti') === '') throw new CommandError('--jti is empty', EXIT.usage)
    parseExpiry(call)
    return
  }
  for (const name of ['jti', 'expires']) {
    if (readText(call, name) === null) continue
    throw new CommandError(`--${name} is for revoke token --jti <id> --expires <time> only`, EXIT.usage)
  }
  if (kind === 'token' && parseIssuer(kind, call) !== null) {
    throw new CommandError('A token of another issuer is revoked by --jti and --expires', EXIT.usage)
  }
}

const ARGUMENTS: Readonly<Record<TargetKind, readonly string[]>> = {
  token: [TOKEN_ARGUMENT],
  session: ['session'],
  user: ['user'],
  key: ['kid'],
  all: [],
}

/** The issuer whose tokens are revoked; `null` is the application itself or, for `all`, every issuer. */
export function parseIssuer(kind: TargetKind, call: CommandCall): string | null {
  const issuer = readText(call, 'issuer')
  // A shell variable that is not set must not revoke more than was meant.
  if (issuer === '') {
    throw new CommandError('--issuer is empty: name the issuer, or leave the option out', EXIT.usage)
  }
  if (issuer !== 'own') return issuer
  if (kind !== 'all') return null
  throw new CommandError(
    'revoke all cannot be limited to the tokens of the application itself: without --issuer it revokes the tokens of every issuer',
    EXIT.usage,
  )
}

/** Whose tokens a revocation covers, as the end of a sentence. */
export function describeCoverage(kind: TargetKind, issuer: string | null): string {
  if (issuer !== null) {
    return `tokens of the issuer "${issuer}" only, a name that is not checked`
  }
  if (kind === 'all') return 'tokens of every issuer'
  return 'tokens that the application itself issued; tokens of other issuers need --issuer <name>'
}

/** `--expires` in epoch seconds, or `null` for a token that never expires. */
export function parseExpiry(call: CommandCall): number | null {
  const text = readText(call, 'expires') ?? ''
  if (text === 'never') return null
  const seconds = EPOCH_SECONDS.test(text)
    ? Number(text)
    : ISO_TIME.test(text)
      ? Date.parse(text) / 1000
      : Number.NaN
  if (!Number.isFinite(seconds)) {
    throw new CommandError(
      '--jti needs --expires: the exp of the token in epoch seconds, or as ISO 8601 with a time and a zone ' +
        '(2026-12-31T23:59:59Z), or never',
      EXIT.usage,
    )
  }
  // The store would drop the revocation immediately.
  if (seconds * 1000 > systemClock()) return seconds
  throw new CommandError('--expires is in the past: check the exp of the token, or pass never', EXIT.usage)
}

// Fewer digits would be a year or a mistake.
const EPOCH_SECONDS = /^\d{10,15}$/

// Without a zone, the meaning would depend on the machine that runs the command.
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/
