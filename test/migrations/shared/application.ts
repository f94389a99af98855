import type { RefreshedTokens, TokenManager } from 'tokenlib'
import type { Clock } from 'tokenlib/kit'
import type { RunningServer } from '../../../examples/server.js'

/** What the new application of a migration is started with. */
export interface AfterSettings {
  readonly port: number
  readonly clock: Clock
  /** The moment from which on old tokens are refused. */
  readonly acceptUntil: Date
}

/** The new application, listening. */
export interface RunningSuccessor extends RunningServer {
  readonly tokens: TokenManager
}

/** What login and refresh answer. */
export const toAnswer = ({ accessToken, refreshToken }: RefreshedTokens) => ({
  access_token: accessToken,
  // Left out if the client keeps the one that it sent.
  refresh_token: refreshToken ?? undefined,
})
