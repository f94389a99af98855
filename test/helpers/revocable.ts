import {
  type AnyClaims,
  type JsonClaims,
  type RefreshedTokens,
  type RevocationStore,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  type TokenManagerOptions,
  type TokenPair,
} from '../../packages/tokenlib/src/index.js'
import { nextTurn } from '../../packages/tokenlib/src/runtime.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, PATIENT, SECRET } from './manager.js'

interface Given extends Pick<
  TokenManagerOptions<JsonClaims, AnyClaims, unknown>,
  'describeUser' | 'clientIp'
> {
  readonly clock?: ReturnType<typeof createClock>
  readonly store?: RevocationStore
}

/** A manager with a memory store on one clock; `options` are configuration fields. */
export function createRevocable(options: TokenConfigOptions = {}, given: Given = {}) {
  const { clock = createClock(), store = createMemoryStore({ clock }), ...manager } = given
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, ...options })
  return { tokens: new TokenManager({ config, clock, store, ...manager }), clock, store }
}

/** The code of the error a promise rejects with, or `ok`. */
export async function outcomeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'ok'
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

/** Resolves once what is under way inside this process has settled. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await nextTurn()
}

/** The pair of a refresh that moved its session on; a `TypeError` if the refresh token stayed as it is. */
export function toPair({ accessToken, refreshToken, tokenType }: RefreshedTokens): TokenPair {
  if (refreshToken === null) throw new TypeError('The refresh token stayed as it is')
  return { accessToken, refreshToken, tokenType }
}

/** Refreshes when the grace is over, so that the session moves on. */
export async function advance(
  { tokens, clock }: Pick<ReturnType<typeof createRevocable>, 'tokens' | 'clock'>,
  refreshToken: string,
): Promise<TokenPair> {
  clock.seconds += 60
  return toPair(await tokens.sessions.refresh(refreshToken))
}
