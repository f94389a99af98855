import { TokenConfig, TokenManager } from 'tokenlib'
import { createEnforcer } from 'tokenlib/adapter-kit'
import { isTokenError, type TokenErrorCode } from 'tokenlib/errors'
import { enforce } from 'tokenlib/fetch'
import { defineStore } from 'tokenlib/store-kit'
import { createDurableObjectStore, TokenStoreObject } from 'tokenlib/stores/durable-objects'
import { createMemoryStore } from 'tokenlib/stores/memory'
import { createPostgresStore } from 'tokenlib/stores/postgres'
import { createRedisStore } from 'tokenlib/stores/redis'
import { replicate } from 'tokenlib/stores/replica'
import { createSqliteStore } from 'tokenlib/stores/sqlite'

const config = new TokenConfig({ JWT_SECRET_KEY: 'a-fake-secret-for-tests-of-enough-bytes' })
export const tokens = new TokenManager({ config, revocation: defineStore(createMemoryStore()) })

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
