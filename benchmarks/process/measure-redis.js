import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { startChild } from '../child.js'
import { median } from '../figures.js'
import { startRedis } from '../programs.js'

/**
 * What a lookup of the Redis store costs compared with a plain `GET` of the same client: CPU time per call of the Node process
 * and, on Linux, of the server. Prints medians.
 *
 *     npm run build && node benchmarks/process/measure-redis.js
 */
const CONTESTANTS = [
  { name: 'ioredis, GET', client: 'ioredis', call: 'get' },
  { name: 'ioredis, lookup', client: 'ioredis', call: 'lookup' },
  { name: 'redis, GET', client: 'redis', call: 'get' },
  { name: 'redis, lookup', client: 'redis', call: 'lookup' },
]

const LOADS = [
  { title: 'one call at a time', atOnce: 1, calls: 3000 },
  // As many as a server with 32 connections has.
  { title: '32 calls at once', atOnce: 32, calls: 10_000 },
]

const ROUNDS = 9

const server = await startRedis(console.error)
if (server === null) process.exit(1)
const readServerTime = await createServerTimer(server.url)
const callers = []
for (const contestant of CONTESTANTS) {
  const child = await startChild(new URL('redis-caller.js', import.meta.url), {
    url: server.url,
    ...contestant,
  })
  callers.push({ ...contestant, child })
}
for (const { title, ...load } of LOADS) {
  for (const { child } of callers) await child.ask(load)
  const samples = new Map(callers.map(({ name }) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, child } of round % 2 === 0 ? callers : callers.toReversed()) {
      const before = readServerTime()
      const own = await child.ask(load)
      samples.get(name).push({ own, server: (readServerTime() - before) / load.calls })
    }
  }
  console.log(`\n${title}, CPU µs per call`.padEnd(38), 'Node'.padStart(8), 'Redis'.padStart(8))
  for (const [name, results] of samples) {
    const [own, ofServer] = ['own', 'server'].map((key) => median(results.map((result) => result[key])))
    console.log(name.padEnd(37), own.toFixed(1).padStart(8), ofServer.toFixed(1).padStart(8))
  }
}
for (const { child } of callers) await child.stop()
await server.stop()

// In steps of 10 ms.
async function createServerTimer(url) {
  const client = new Redis(url)
  const id = /process_id:(\d+)/.exec(await client.info('server'))?.[1]
  client.disconnect()
  return () => {
    try {
      const [, fields] = readFileSync(`/proc/${id}/stat`, 'utf8').split(') ')
      const [user, system] = fields.split(' ').slice(11, 13).map(Number)
      return (user + system) * 10_000
    } catch {
      return Number.NaN
    }
  }
}
