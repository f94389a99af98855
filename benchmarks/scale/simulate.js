import { createMemoryStore } from 'tokenlib/memory'
import { replicate } from 'tokenlib/replica'
import { createIdBatches } from '../tokens.js'
import { LONGEST_LIFETIME } from './lifetime.js'

// From a process to the server, and back.
const NETWORK_MS = 0.5
const SAMPLE_MS = 100

/**
 * Real replicas in virtual time, and a server with one core that answers one call after the other. Its calls take as
 * long as they were measured to take.
 *
 * @param {import('./measure-costs.js').Costs} costs
 * @param {{ boundMs: number, hasWakeUps: boolean }} mode
 * @param {number} processes
 * @param {number} revocationsPerSecond
 */
export async function simulate(costs, { boundMs, hasWakeUps }, processes, revocationsPerSecond) {
  const { clock, schedule, run } = createTimeline()
  const server = createServer(schedule)
  const history = []
  const sockets = []
  const replicas = []
  // By id: when it was acknowledged, and how many processes have yet to learn of it.
  const revocations = new Map()
  const delays = []
  const samples = { fresh: 0, stale: 0 }

  const send = (toCost, answer) =>
    new Promise((resolve) => {
      schedule(NETWORK_MS, () => {
        server.call(toCost, () => {
          const answered = answer()
          schedule(NETWORK_MS, () => resolve(answered))
        })
      })
    })

  const feed = (after) => {
    let page
    const read = () => {
      const entries = history.slice(Number(after ?? 0))
      page = { entries, next: String(history.length), more: false, reset: false, ageMs: 0 }
      return costs.read.server + entries.length * costs.entry.server
    }
    return send(read, () => page)
  }

  const startReplica = async () => {
    const watch = (listener) => {
      sockets.push(listener)
      return () => {}
    }
    const store = { ...createMemoryStore(), feed, watch: hasWakeUps ? watch : undefined, restore: undefined }
    const replica = replicate(store, { bound: boundMs / 1000, clock })
    replica.replica.subscribe((entries) => {
      for (const { id } of entries) note(revocations.get(id))
    })
    replicas.push(replica)
    await replica.prepare({ longestLifetime: LONGEST_LIFETIME })
  }

  const note = (revocation) => {
    if (revocation === undefined || --revocation.left > 0) return
    delays.push(Math.max(0, clock() - revocation.at))
  }

  const revoke = async (id) => {
    const revocation = { at: Number.POSITIVE_INFINITY, left: processes }
    const write = () => {
      revocations.set(id, revocation)
      history.push({
        kind: 'token',
        id,
        notBefore: Number.MAX_SAFE_INTEGER,
        until: clock() + LONGEST_LIFETIME,
      })
      return costs.revoke.server + sockets.length * costs.wakeUp.server
    }
    const wake = () => schedule(NETWORK_MS, () => sockets.forEach((listener) => listener()))
    await send(write, wake)
    revocation.at = clock()
  }

  const sample = () => {
    for (const { replica } of replicas) samples[replica.readState().isFresh ? 'fresh' : 'stale']++
  }

  // Not all at the same moment, and two bounds to settle.
  for (let number = 0; number < processes; number++) schedule((boundMs * number) / processes, startReplica)
  const begin = 3 * boundMs
  // An overloaded server falls behind slowly.
  const measuredMs = Math.max(5000, 4 * boundMs)
  const [ids] = createIdBatches((measuredMs / 1000) * revocationsPerSecond)
  for (const [number, id] of ids.entries()) {
    schedule(begin + ((number + Math.random()) * 1000) / revocationsPerSecond, () => revoke(id))
  }
  const end = begin + measuredMs
  for (let at = begin + measuredMs / 2; at < end; at += SAMPLE_MS) schedule(at, sample)
  await run(end + 2 * boundMs)
  for (const replica of replicas) await replica.close()

  delays.sort((one, other) => one - other)
  return {
    // Until the last process knows a revocation; null for one that not all have learnt within two bounds.
    median: delays[Math.floor(ids.length / 2)] ?? null,
    most: delays.length === ids.length ? delays.at(-1) : null,
    stale: samples.stale / (samples.fresh + samples.stale),
  }
}

// One call after the other; `toCost` returns what a call takes, in microseconds.
function createServer(schedule) {
  const waiting = []
  let isBusy = false
  const next = () => {
    const call = waiting.shift()
    isBusy = call !== undefined
    if (call === undefined) return
    schedule(call.toCost() / 1000, () => {
      call.answer()
      next()
    })
  }
  return {
    call(toCost, answer) {
      waiting.push({ toCost, answer })
      if (!isBusy) next()
    },
  }
}

// Time that passes from event to event. The library has one for tests, which gives each event ten turns of the event
// loop and keeps its timers in a list: that takes too long for 10,000 processes.
function createTimeline() {
  const heap = createHeap()
  let now = 0
  const schedule = (delay, callback) => {
    const event = { at: now + Math.max(0, delay), callback }
    heap.push(event)
    return event
  }
  const scheduler = {
    monotonicNow: () => now,
    setTimeout: (callback, delay) => schedule(delay, callback),
    clearTimeout(event) {
      if (event !== undefined) event.callback = null
    },
  }
  const run = async (until) => {
    for (let event = heap.pop(); event !== undefined && event.at <= until; event = heap.pop()) {
      if (event.callback === null) continue
      now = event.at
      event.callback()
      // Whatever awaits something goes on before time does.
      await new Promise((resolve) => setImmediate(resolve))
    }
    now = until
  }
  return { clock: Object.assign(() => START + now, { scheduler }), schedule, run }
}

const START = Date.UTC(2026, 0, 1)

// The earliest event first.
function createHeap() {
  const events = []
  const swap = (one, other) => ([events[one], events[other]] = [events[other], events[one]])
  return {
    push(event) {
      let at = events.push(event) - 1
      for (let parent = (at - 1) >> 1; at > 0 && events[at].at < events[parent].at; parent = (at - 1) >> 1) {
        swap(at, parent)
        at = parent
      }
    },
    pop() {
      if (events.length < 2) return events.pop()
      const first = events[0]
      events[0] = events.pop()
      for (let at = 0; ;) {
        const [left, right] = [2 * at + 1, 2 * at + 2]
        let least = at
        if (left < events.length && events[left].at < events[least].at) least = left
        if (right < events.length && events[right].at < events[least].at) least = right
        if (least === at) return first
        swap(at, least)
        at = least
      }
    },
  }
}
