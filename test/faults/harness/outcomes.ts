import type { TokenManager } from '../../../packages/tokenlib/src/index.js'
import { openToken } from '../../helpers/manager.js'
import type { Login } from './worker-protocol.js'

/** What a check said: `unavailable` is a 503, anything but these four is a bug. */
export type Outcome = 'accepted' | 'revoked' | 'unavailable' | 'failed'

/** What became of a check. */
export async function readOutcome(check: Promise<unknown>): Promise<Outcome> {
  try {
    await check
    return 'accepted'
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === 'TOKEN_REVOKED' || code === 'REFRESH_TOKEN_REUSED') return 'revoked'
    return code === 'REVOCATION_UNAVAILABLE' ? 'unavailable' : 'failed'
  }
}

/** What both tokens of a login are, and whether it can be refreshed. */
export async function checkLogin(
  tokens: TokenManager,
  { accessToken, refreshToken }: Login,
): Promise<readonly [access: Outcome, refresh: Outcome]> {
  return [
    await readOutcome(tokens.verify(accessToken)),
    await readOutcome(tokens.verify(refreshToken, { type: 'refresh' })),
  ]
}

/** How many tokens are accepted, where every check must find an answer. */
export async function countAccepted(tokens: TokenManager, logins: readonly Login[]): Promise<number> {
  let accepted = 0
  for (const login of logins) {
    for (const outcome of await checkLogin(tokens, login)) {
      if (outcome === 'accepted') accepted++
      else if (outcome !== 'revoked') throw new Error(`A check came to nothing: ${outcome}`)
    }
  }
  return accepted
}

/** The generation of a refresh token. */
export function readGeneration(refreshToken: string): number {
  return Number(openToken(refreshToken).claims['gen'] ?? Number.NaN)
}
