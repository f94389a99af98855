import { type RevokeOptions, type SessionInfo, TokenManager } from 'tokenlib'
import { EVERY_USER, internalsOf, type RevocationKey, systemClock, toRevocationKey } from 'tokenlib/kit'
import { assertArguments, type CommandCall, readText, readTokenArgument } from './command.js'
import { type ConnectedStore, readConfig } from './connect.js'
import { CommandError, EXIT } from './exit.js'
import { readInspectRules } from './configuration.js'
import { describeCoverage, parseExpiry, parseIssuer, type TargetKind } from './revoke-options.js'
import { toCount, toIsoTime, toMessage, toRelative } from './words.js'

/** What is about to be revoked. */
export interface Target extends Found {
  readonly kind: TargetKind
  /** Whose tokens; `null` is the application itself or, for `all`, every issuer. */
  readonly issuer: string | null
  /** Whose tokens that covers. */
  readonly coverage: string
  /** Where the store keeps it. */
  readonly key: RevocationKey
}

interface Found {
  readonly id: string
  /** What the store refuses afterwards: `every token of user "ada"`. */
  readonly refused: string
  /** What will happen, in whole sentences. */
  readonly effect: string
  revoke(options: RevokeOptions): Promise<{ readonly position: string }>
  /** How many live sessions are left, if they can be counted. */
  countLeft?(): Promise<number>
}

type Finder = (call: CommandCall, tokens: TokenManager, issuer: string | null) => Promise<Found>

/** What a command line names, as the store knows it at this moment. */
export async function findTarget(
  kind: TargetKind,
  call: CommandCall,
  { tokens }: ConnectedStore,
): Promise<Target> {
  const [, ...positionals] = call.positionals
  const issuer = parseIssuer(kind, call)
  const found = await FINDERS[kind]({ ...call, positionals }, tokens, issuer)
  const isAll = kind === 'all' && issuer !== null
  return {
    ...found,
    kind,
    issuer,
    coverage: describeCoverage(kind, issuer),
    key: isAll ? toRevocationKey('user', EVERY_USER, issuer) : toRevocationKey(kind, found.id, issuer),
    revoke: (options) => found.revoke({ ...options, issuer: issuer ?? (kind === 'all' ? undefined : 'own') }),
  }
}

const FINDERS: Readonly<Record<TargetKind, Finder>> = {
  async token(call, tokens) {
    const payload = await readRevocable(call)
    const { jti, exp, type, sub } = payload
    const name = `token ${jti}`
    const end = exp === undefined ? 'never expires' : describeExpiry(exp)
    const owner = sub === undefined ? '' : `, ${type} token of user "${sub}"`
    return {
      id: jti,
      refused: name,
      effect: `Revokes ${name}${owner}, which ${end}. Other tokens of its session stay valid.`,
      revoke: (options) => tokens.revoke.token(payload, options),
    }
  },

  async session(call, tokens, issuer) {
    const id = readId(call, 'session')
    const session = issuer === null ? await tokens.sessions.get(id) : null
    const sub = session?.sub ?? null
    return {
      id,
      refused: `every token of session ${id}`,
      effect: `Revokes every token of session ${id}. ${describeSession(session)}`,
      revoke: (options) => tokens.revoke.session({ sid: id, ...(sub !== null && { sub }) }, options),
    }
  },

  async user(call, tokens, issuer) {
    const id = readId(call, 'user')
    const countLeft = (): Promise<number> => countSessions(tokens, id)
    const found = issuer === null ? ` ${toMany(await countLeft())} will end.` : ''
    return {
      id,
      refused: `every token of user "${id}"`,
      effect: `Revokes every token of user "${id}" that began before now.${found} The user has to log in again.`,
      revoke: (options) => tokens.revoke.user(id, options),
      ...(issuer === null && { countLeft }),
    }
  },

  async key(call, tokens, issuer) {
    const id = readId(call, 'kid')
    return {
      id,
      refused: `every token of key ${id}`,
      effect:
        `Revokes every token that key ${id} has signed or will sign, for good: this cannot be undone. ` +
        `Take the key out of the configuration too.${issuer === null ? describeKey(call, id) : ''}`,
      revoke: (options) => tokens.revoke.key(id, options),
    }
  },

  async all(_call, tokens, issuer) {
    const whose = issuer === null ? 'everybody' : `everybody of the issuer "${issuer}"`
    return {
      id: '',
      refused: 'every token',
      effect: `Revokes every token of ${whose} that began before now. Everybody has to log in again.`,
      revoke: (options) => tokens.revoke.all(options),
    }
  },
}

function readId(call: CommandCall, name: string): string {
  assertArguments(call, [name])
  const [id = ''] = call.positionals
  // An empty name would stand for every user of an issuer.
  if (id === '') throw new CommandError(`<${name}> is empty`, EXIT.usage)
  return id
}

interface RevocableToken {
  readonly jti: string
  readonly exp?: number
  readonly type?: string
  readonly sub?: string
}

async function readRevocable(call: CommandCall): Promise<RevocableToken> {
  const jti = readText(call, 'jti')
  if (jti !== null) {
    const exp = parseExpiry(call)
    return { jti, ...(exp !== null && { exp }) }
  }
  const token = await readTokenArgument(call)
  // A forged one could name an earlier expiry, and the revocation of the real one would be dropped then.
  const payload = await internalsOf(createManager(call)).readRevocableToken(token)
  if (payload === null) {
    throw new CommandError(
      'No key of this environment has signed this token, and nothing was revoked. If another issuer of the ' +
        'application has signed it: revoke token --issuer <name> --jti <id> --expires <time>',
      EXIT.no,
    )
  }
  if (payload.jti === undefined) {
    throw new CommandError('The token has no jti: revoke its session or its user', EXIT.no)
  }
  return { ...payload, jti: payload.jti }
}

function createManager(call: CommandCall): TokenManager {
  try {
    return new TokenManager({ config: readConfig(call) })
  } catch (cause) {
    throw new CommandError(
      `The key is needed to check the token: ${toMessage(cause)}. Without the key: revoke token --jti <id> --expires <time>`,
      EXIT.usage,
      { cause },
    )
  }
}

function describeExpiry(exp: number): string {
  const now = systemClock()
  const verb = exp * 1000 <= now ? 'expired' : 'expires'
  return `${verb} ${toRelative(exp * 1000, now)} (${toIsoTime(exp * 1000)})`
}

function describeSession(session: SessionInfo | null): string {
  if (session === null)
    return 'The store knows no live session of this id; the revocation is kept all the same.'
  const { sub, createdAt, lastUsedAt, ip, userAgent, data } = session
  const now = systemClock()
  const from = [ip, data?.label ?? userAgent].filter((part) => part !== null).join(', ')
  return (
    `It is one of ${sub === null ? 'a user whose id is kept as a digest' : `user "${sub}"`}, ` +
    `began ${toRelative(createdAt.getTime(), now)} and was last used ${toRelative(lastUsedAt.getTime(), now)}` +
    `${from === '' ? '' : ` from ${from}`}.`
  )
}

// Whether it is the key that signs: then nobody can log in until it is replaced.
function describeKey({ env }: CommandCall, kid: string): string {
  const { keys } = readInspectRules(env)
  if (keys === null) return ''
  return keys.some(({ ids }) => ids.includes(kid))
    ? ' It is a key of the configuration in this environment: while it signs, every new token is refused.'
    : ' No key of the configuration in this environment has this kid.'
}

const PAGE = 1000
const MAX_PAGES = 10

async function countSessions({ sessions }: TokenManager, user: string): Promise<number> {
  let count = 0
  let before: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const found = await sessions.list(user, { limit: PAGE, ...(before !== undefined && { before }) })
    count += found.length
    before = found.at(-1)?.id
    if (found.length < PAGE) break
  }
  return count
}

function toMany(count: number): string {
  return count >= PAGE * MAX_PAGES
    ? `${toCount(count, 'live session')} or more`
    : toCount(count, 'live session')
}
