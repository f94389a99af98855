import { DatabaseSync } from 'node:sqlite'
import { setCookies, TokenConfig, TokenManager, type RefreshedTokens } from 'tokenlib'
import { createSqliteStore } from 'tokenlib/sqlite'

const database = new DatabaseSync(process.env.TOKENS_DATABASE ?? 'tokens.db')

export const tokens = new TokenManager({
  config: TokenConfig.fromEnv({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] }),
  store: createSqliteStore(database),
})

/** The `Set-Cookie` values of both tokens. */
export function toCookies(pair: RefreshedTokens): string[] {
  return setCookies(tokens, pair)
}
