import type { CreateTokenOptions } from '../claims/create.js'
import type { SessionClientOptions } from './session-client.js'

/** Options for both tokens of a pair; those under `access` and `refresh` win for that one. */
export interface PairTokenOptions extends CreateTokenOptions {
  readonly access?: CreateTokenOptions
  readonly refresh?: CreateTokenOptions
}

/** Options of a new pair, and where its log-in comes from. */
export interface CreateTokenPairOptions extends PairTokenOptions, SessionClientOptions {}

/** An access and a refresh token of one log-in; both carry the same `sid`. */
export interface TokenPair {
  readonly accessToken: string
  readonly refreshToken: string
  readonly tokenType: 'bearer'
}
