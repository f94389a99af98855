import { freemem } from 'node:os'
import { startChild } from '../child.js'
import { createGroup, toCount } from '../figures.js'
import { createSite, measureServers, startServers, stopServers } from '../http/measure-http.js'

const DISTINCT = new URL('distinct-tokens.js', import.meta.url)
const MILLION = 1_000_000
// What ten million revocations and the server around them may take.
const NEEDED_BYTES = 3e9

/**
 * What happens to CPU time and memory as revoked tokens and different tokens become many.
 *
 * @param {import('../run.js').Run} run
 */
export async function measureGrowth(run) {
  if (run.isWanted('Revoked tokens')) await measureRevoked(run)
  if (run.isWanted('Different tokens')) await measureDistinct(run)
}

async function measureRevoked(run) {
  const { report, reportMemory } = run
  const site = await createSite(run, null)
  const contestants = listCounts(run).map((revokedCount) => ({
    name: `${toCount(revokedCount)} revoked`,
    framework: 'Fastify',
    kind: 'ours',
    revocation: 'memory',
    revokedCount,
  }))
  const servers = await startServers(site, contestants, 1)
  try {
    const memory = []
    for (const { revokedCount, children } of servers)
      memory.push(toRow('revoked', revokedCount, await children[0].ask('memory')))
    const samples = await measureServers(run, await site.createLoad(), servers)
    report(createGroup('revoked tokens', 'Revoked tokens in the memory store, Fastify over HTTP', samples))
    reportMemory('revoked tokens', memory)
  } finally {
    await stopServers(servers)
  }
}

function listCounts({ quick, log }) {
  if (quick) return [0, MILLION]
  const available = process.availableMemory?.() ?? freemem()
  if (available >= NEEDED_BYTES) return [0, 10 * MILLION, MILLION, 10_000]
  log('There is too little memory to revoke ten million tokens: one million is the most.')
  return [0, MILLION, 10_000]
}

async function measureDistinct({ quick, reportMemory }) {
  const counts = quick ? [1, 10_000] : [1, 1000, 10_000, 100_000, MILLION]
  const child = await startChild(DISTINCT, null, ['--expose-gc'])
  const rows = []
  try {
    for (const count of counts) {
      const { cost, ...memory } = await child.ask(count)
      rows.push({ ...toRow('different tokens', count, memory), 'CPU, µs each': Math.round(cost * 10) / 10 })
    }
  } finally {
    await child.stop()
  }
  reportMemory('different tokens', rows)
}

function toRow(name, count, { rss, heap, buffers }) {
  return { [name]: count, 'RSS, MB': rss, 'heap, MB': heap, 'buffers, MB': buffers }
}
