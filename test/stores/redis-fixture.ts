import { Redis } from 'ioredis'
import { createRedisStore } from 'tokenlib/redis'
import { onTestFinished } from 'vitest'
import { createNonce, systemRandom } from '../../packages/tokenlib/src/tokens/ids.js'
import { FOREVER, type Revocation } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { type RedisSettings, startRedis } from '../helpers/servers/start-redis.js'

/** In milliseconds. */
export const HOUR = 3_600_000
/** Rules of rotation that forgive nothing. */
export const RULES = { graceMs: 0, idleMs: FOREVER, ip: null, userAgent: null }
/** The first page of a user's sessions. */
export const LIST = { limit: 1000, before: null, idleMs: FOREVER }
/** The key of the watermark of all sessions. */
export const ALL = { kind: 'all' as const, id: '' }
/** The revocation of a token, for ever. */
export const token = (id: string): Revocation => ({ kind: 'token', id, notBefore: FOREVER, until: FOREVER })
/** A login that never ends. */
export const session = (user = 'ada') => ({
  user,
  nonce: createNonce(systemRandom),
  expiresAt: FOREVER,
  until: FOREVER,
  ip: null,
  userAgent: null,
})

/** A server and a client of its own, which go with the test. */
export async function start(settings: RedisSettings = {}): Promise<{ server: RunningServer; client: Redis }> {
  const server = await startRedis(settings)
  const client = connect(server)
  onTestFinished(() => server.stop())
  return { server, client }
}

function connect(server: RunningServer): Redis {
  const client = new Redis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 20 })
  client.on('error', () => undefined)
  onTestFinished(() => client.disconnect())
  return client
}

/** A store that is ready; it tells of lost data only whom it is given. */
export async function prepared(
  client: Redis,
  onWarning: (message: string) => void = () => undefined,
): Promise<Required<RevocationStore>> {
  const store = createRedisStore(client, { onWarning })
  await store.prepare({ longestLifetime: HOUR })
  return store as Required<RevocationStore>
}
