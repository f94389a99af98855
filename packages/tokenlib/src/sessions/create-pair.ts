import type { ClaimsInput } from '../tokens/create.js'
import { ConfigurationError } from '../errors.js'
import type { SessionClient } from '../events.js'
import { assertOptions } from '../options.js'
import {
  type CreateTokenPairOptions,
  PAIR_OPTIONS,
  parseLimit,
  type TokenPair,
} from '../revocation/session-options.js'
import type { Sessions } from '../revocation/sessions.js'
import { type Authenticator, reportRejection } from '../requests/authenticate.js'
import type { PlannedTokens, UserDescriber } from './describe-user.js'
import type { TokenMaker } from './token-maker.js'

/** What a log-in works with. */
export interface CreatePairParts {
  readonly maker: TokenMaker
  /** `null` where no store keeps sessions. */
  readonly sessions: Sessions | null
  readonly users: UserDescriber
  readonly authenticator: Authenticator
}

/** An access and a refresh token for a new session, which is kept where the store keeps sessions. */
export async function createTokenPair(
  { maker, sessions, users, authenticator }: CreatePairParts,
  given: ClaimsInput,
  options: CreateTokenPairOptions,
): Promise<TokenPair> {
  assertOptions('createTokenPair()', options, PAIR_OPTIONS)
  const { request, ip, userAgent, remember, maxSessions, whenFull, ...givenOptions } = options
  if (remember !== undefined && typeof remember !== 'boolean') {
    throw new TypeError('remember must be true or false')
  }
  const limit = parseLimit({ maxSessions, whenFull })
  if (limit !== null && sessions === null) {
    throw new ConfigurationError(
      'maxSessions needs a store that keeps sessions: new TokenManager({ config, revocation: store })',
    )
  }
  const { emit, clients } = authenticator
  const client = clients.read({ request, ip, userAgent })
  // Before anything else is asked of the claims: a description may be what makes them complete.
  const described = await describe({ users, authenticator }, { input: given, options: givenOptions }, client)
  const { input: claims, options: tokenOptions } = described
  const { endsAt, inputLength } = maker.planPair(claims, tokenOptions, { remember })
  // Before a session is opened that nobody would have tokens of. A log-in with a limit may also end another session, which
  // cannot be undone: the signer has to work at this moment.
  await (limit === null ? maker.assertSignerAvailable() : maker.probeSigner(inputLength))
  const session = (await sessions?.open(claims.uid, endsAt, client, limit)) ?? maker.startSession()
  let pair: TokenPair
  try {
    pair = await maker.signPair(claims, tokenOptions, session, { remember })
  } catch (error) {
    await sessions?.discard(session.sid, endsAt)
    throw error
  }
  emit('loggedIn', () => ({ sub: claims.uid, sid: session.sid, ...client }))
  return pair
}

async function describe(
  { users, authenticator }: Pick<CreatePairParts, 'users' | 'authenticator'>,
  planned: PlannedTokens,
  client: SessionClient,
): Promise<PlannedTokens> {
  try {
    return await users.describe(planned, 'login')
  } catch (error) {
    const { ip, userAgent } = client
    const from = { ip: ip ?? undefined, userAgent: userAgent ?? undefined }
    reportRejection(authenticator, error, { claims: { sub: planned.input.uid }, client: from })
    throw error
  }
}
