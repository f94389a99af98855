// From `revoke` resolving in one process to the refusal in four others.
// npm run build && node benchmarks/replica/measure-propagation.js [redis|postgres] [revocations]
import { setTimeout as sleep } from 'node:timers/promises'
import { startChild } from '../child.js'
import { describeRows } from '../figures.js'
import { createIdBatches, revokeIds } from '../tokens.js'
import { now, openStore, startServer } from './stores.js'

const REPLICA = new URL('replica-process.js', import.meta.url)
const PROCESSES = 4
const BOUND = '1s'
const [PAUSE_MS, SETTLE_MS] = [20, 2000]
const [kind = 'redis', count = '500'] = process.argv.slice(2)
if (kind !== 'redis' && kind !== 'postgres') throw new TypeError('The store must be redis or postgres')

const place = await startServer(kind)
const children = []
try {
  const { store, close } = openStore(place)
  await store.migrate?.()
  await store.prepare({ longestLifetime: 3_600_000 })
  for (let number = 0; number < PROCESSES; number++) {
    const setUp = { place: { kind, url: place.url }, bound: BOUND }
    children.push(await startChild(REPLICA, setUp, ['--expose-gc']))
  }
  await sleep(SETTLE_MS)
  const resolved = new Map()
  const [ids] = createIdBatches(Number(count))
  for (const id of ids) {
    await revokeIds(store, [id])
    resolved.set(id, now())
    // Not in step with anything that polls.
    await sleep(PAUSE_MS * (0.5 + Math.random()))
  }
  await sleep(SETTLE_MS)
  const delays = await Promise.all(children.map((child) => readDelays(child, resolved)))
  const slowest = ids.map((_, at) => Math.max(...delays.map((each) => each[at])))
  console.log(
    describeRows([
      { store: kind, measured: `${ids.length} revocations`, ...toPercentiles(delays.flat()) },
      { store: kind, measured: 'the last of four', ...toPercentiles(slowest) },
    ]),
  )
  await close()
} finally {
  for (const child of children) await child.stop()
  await place.stop()
}

// In milliseconds; 0 for what arrived before `revoke` resolved.
async function readDelays(child, resolved) {
  const arrivals = await child.ask('arrivals')
  return [...resolved].map(([id, at]) => {
    if (!arrivals.has(id)) throw new Error('A revocation has not arrived')
    return Math.max(0, arrivals.get(id) - at)
  })
}

function toPercentiles(values) {
  const sorted = values.toSorted((one, other) => one - other)
  const at = (share) => Number(sorted[Math.ceil(share * sorted.length) - 1].toFixed(2))
  return { 'p50, ms': at(0.5), 'p99, ms': at(0.99), 'most, ms': at(1) }
}
