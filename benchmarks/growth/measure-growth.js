import { alternate } from '../alternate.js'
import { startChild } from '../child.js'
import { createGroup, toCount } from '../group.js'
import { listSteps } from './steps.js'

const DISTINCT = new URL('distinct-tokens.js', import.meta.url)

/**
 * Part 4: what happens to speed and memory as revocations and tokens become many.
 *
 * @param {import('../run.js').Run} run
 */
export async function measureGrowth(run) {
  const steps = listSteps(run)
  const servers = await Promise.all(
    steps.map(async (count) => ({
      name: `${toCount(count)} revoked`,
      count,
      child: await run.revokedServers.get('memory store', count),
    })),
  )
  await measureInProcess(run, servers)
  // The first and the last are compared, so they are neighbours.
  const many = servers.filter(({ count }) => count >= 1_000_000).toReversed()
  await measureOverHttp(run, [servers[0], ...many])
  run.reportMemory(
    'revoked',
    servers.map(({ count, child }) => toMemoryRow(count, child.ready)),
  )
  run.reportMemory('distinct', await measureDistinct(run))
}

async function measureInProcess({ quick, report }, servers) {
  const { rounds, sampleMs } = quick ? { rounds: 2, sampleMs: 50 } : { rounds: 5, sampleMs: 150 }
  for (const { child } of servers) await child.ask(300)
  const samples = await alternate(servers, rounds, ({ child }) => child.ask(sampleMs))
  report(createGroup('growth in process', 'accessTokenRequired as revoked tokens become many', samples))
}

async function measureOverHttp({ quick, report, createLoad, revokedServers }, servers) {
  const load = await createLoad(revokedServers.tokens)
  for (const { child } of servers) await load.run(child.ready.url, quick ? 1 : 3)
  const samples = await alternate(servers, quick ? 1 : 7, ({ child }) => load.run(child.ready.url, 1))
  report(createGroup('growth over HTTP', 'Fastify over HTTP as revoked tokens become many', samples))
}

async function measureDistinct({ quick }) {
  const counts = quick ? [1, 10_000] : [1, 1000, 10_000, 100_000, 1_000_000]
  const pace = quick ? { leastMs: 200, mostMs: 500 } : { leastMs: 800, mostMs: 15_000 }
  const rows = []
  for (const count of counts) {
    const child = await startChild(DISTINCT, { count, ...pace }, ['--expose-gc'])
    rows.push(toDistinctRow(child.ready))
    await child.stop()
  }
  return rows
}

function toMemoryRow(count, { loadSeconds, memory }) {
  return { 'revoked tokens': count, 'load, s': round(loadSeconds), ...toMemoryCells(memory) }
}

function toDistinctRow({ count, seen, perSecond, p99, memory }) {
  const speed = { 'checks/s': Math.round(perSecond), 'p99, µs': round(p99 * 1000) }
  return { 'different tokens': count, seen, ...speed, ...toMemoryCells(memory) }
}

function toMemoryCells({ rss, heapUsed, arrayBuffers }) {
  return { 'RSS, MB': rss, 'heap, MB': heapUsed, 'buffers, MB': arrayBuffers }
}

function round(value) {
  return Math.round(value * 10) / 10
}
