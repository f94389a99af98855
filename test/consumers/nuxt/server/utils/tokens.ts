import { DatabaseSync } from 'node:sqlite'
import { TokenConfig, TokenManager, setCookies, type RefreshedTokens } from 'tokenlib'
import { handleErrors } from 'tokenlib/fetch'
import { createSqliteStore } from 'tokenlib/sqlite'

const database = new DatabaseSync(process.env.TOKENS_DATABASE ?? 'tokens.db')

export const tokens = new TokenManager({
  config: TokenConfig.fromEnv({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] }),
  store: createSqliteStore(database),
})

/** Wraps a handler so that token errors become responses. */
export const answerErrors = handleErrors({ config: tokens.config })

/** The `Set-Cookie` values of both tokens. */
export function toCookies(pair: RefreshedTokens): string[] {
  return setCookies(tokens, pair)
}
