// How a replica starts with a million revocations in Redis: the time, the CPU time of both, the longest pause of
// the event loop, and memory.
// npm run build && node benchmarks/replica/measure-start.js [entries] [rounds]
import { Redis } from 'ioredis'
import { startChild } from '../child.js'
import { describeRows } from '../figures.js'
import { createIdBatches, revokeIds } from '../tokens.js'
import { openStore, startServer } from './stores.js'

const REPLICA = new URL('replica-process.js', import.meta.url)
const [entries = '1000000', rounds = '5'] = process.argv.slice(2)

const place = await startServer('redis')
const observer = new Redis(place.url)
try {
  await fill(Number(entries))
  const rows = []
  for (let round = 0; round < Number(rounds); round++) rows.push(await measure())
  console.log(describeRows(rows))
} finally {
  observer.disconnect()
  await place.stop()
}

async function fill(count) {
  const { store, close } = openStore(place)
  await store.prepare({ longestLifetime: 3_600_000 })
  for (const ids of createIdBatches(count)) await revokeIds(store, ids)
  await close()
}

async function measure() {
  const before = await readServerCpu()
  const { entries: found, seconds, cpuSeconds, longestPause, bytes } = await startReplica(false)
  const serverSeconds = (await readServerCpu()) - before
  const { longestTurn } = await startReplica(true)
  return {
    entries: found,
    'ready after, s': round(seconds, 2),
    'CPU, s': round(cpuSeconds, 2),
    'server CPU, s': round(serverSeconds, 2),
    'longest pause, ms': round(longestPause, 1),
    'longest turn, ms of CPU': longestTurn === null ? '-' : round(longestTurn, 1),
    'bytes each': round(bytes / found, 1),
  }
}

async function startReplica(watchesTurns) {
  const { kind, url } = place
  const child = await startChild(REPLICA, { place: { kind, url }, bound: '1s', watchesTurns }, [
    '--expose-gc',
  ])
  await child.stop()
  return child.ready
}

async function readServerCpu() {
  const text = await observer.info('cpu')
  const read = (name) => Number(new RegExp(`^${name}:(.+)$`, 'm').exec(text)?.[1])
  return read('used_cpu_user') + read('used_cpu_sys')
}

function round(value, digits) {
  return Number(value.toFixed(digits))
}
