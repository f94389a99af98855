import { DatabaseSync } from 'node:sqlite'
import { isTokenError, toErrorResponse, TokenConfig, TokenManager, type TokenPayload } from 'tokenlib'
import { createSqliteStore } from 'tokenlib/sqlite'

const database = new DatabaseSync(process.env.TOKENS_DATABASE ?? 'tokens.db')

export const tokens = new TokenManager({
  config: TokenConfig.fromEnv({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] }),
  store: createSqliteStore(database),
})

/** The payload of the visitor's token, or `null` without a valid one. */
export async function readVisitor(request: Request): Promise<TokenPayload | null> {
  try {
    return await tokens.accessTokenOptional(request)
  } catch (error) {
    // An outage is not a logout.
    if (isTokenError(error) && toErrorResponse(error).status !== 503) return null
    throw error
  }
}
