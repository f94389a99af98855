import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { createRedisStore, type RedisClient } from 'tokenlib/redis'
import { replicate } from 'tokenlib/replica'

// A process with a replica, which does nothing else: it reports what it sees until it is told to close, and ends when
// nothing holds it any more.

const [name, url = ''] = process.argv.slice(2)
const KEYS = [{ kind: 'token' as const, id: 'a' }]

const { client, end } = name === 'ioredis' ? connectIoredis() : connectNodeRedis()
const store = replicate(createRedisStore(client), { bound: '500ms' })
const closing = new AbortController()
process.once('message', () => closing.abort())

const isReady = await Promise.race([
  store.prepare({ longestLifetime: 3_600_000 }).then(
    () => true,
    () => false,
  ),
  sleep(1000, false),
])
await store.replica?.ready().catch(() => undefined)
process.send?.(isReady ? 'ready' : 'not ready')
let last = ''
while (!closing.signal.aborted) {
  const seen = await store.lookup(KEYS).then(
    ([notBefore]) => (notBefore === undefined ? 'passed' : 'refused'),
    () => 'stale',
  )
  if (seen !== last) process.send?.(seen)
  last = seen
  await sleep(10)
}
await store.close()
end()
process.disconnect()

function connectIoredis(): { readonly client: RedisClient; end(): void } {
  const redis = new Redis(url)
  redis.on('error', () => undefined)
  return { client: redis, end: () => redis.disconnect() }
}

function connectNodeRedis(): { readonly client: RedisClient; end(): void } {
  const redis = createClient({ url })
  redis.on('error', () => undefined)
  // It rejects when the client is destroyed first.
  redis.connect().catch(() => undefined)
  return { client: redis, end: () => redis.destroy() }
}
