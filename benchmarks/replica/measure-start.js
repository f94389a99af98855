// How a replica starts with a million revocations in Redis: the time, the longest pause of the event loop, and memory.
// npm run build && node benchmarks/replica/measure-start.js [entries] [rounds]
import { startChild } from '../child.js'
import { startRedis } from '../programs.js'
import { createIdBatches, revokeIds } from '../tokens.js'
import { openStore } from './stores.js'

const REPLICA = new URL('replica-process.js', import.meta.url)
const entries = Number(process.argv[2] ?? 1_000_000)
const rounds = Number(process.argv[3] ?? 5)

const redis = await startRedis(console.log)
if (redis === null) process.exit(1)
try {
  const place = { kind: 'redis', url: redis.url }
  const { store, close } = await openStore(place)
  await store.prepare({ longestLifetime: 3_600_000 })
  for (const ids of createIdBatches(entries)) await revokeIds(store, ids)
  await close()
  for (let round = 0; round < rounds; round++) {
    const child = await startChild(REPLICA, { place, bound: '1s' }, ['--expose-gc'])
    const { milliseconds, longestPause, bytes, entries: found } = child.ready
    await child.stop()
    console.log(
      `${found} entries: ready after ${(milliseconds / 1000).toFixed(2)} s, longest pause ` +
        `${longestPause.toFixed(1)} ms, ${(bytes / found).toFixed(1)} bytes per entry`,
    )
  }
} finally {
  await redis.stop()
}
