// What telemetry costs: the CPU time of a server for each request, in Fastify. Without a check, with a check of a build
// before there were observers (if one is given), with a check that nobody observes, with the SDK of OpenTelemetry beside
// it, and instrumented.
// npm run build && node benchmarks/telemetry.js [--before <folder of another build>] [--processes 7]
//   [--part <start of a title>] [--quick]
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { startChild } from './child.js'
import { createLoad } from './load.js'

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    processes: { type: 'string', default: '7' },
    part: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
  },
})
const PROCESSES = Number(values.processes)
const [WARM_UP, REQUESTS, TURNS, CHECKS] = values.quick
  ? [4000, 3000, 2, 200_000]
  : [10_000, 5000, 5, 300_000]
const SERVER = new URL('telemetry-server.js', import.meta.url)
const NOW = toUrl('packages/tokenlib/dist')
const NODE_OPTIONS = ['--no-flush-bytecode', '--no-memory-reducer']

const CHECKED = { build: NOW, hasCheck: true, hasSdk: false, isInstrumented: false }
const CONTESTANTS = [
  { ...CHECKED, name: 'no check', hasCheck: false },
  ...(values.before === undefined
    ? []
    : [{ ...CHECKED, name: 'before observers', build: toUrl(values.before) }]),
  { ...CHECKED, name: 'not instrumented' },
  // What the SDK itself costs: its context manager follows every promise of the process.
  { ...CHECKED, name: 'SDK alone', hasSdk: true },
  { ...CHECKED, name: 'instrumented', hasSdk: true, isInstrumented: true },
]
const PARTS = [
  { title: 'the check alone, in a loop', isAwaited: false, isLoop: true },
  { title: 'fast lane: the memory store answers at once', isAwaited: false },
  { title: 'recipe: the store has to be waited for, a span for each request', isAwaited: true },
]

const folder = mkdtempSync(join(tmpdir(), 'tokenlib-telemetry-'))
const sink = await startSink()
try {
  for (const { title, ...part } of PARTS.filter((each) => each.title.startsWith(values.part))) {
    const costs = await measure(part)
    // The build before observers, if there is one. Ratios are those of processes that were measured side by side: a busy
    // machine changes all of them alike.
    const reference = costs.get(values.before === undefined ? 'not instrumented' : 'before observers')
    console.log(`\n${title}; ${PROCESSES} processes each, in turn`)
    for (const [name, all] of costs) {
      const ratios = all.map((cost, at) => cost / reference[at])
      const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`
      const ratio = `× ${median(ratios).toFixed(2)} (${range})`
      console.log(`  ${name.padEnd(18)} ${toText(median(all)).padStart(6)} µs  ${ratio}`)
    }
  }
} finally {
  sink.close()
  sink.closeAllConnections()
  rmSync(folder, { recursive: true, force: true })
}

/** The microseconds of CPU time for each request, of each process of each contestant. */
async function measure({ isAwaited, isLoop = false }) {
  const contestants = CONTESTANTS.filter(({ hasCheck }) => hasCheck || !isLoop)
  const costs = new Map(contestants.map(({ name }) => [name, []]))
  const collector = `http://127.0.0.1:${sink.address().port}`
  for (let at = 0; at < PROCESSES; at++) {
    // The order changes, so that nobody always comes first.
    const order = contestants.map((_, index) => contestants[(index + at) % contestants.length])
    const servers = []
    try {
      for (const contestant of order) {
        const child = await startChild(SERVER, { ...contestant, isAwaited, collector }, NODE_OPTIONS)
        // It keeps the tokens in a file.
        const load = await createLoad(child.ready.tokens, mkdtempSync(join(folder, 'load-')), console.error)
        servers.push({ contestant, child, load, samples: [] })
        await (isLoop ? child.ask(CHECKS) : load.run(child.ready.url, WARM_UP))
      }
      for (let turn = 0; turn < TURNS; turn++) {
        for (const { child, load, samples } of servers)
          samples.push(await (isLoop ? child.ask(CHECKS) : sample(child, load)))
      }
      for (const { contestant, samples } of servers) costs.get(contestant.name).push(median(samples))
    } finally {
      for (const { child } of servers) await child.stop()
    }
  }
  return costs
}

async function sample(child, load) {
  const before = await child.ask('cpu')
  const { requests } = await load.run(child.ready.url, REQUESTS)
  return ((await child.ask('cpu')) - before) / requests
}

// Takes what is exported, and drops it.
async function startSink() {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('{}'))
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return server
}

function median(numbers) {
  const sorted = numbers.toSorted((one, other) => one - other)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

function toText(microseconds) {
  return microseconds.toFixed(microseconds < 10 ? 3 : 1)
}

function toUrl(path) {
  return pathToFileURL(`${resolve(path)}/`).href
}
