import { TokenConfig, TokenManager } from 'tokenlib'
import { createMemoryStore } from 'tokenlib/memory'

export const store = createMemoryStore() // in production: Redis, PostgreSQL or SQLite

export const tokens = new TokenManager({
  config: TokenConfig.fromEnv({ JWT_TOKEN_LOCATION: ['cookies'], JWT_REFRESH_COOKIE_PATH: '/auth' }),
  store,
})
