import { Redis } from 'ioredis'
import { TokenConfig, TokenManager } from 'tokenlib'
import { createRedisStore } from 'tokenlib/redis'

// Created once per instance of the function, and used by all of its invocations.
const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
redis.on('error', (error: Error) => console.error(error.message))

export const tokens = new TokenManager({
  config: TokenConfig.fromEnv({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] }),
  store: createRedisStore(redis, { namespace: 'example' }),
})
