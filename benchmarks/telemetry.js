// What telemetry costs: the CPU time per request of a Fastify server. Measures it without a check, with a check of a build
// from before observers (if you pass one), with a check that nobody observes, with the OpenTelemetry SDK next to it, and
// instrumented. The last column compares with the SDK alone, to show what this library adds.
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

const SDK_ALONE = 'SDK alone'
const EVERY_SECOND = ', export every second'
const CHECKED = { build: NOW, hasCheck: true, hasSdk: false, isInstrumented: false }
// The interval is the SDK's default.
const WITH_SDK = { ...CHECKED, hasSdk: true, exportMs: 60_000 }
const CONTESTANTS = [
  { ...CHECKED, name: 'no check', hasCheck: false },
  ...(values.before === undefined
    ? []
    : [{ ...CHECKED, name: 'before observers', build: toUrl(values.before) }]),
  { ...CHECKED, name: 'not instrumented' },
  // What the SDK itself costs, including its context manager and one exported application metric.
  { ...WITH_SDK, name: SDK_ALONE },
  { ...WITH_SDK, name: 'instrumented', isInstrumented: true },
  // Sixty times as often as the default, so that every measurement includes an export.
  { ...WITH_SDK, name: `${SDK_ALONE}${EVERY_SECOND}`, exportMs: 1000 },
  { ...WITH_SDK, name: `instrumented${EVERY_SECOND}`, exportMs: 1000, isInstrumented: true },
]
const PARTS = [
  { title: 'the check alone, in a loop', isAwaited: false, isLoop: true },
  { title: 'fast lane: the memory store answers immediately', isAwaited: false },
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
      const ratio = toRatio(all, reference)
      const share = name.startsWith('instrumented')
        ? `  ${toRatio(all, costs.get(name.replace('instrumented', SDK_ALONE)))} of the SDK alone`
        : ''
      console.log(`  ${name.padEnd(34)} ${toText(median(all)).padStart(6)} µs  ${ratio}${share}`)
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

function toRatio(costs, reference) {
  const ratios = costs.map((cost, at) => cost / reference[at])
  return `× ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`
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
