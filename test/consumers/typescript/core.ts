import { isTokenError, TokenConfig, TokenManager, type TokenPayload } from 'tokenlib'
import { createEnforcer, defineStore, nodeRequestReader } from 'tokenlib/kit'
import { createTokenClient, type TokenClient } from '@tokenlib/client'
import { enforce } from 'tokenlib/fetch'
import { createMemoryStore } from 'tokenlib/memory'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import { replicate } from 'tokenlib/replica'
import { createSqliteStore } from 'tokenlib/sqlite'
import { storeContract } from '@tokenlib/contracts'

export const config = new TokenConfig({ JWT_SECRET_KEY: 'a-fake-secret-for-tests-of-enough-bytes' })
export const tokens = new TokenManager({ config, store: replicate(defineStore(createMemoryStore())) })

export async function useManager(): Promise<string> {
  try {
    const payload: TokenPayload = await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))
    return payload.sub
  } catch (error) {
    return isTokenError(error) ? error.code : 'unknown'
  }
}

export const others = [
  createEnforcer([tokens.accessTokenRequired], nodeRequestReader),
  enforce,
  createPostgresStore,
  createRedisStore,
  createSqliteStore,
  storeContract,
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
