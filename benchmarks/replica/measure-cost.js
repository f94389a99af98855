// What replicas cost the Redis server that they follow: calls and CPU time per second, idle and while tokens are revoked.
// npm run build && node benchmarks/replica/measure-cost.js [seconds of each measurement]
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { replicate } from 'tokenlib/replica'
import { describeRows } from '../figures.js'
import { createIdBatches, revokeIds } from '../tokens.js'
import { openStore, startServer } from './stores.js'

const BOUND = '1s'
const REVOCATIONS_PER_SECOND = 200
const COUNTS = [0, 1, 10]
const seconds = Number(process.argv[2] ?? 20)

const place = await startServer('redis')
const observer = new Redis(place.url)
const { store, close } = openStore(place)
const replicas = []
try {
  await store.prepare({ longestLifetime: 3_600_000 })
  const rows = []
  for (const count of COUNTS) {
    while (replicas.length < count) replicas.push(await startReplica())
    // A connection that has just been made costs more.
    await sleep(2000)
    rows.push(toRow(count, 0, await measure(() => sleep(seconds * 1000))))
    rows.push(toRow(count, REVOCATIONS_PER_SECOND, await measure(revokeSteadily)))
  }
  console.log(describeRows(rows))
  for (const [at, load] of ['idle', `${REVOCATIONS_PER_SECOND} revocations per second`].entries()) {
    console.log(`One replica, ${load}: ${describeShare(rows[at], rows[at + 2 * (COUNTS.length - 1)])}`)
  }
} finally {
  for (const replica of replicas) await replica.close()
  await close()
  observer.disconnect()
  await place.stop()
}

async function startReplica() {
  const opened = openStore(place)
  const replica = replicate(opened.store, { bound: BOUND })
  await replica.prepare({ longestLifetime: 3_600_000 })
  await replica.replica.ready()
  return {
    async close() {
      await replica.close()
      await opened.close()
    },
  }
}

async function revokeSteadily() {
  const from = performance.now()
  const [ids] = createIdBatches(seconds * REVOCATIONS_PER_SECOND)
  for (const [number, id] of ids.entries()) {
    await sleep(Math.max(0, from + (number * 1000) / REVOCATIONS_PER_SECOND - performance.now()))
    await revokeIds(store, [id])
  }
}

// By the server's own account: what was called from outside, and what it worked in all.
async function measure(run) {
  const before = await readUsage()
  const from = performance.now()
  await run()
  const taken = (performance.now() - from) / 1000
  const after = await readUsage()
  return {
    scripts: (after.scripts - before.scripts) / taken,
    cpu: ((after.cpu - before.cpu) * 1000) / taken,
    bytes: (after.bytes - before.bytes) / taken,
  }
}

async function readUsage() {
  const [calls, cpu, stats] = await Promise.all(
    ['commandstats', 'cpu', 'stats'].map((section) => observer.info(section)),
  )
  const read = (text, name) => Number(new RegExp(`^${name}[:=]([\\d.]+)`, 'm').exec(text)?.[1] ?? 0)
  return {
    scripts: read(calls, 'cmdstat_evalsha:calls') + read(calls, 'cmdstat_eval:calls'),
    cpu: read(cpu, 'used_cpu_user') + read(cpu, 'used_cpu_sys'),
    bytes: read(stats, 'total_net_output_bytes'),
  }
}

function toRow(count, revocations, { scripts, cpu, bytes }) {
  return {
    replicas: count,
    'revocations/s': revocations,
    'scripts per s': Number(scripts.toFixed(1)),
    'server CPU, ms/s': Number(cpu.toFixed(2)),
    'sent, kB/s': Number((bytes / 1000).toFixed(1)),
  }
}

// The difference that one replica makes, by the most that were measured.
function describeShare(none, most) {
  const share = (name) => (most[name] - none[name]) / (most.replicas - none.replicas)
  return (
    `${share('scripts per s').toFixed(1)} scripts per second, ${share('server CPU, ms/s').toFixed(2)} ms of server CPU ` +
    `per second, ${share('sent, kB/s').toFixed(1)} kB per second`
  )
}
