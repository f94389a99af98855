import { type CreateTokenOptions, type RefreshTokenOptions, TOKEN_OPTIONS } from '../claims/create.js'
import type { OptionNames } from '../options.js'
import { CLIENT_OPTIONS, type SessionClientOptions } from './session-client.js'

/** Options for both tokens of a pair; those under `access` and `refresh` win for that one. */
export interface PairTokenOptions extends CreateTokenOptions {
  readonly access?: CreateTokenOptions
  readonly refresh?: RefreshTokenOptions
}

/** Options of a new pair, and where its log-in comes from. */
export interface CreateTokenPairOptions extends PairTokenOptions, SessionClientOptions {}

/** The names of `CreateTokenPairOptions`. */
export const PAIR_OPTIONS: OptionNames<CreateTokenPairOptions> = {
  ...TOKEN_OPTIONS,
  ...CLIENT_OPTIONS,
  access: true,
  refresh: true,
}

/** An access and a refresh token of one log-in; both carry the same `sid`. */
export interface TokenPair {
  readonly accessToken: string
  readonly refreshToken: string
  readonly tokenType: 'bearer'
}
