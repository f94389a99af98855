// What the table of revocations costs: `npm run build && node --expose-gc benchmarks/table.js [most entries]`.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { pathToFileURL } from 'node:url'
import { FOREVER } from '../dist/index.js'
import { createRevocationTable } from '../dist/revocation/revocation-table.js'
import { createMemoryStore } from '../dist/stores/memory.js'

const SIZES = [10_000, 100_000, 1_000_000, 10_000_000]
const SAMPLE = 100_000
const ROUNDS = 5
const HOUR = 3_600_000
const CHUNK = 64

/** Bytes an entry, nanoseconds a look-up and the longest `revoke`, at each size of one store that grows. */
export async function measureGrowth(sizes = SIZES) {
  const clock = { now: Date.now() }
  const store = createMemoryStore({ clock: () => clock.now })
  const before = measureMemory()
  const sample = Buffer.alloc(SAMPLE * 16)
  const figures = []
  let entries = 0
  for (const size of sizes) {
    const every = Math.max(1, Math.floor(size / SAMPLE))
    const steps = createStopwatch()
    const loop = watchLoop()
    const startedAt = performance.now()
    while (entries < size) {
      const bytes = randomBytes(16 * CHUNK)
      for (let at = 0; at < CHUNK && entries < size; at++, entries++) {
        const id = bytes.toString('base64url', 16 * at, 16 * at + 16)
        const entry = { kind: 'token', id, notBefore: FOREVER, until: clock.now + HOUR }
        steps.start()
        const revoked = store.revoke([entry])
        steps.stop()
        await revoked
        if (entries % every === 0)
          bytes.copy(sample, ((entries / every) % SAMPLE) * 16, 16 * at, 16 * at + 16)
      }
      await new Promise(setImmediate)
    }
    const seconds = (performance.now() - startedAt) / 1000
    const held = { ...loop.stop(), ...steps.read() }
    const memory = measureMemory()
    const known = sample.subarray(0, Math.min(SAMPLE, size) * 16)
    const look = (id) => store.lookup([{ kind: 'token', id }])[0] !== undefined
    figures.push({
      entries: size,
      arrayBytes: (memory.arrays - before.arrays - sample.length) / size,
      heapBytes: (memory.heap - before.heap) / size,
      hitNs: timeIds(known, look, true),
      missNs: timeIds(randomBytes(16 * SAMPLE), look, false),
      seconds,
      ...held,
      fullGcMs: timeGc(),
    })
  }
  clock.now += 2 * HOUR
  return { figures, pruning: await measurePruning(store, entries) }
}

/** Nanoseconds that the table alone takes for an id; the rest of a look-up is the store around it. */
export function measureTable(size = 1_000_000) {
  const table = createRevocationTable()
  const ids = randomBytes(16 * size)
  for (let at = 0; at < size; at++) table.put(ids.toString('base64url', 16 * at, 16 * at + 16), FOREVER, 0)
  return {
    entries: size,
    hitNs: timeIds(ids.subarray(0, 16 * SAMPLE), (id) => table.has(id), true),
    missNs: timeIds(randomBytes(16 * SAMPLE), (id) => table.has(id), false),
  }
}

/** The same for a `Set` of texts, which is what an application without a store would have. */
export function measureSet(size = 1_000_000) {
  const before = measureMemory()
  const set = new Set()
  const ids = randomBytes(16 * size)
  for (let at = 0; at < size; at++) set.add(ids.toString('base64url', 16 * at, 16 * at + 16))
  const heap = measureMemory().heap - before.heap
  return {
    entries: size,
    heapBytes: heap / size,
    hitNs: timeIds(ids.subarray(0, 16 * SAMPLE), (id) => set.has(id), true),
    missNs: timeIds(randomBytes(16 * SAMPLE), (id) => set.has(id), false),
    fullGcMs: timeGc(),
  }
}

/** The longest that this machine itself keeps a program waiting that does nothing but look at the clock. */
export function measureMachine(seconds = 5) {
  const steps = createStopwatch()
  const end = performance.now() + seconds * 1000
  while (performance.now() < end) {
    steps.start()
    steps.stop()
  }
  return { seconds, ...steps.read() }
}

async function measurePruning(store, entries) {
  const loop = watchLoop()
  const startedAt = performance.now()
  const dropped = await store.prune(Number.POSITIVE_INFINITY)
  const seconds = (performance.now() - startedAt) / 1000
  return { entries, dropped, seconds, ...loop.stop(), arrayBytesLeft: measureMemory().arrays }
}

// Texts made anew for each round: a text that was looked up before remembers its hash.
function timeIds(bytes, look, expected) {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const ids = []
    for (let at = 0; at < bytes.length; at += 16) ids.push(bytes.toString('base64url', at, at + 16))
    const startedAt = performance.now()
    for (const id of ids) if (look(id) !== expected) throw new Error('A wrong answer')
    best = Math.min(best, ((performance.now() - startedAt) * 1e6) / ids.length)
  }
  return best
}

function createStopwatch() {
  let [startedAt, longest, slow] = [0, 0, 0]
  return {
    start: () => void (startedAt = performance.now()),
    stop() {
      const took = performance.now() - startedAt
      if (took > longest) longest = took
      if (took > 5) slow++
    },
    read: () => ({ longestMs: longest, over5Ms: slow }),
  }
}

// The longest turn of the event loop, by a task that wants to run in every one, and by a timer of Node's.
function watchLoop() {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  let [longest, longestCpu, slow, isOn] = [0, 0, 0, true]
  let [seenAt, cpu] = [performance.now(), readCpuMs()]
  const look = () => {
    const cpuMs = readCpuMs() - cpu
    longest = Math.max(longest, performance.now() - seenAt)
    longestCpu = Math.max(longestCpu, cpuMs)
    if (cpuMs > 5) slow++
    seenAt = performance.now()
    cpu = readCpuMs()
    if (isOn) setImmediate(look)
  }
  setImmediate(look)
  return {
    stop() {
      isOn = false
      delay.disable()
      return {
        longestTurnMs: longest,
        longestTurnCpuMs: longestCpu,
        turnsOver5CpuMs: slow,
        longestDelayMs: delay.max / 1e6 - 1,
      }
    },
  }
}

// What the main thread has used of a processor: on a machine where others work too, the time of a clock tells little.
function readCpuMs() {
  // Linux brings the file up to date when it is asked this.
  const { user, system } = process.cpuUsage()
  if (process.platform !== 'linux') return (user + system) / 1000
  return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ')[0]) / 1e6
}

function measureMemory() {
  timeGc()
  timeGc()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return { arrays: arrayBuffers, heap: heapUsed }
}

function timeGc() {
  if (globalThis.gc === undefined) throw new Error('Run with --expose-gc')
  const startedAt = performance.now()
  globalThis.gc()
  return performance.now() - startedAt
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const most = Number(process.argv[2] ?? SIZES.at(-1))
  const print = (title, figures) => {
    const rounded = Object.entries(figures).map(([name, value]) => [name, Number(value.toFixed(2))])
    console.log(title, Object.fromEntries(rounded))
  }
  print('the machine by itself', measureMachine())
  print('the table alone', measureTable())
  print('a Set', measureSet())
  const { figures, pruning } = await measureGrowth(SIZES.filter((size) => size <= most))
  for (const figure of figures) print('a memory store', figure)
  print('pruning', pruning)
}
