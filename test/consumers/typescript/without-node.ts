import { TokenConfig, TokenManager } from 'tokenlib'
import { createEnforcer, defineStore } from 'tokenlib/kit'
import { createTokenClient, type TokenClient } from '@tokenlib/client'
import { isTokenError, type TokenErrorCode } from 'tokenlib/errors'
import { enforce } from 'tokenlib/fetch'
import { createDurableObjectStore, TokenStoreObject } from 'tokenlib/durable-objects'
import { createMemoryStore } from 'tokenlib/memory'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import { replicate } from 'tokenlib/replica'
import { createSqliteStore } from 'tokenlib/sqlite'

const config = new TokenConfig({ JWT_SECRET_KEY: 'a-fake-secret-for-tests-of-enough-bytes' })
export const tokens = new TokenManager({ config, store: defineStore(createMemoryStore()) })

export const toCode = (error: unknown): TokenErrorCode | null => (isTokenError(error) ? error.code : null)

export const others = [
  createDurableObjectStore,
  createEnforcer,
  createPostgresStore,
  createRedisStore,
  createSqliteStore,
  enforce,
  replicate,
  TokenStoreObject,
]

export const client: TokenClient<{ role: string }> = createTokenClient({
  path: 'https://app.example/auth',
  fetch,
})

export async function useClient(): Promise<string | undefined> {
  client.on('offline', ({ code }) => code)
  client.socket('wss://app.example/live').addEventListener('message', () => {})
  await client.fetch(new Request('https://app.example/notes'), { method: 'POST', body: 'milk' })
  return (await client.session())?.claims.role
}
