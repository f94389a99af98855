import type { ClaimsInput, CreateTokenOptions } from '../tokens/create.js'
import type { JsonClaims } from '../tokens/extra-claims.js'
import { isNonEmptyString } from '../tokens/payload.js'
import { hasScopes, parseScopes } from '../tokens/scopes.js'
import { ConfigurationError, isTokenError, SubjectNotFoundError } from '../errors.js'
import { isJsonObject } from '../encoding.js'
import { assertOptions } from '../options.js'
import { mergeOptions, type PairTokenOptions } from './token-maker.js'

/** What the tokens of a user contain. Members that are left out stay the same; `undefined` is a `TypeError`. */
export interface UserDescription<Input extends object = JsonClaims> {
  /** All extra claims; they replace the previous ones. */
  readonly claims?: Input
  /** All scopes; they replace the previous ones. */
  readonly scopes?: NonNullable<CreateTokenOptions['scopes']>
  readonly audience?: NonNullable<CreateTokenOptions['audience']>
  /** The lifetime of access tokens. `fresh` applies at login only, because a refresh proves nothing. */
  readonly access?: Pick<CreateTokenOptions, 'expiresIn' | 'expiresAt' | 'fresh'>
  /** How long the session lasts. Applies at login only, because a refresh does not move the end of a session. */
  readonly refresh?: Pick<CreateTokenOptions, 'expiresIn' | 'expiresAt'>
}

/** Why `describeUser` is called, and what the tokens would contain without it. */
export interface DescribedLogin<Claims = JsonClaims> {
  /** `refresh` includes a step-up. */
  readonly reason: 'login' | 'refresh'
  /** At a login, what `sessions.open` was given or `logIn` returned; at a refresh, the claims of the refresh token. */
  readonly claims: Claims
  readonly scopes: readonly string[]
}

/**
 * Returns what the tokens of a user contain, at login and at every refresh. `null` means that the user may no longer log
 * in: a login is rejected, and a refresh ends the session.
 */
export type DescribeUser<Input extends object = JsonClaims, Known = Input> = (
  uid: string,
  login: DescribedLogin<Known>,
) => UserDescription<Input> | null | Promise<UserDescription<Input> | null>

/** The input for a pair of tokens. */
export interface PlannedTokens {
  readonly input: ClaimsInput
  readonly options: PairTokenOptions
}

/** Holds the one `describeUser` of a manager. */
export interface UserDescriber {
  /** Throws `ConfigurationError` if a function is already registered. */
  register(describeUser: DescribeUser<object, never>): void
  /** The input for the tokens. Throws `SubjectNotFoundError` if the user may no longer log in. */
  describe(planned: PlannedTokens, reason: DescribedLogin['reason']): Promise<PlannedTokens>
}

/** A describer that changes nothing until a function is registered. */
export function createUserDescriber(): UserDescriber {
  let registered: DescribeUser<object, never> | null = null
  return {
    register(describeUser) {
      if (typeof describeUser !== 'function') throw new TypeError('describeUser must be a function')
      if (registered !== null && registered !== describeUser) {
        throw new ConfigurationError(
          'The manager already has a describeUser. Pass it only once, to new TokenManager() or to the session routes: ' +
            'a second one would change what users may do',
        )
      }
      registered = describeUser
    },
    async describe(planned, reason) {
      // Claims without a uid are refused where the tokens are made.
      if (registered === null || !isNonEmptyString(planned.input?.uid)) return planned
      const { uid, ...claims } = planned.input
      // A copy: the list may be a constant of the application.
      const scopes = [...toList(planned.options.scopes ?? [])]
      const login: DescribedLogin<object> = { reason, claims, scopes }
      const answer: unknown = await callDescribeUser(registered, uid, login)
      if (answer === null) throw new SubjectNotFoundError()
      return applyDescription(planned, parseDescription(answer), reason)
    },
  }
}

// A token error would look as if the request's own token were rejected, and log the user out; some frameworks ignore a
// thrown value that is not an `Error`.
async function callDescribeUser(
  describeUser: DescribeUser<object, never>,
  uid: string,
  login: DescribedLogin<object>,
): Promise<unknown> {
  try {
    return await describeUser(uid, login as DescribedLogin<never>)
  } catch (error) {
    if (error instanceof Error && !isTokenError(error)) throw error
    throw new Error('describeUser failed', { cause: error })
  }
}

const RULE = 'describeUser must return { claims, scopes }, or null for a user who may not log in'

const MEMBERS: readonly string[] = ['claims', 'scopes', 'audience', 'access', 'refresh']
const VALUES = ['claims', 'scopes', 'audience'] as const
const EXPIRY = { expiresIn: true, expiresAt: true }

// A forgotten `return` must not keep rights that were removed.
function parseDescription(answer: unknown): UserDescription<object> {
  if (!isJsonObject(answer)) throw new TypeError(RULE)
  const unknown = Object.keys(answer).find((name) => !MEMBERS.includes(name))
  if (unknown !== undefined) {
    throw new TypeError(
      `${RULE}: unknown member "${unknown}". Known members: ${MEMBERS.join(', ')}. Put extra claims into claims`,
    )
  }
  // Neither must an unknown role: `scopes: SCOPES[user.role]`.
  const missing = VALUES.find((name) => name in answer && answer[name] === undefined)
  if (missing !== undefined) {
    throw new TypeError(`${RULE}: ${missing} is undefined. To keep the current value, leave it out`)
  }
  const { claims, access = {}, refresh = {} }: UserDescription<object> = answer
  if (claims !== undefined && !isJsonObject(claims)) throw new TypeError(`${RULE}: claims must be an object`)
  if (claims !== undefined && 'uid' in claims) throw new TypeError(`${RULE}: it cannot change the uid`)
  assertOptions('access of describeUser', access, { ...EXPIRY, fresh: true })
  assertOptions('refresh of describeUser', refresh, EXPIRY)
  return answer
}

function applyDescription(
  { input, options }: PlannedTokens,
  described: UserDescription<object>,
  reason: DescribedLogin['reason'],
): PlannedTokens {
  const { claims, scopes, audience, access = {}, refresh = {} } = described
  const { fresh, ...lifetime } = access
  const withFreshness = reason === 'login' && fresh !== undefined ? { ...lifetime, fresh } : lifetime
  return {
    input: claims === undefined ? input : { ...claims, uid: input.uid },
    options: {
      ...options,
      ...(scopes !== undefined && { scopes }),
      ...(audience !== undefined && { audience }),
      access: mergeOptions(restrict(options.access, described), withFreshness),
      refresh: mergeOptions(restrict(options.refresh, described), refresh),
    },
  }
}

// A call may request fewer scopes than the user has, never more.
function restrict(
  own: CreateTokenOptions = {},
  { scopes, audience }: UserDescription<object>,
): CreateTokenOptions {
  const { scopes: asked, audience: ownAudience, ...rest } = own
  const allowed = scopes === undefined ? null : toList(scopes)
  return {
    ...rest,
    ...(audience === undefined && ownAudience !== undefined && { audience: ownAudience }),
    ...(asked !== undefined && {
      scopes:
        allowed === null ? asked : toList(asked).filter((scope) => hasScopes({ scopes: allowed }, scope)),
    }),
  }
}

// A value that is not a list is rejected when the token is created.
function toList(scopes: readonly string[] | string): readonly string[] {
  if (typeof scopes === 'string') return parseScopes(scopes)
  return Array.isArray(scopes) ? (scopes as readonly string[]) : []
}
