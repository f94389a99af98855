// Sends requests to the applications of all stores at a steady rate. Started by tools/soak/index.js.
import { Agent, request } from 'node:http'
import { createModel } from './model.js'
import { chooseOperation, OPERATIONS } from './operations.js'
import { SAMPLE_INTERVAL_MS } from './options.js'
import { createSampler } from './sample.js'

const TICK_MS = 5
const REPORT_INTERVAL_MS = 60_000
const REQUEST_LIMIT_MS = 30_000
// First in, first out, so that all connections are in use and none is closed for being idle.
const agent = new Agent({ keepAlive: true, maxSockets: 8, scheduling: 'fifo' })

const { stores, rate } = JSON.parse(process.argv[2])
const lanes = stores.map(({ kind, addresses }) => createLane(kind, addresses, rate / stores.length))

function createLane(kind, addresses, perSecond) {
  const model = createModel(perSecond)
  const startedAt = performance.now()
  const open = new Set()
  let latencies = {}
  let counts = {}
  let sent = 0
  let next = 0

  const perform = async (intendedAt) => {
    const now = performance.now()
    const wanted = model.isFull() || Math.random() < 0.5 ? chooseOperation(Math.random()) : 'login'
    const prepared = OPERATIONS[wanted].prepare({ model, now })
    // Nothing to do it with yet.
    const name = prepared === null ? 'login' : wanted
    const subject = prepared ?? model.nextUser()
    const application = next++ % addresses.length
    const call = {
      model,
      send: async (method, path, headers, body) => {
        const sentAt = performance.now()
        const answer = await sendRequest(addresses[application] + path, { method, headers, body })
        return { ...answer, application, sentAt, answeredAt: performance.now() }
      },
    }
    const uid = OPERATIONS[name].userOf?.(subject) ?? null
    if (uid !== null) model.begin(uid)
    try {
      await OPERATIONS[name].run(call, subject)
    } catch (error) {
      counts.errors = (counts.errors ?? 0) + 1
      process.send({ type: 'error', kind, operation: name, message: error.message })
    } finally {
      if (uid !== null) model.finish(uid)
    }
    counts[name] = (counts[name] ?? 0) + 1
    ;(latencies[name] ??= []).push(performance.now() - intendedAt)
  }

  return {
    kind,
    tick() {
      const elapsed = performance.now() - startedAt
      for (; (sent * 1000) / perSecond <= elapsed; sent++) {
        const work = perform(startedAt + (sent * 1000) / perSecond).finally(() => open.delete(work))
        open.add(work)
      }
    },
    report() {
      const operations = {}
      for (const [name, times] of Object.entries(latencies)) operations[name] = summarize(times)
      const summary = {
        all: summarize(Object.values(latencies).flat()),
        operations,
        counts,
        underWay: open.size,
        expected: model.countExpected(performance.now()),
      }
      latencies = {}
      counts = {}
      return summary
    },
    drain: () => Promise.all(open),
  }
}

function summarize(times) {
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share) =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 100) / 100
  return { count: times.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}

function sendRequest(url, { method, headers, body }) {
  const text = body === undefined ? null : JSON.stringify(body)
  const content =
    text === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  return new Promise((resolve, reject) => {
    const sending = request(url, { method, agent, headers: { ...headers, ...content } }, (response) => {
      const parts = []
      response.on('data', (part) => parts.push(part))
      response.on('error', reject)
      response.on('end', () => {
        const answer = Buffer.concat(parts).toString()
        resolve({ status: response.statusCode, body: answer === '' ? null : JSON.parse(answer) })
      })
    })
    sending.setTimeout(REQUEST_LIMIT_MS, () => sending.destroy(new Error('No answer in time')))
    sending.on('error', reject)
    sending.end(text ?? undefined)
  })
}

const report = (type) => {
  for (const lane of lanes) process.send({ type, kind: lane.kind, ...lane.report() })
}
const ticker = setInterval(() => lanes.forEach((lane) => lane.tick()), TICK_MS)
const reporter = setInterval(() => report('minute'), REPORT_INTERVAL_MS)
const readSample = createSampler()
const sampler = setInterval(() => process.send({ type: 'sample', ...readSample() }), SAMPLE_INTERVAL_MS)

process.on('SIGINT', () => undefined)
process.on('disconnect', () => process.exit())
async function stop() {
  for (const timer of [ticker, reporter, sampler]) clearInterval(timer)
  await Promise.all(lanes.map((lane) => lane.drain()))
  report('last')
  process.send({ type: 'done' })
}
process.on('message', ({ type }) => {
  if (type === 'stop') void stop()
})
