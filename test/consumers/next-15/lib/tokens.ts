import { TokenConfig, TokenManager } from 'tokenlib'
import { createSqliteStore, type SqliteDatabase } from 'tokenlib/sqlite'

// Not an import: the types of Node 20, which the template of Next.js installs, do not have this module.
const { DatabaseSync } = process.getBuiltinModule('node:sqlite') as {
  readonly DatabaseSync: new (path: string) => SqliteDatabase
}

function createTokens() {
  const config = TokenConfig.fromEnv({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
  const database = new DatabaseSync(process.env.TOKENS_DATABASE ?? 'tokens.db')
  return new TokenManager({ config, store: createSqliteStore(database) })
}

// Next.js loads this module several times in one process: for the proxy, for routes, for pages, and again after each
// change in development. They share this manager, and so its connection to the store.
const shared = globalThis as typeof globalThis & { tokens?: ReturnType<typeof createTokens> }

export const tokens = (shared.tokens ??= createTokens())
