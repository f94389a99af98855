import { TokenConfig, TokenManager } from 'tokenlib'
import { createMemoryStore } from 'tokenlib/memory'

export const tokens = new TokenManager({
  config: TokenConfig.fromEnv({
    JWT_TOKEN_LOCATION: ['cookies'],
    JWT_REFRESH_COOKIE_PATH: '/session',
    JWT_COOKIE_SECURE: process.env.NODE_ENV === 'production',
  }),
  store: createMemoryStore(), // in production: Redis, PostgreSQL or SQLite
})
