// Runs applications with replicas of Redis and PostgreSQL under a steady load, and watches memory, handles and answers.
// node tools/soak --minutes N [--rate R] [--processes P] [--store redis|postgres|both] [--verified-cache N] [--json file]
// node tools/soak --report <samples.ndjson> [--json file] judges the recorded samples of an earlier run.
// Exits with 1 after a wrong answer, or if memory, descriptors, handles, sockets or rows grow.
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from '../shared/root.js'
import { readOptions, SAMPLE_INTERVAL_MS } from './options.js'
import { describeMinute, describeResult, readSamples, toResult } from './report.js'
import { startStore } from './servers.js'

const MAX_ERRORS_KEPT = 100

const options = readOptions(process.argv.slice(2))
if (typeof options === 'string') {
  console.error(options)
  process.exit(2)
}

if (options.report !== undefined) {
  const { record, minutes } = readSamples(readFileSync(options.report, 'utf8'))
  finish(toResult(record, minutes), options.json)
}

const stamp = new Date().toISOString().replaceAll(':', '-').slice(0, 19)
const folder = join(root, 'build', 'soak')
mkdirSync(folder, { recursive: true })
const rawFile = join(folder, `${stamp}.ndjson`)
const startedAt = Date.now()
const record = {
  startedAt: new Date(startedAt).toISOString(),
  options,
  versions: { node: process.version },
  samples: [],
  storeSamples: [],
  minutes: [],
  errorCount: 0,
  errors: [],
}
const minute = () => (Date.now() - startedAt) / 60_000

function keep(list, entry) {
  const timed = { minute: Math.round(minute() * 100) / 100, ...entry }
  record[list].push(timed)
  // Each line immediately: a run that is killed leaves what it has measured.
  appendFileSync(rawFile, `${JSON.stringify({ list, ...timed })}\n`)
}

function keepError(entry) {
  record.errorCount++
  if (record.errors.length < MAX_ERRORS_KEPT) keep('errors', entry)
  console.error(`error: ${JSON.stringify(entry)}`)
}

const children = []
let isEnding = false

function startChild(file, name, given, onMessage) {
  const path = fileURLToPath(new URL(`./${file}`, import.meta.url))
  const child = fork(path, [JSON.stringify(given)], { execArgv: ['--expose-gc'] })
  children.push(child)
  child.on('exit', (code, signal) => {
    if (!isEnding) keepError({ operation: 'process', message: `${name} ended: ${code ?? signal}` })
  })
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(`${name} did not start`)))
    child.on('message', (message) => {
      if (message.type === 'ready') resolve({ child, address: message.address })
      else onMessage(message)
    })
    if (file === 'load.js') child.once('spawn', () => resolve({ child }))
  })
}

async function startApplications(store) {
  record.versions[store.kind] = store.version
  const secret = randomBytes(32).toString('base64')
  const addresses = []
  for (let at = 0; at < options.processes; at++) {
    const name = `${store.kind}-${at + 1}`
    const onMessage = ({ type, ...rest }) => {
      if (type === 'sample') keep('samples', { name, ...rest })
      else keepError({ kind: store.kind, operation: 'client', message: rest.message })
    }
    const { verifiedCache } = options
    const given = { kind: store.kind, url: store.url, name, secret, verifiedCache }
    addresses.push((await startChild('application.js', name, given, onMessage)).address)
  }
  return { kind: store.kind, addresses }
}

const stores = []
let isStarted = false
const end = Promise.withResolvers?.() ?? createResolvers()
function createResolvers() {
  const made = {}
  made.promise = new Promise((resolve) => (made.resolve = resolve))
  return made
}

try {
  for (const kind of options.stores) stores.push(await startStore(kind))
  // In place of those that end this process at once.
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.removeAllListeners(signal)
    process.on(signal, () => {
      if (!isStarted) process.exit(130)
      console.error('Interrupted: the report of what there is follows')
      end.resolve()
    })
  }
  const targets = []
  for (const store of stores) targets.push(await startApplications(store))

  const loadDone = createResolvers()
  const { child: load } = await startChild(
    'load.js',
    'load',
    { stores: targets, rate: options.rate },
    (message) => {
      const { type, ...rest } = message
      if (type === 'error') keepError(rest)
      else if (type === 'sample') keep('samples', { name: 'load', ...rest })
      else if (type === 'done') loadDone.resolve()
      else {
        keep('minutes', rest)
        console.error(describeMinute(record, rest, minute()))
      }
    },
  )
  isStarted = true
  const { startedAt: start, versions } = record
  appendFileSync(rawFile, `${JSON.stringify({ list: 'run', startedAt: start, options, versions })}\n`)
  const readStores = async () => {
    for (const store of stores) {
      keep('storeSamples', { kind: store.kind, load: loadavg()[0], ...(await store.read()) })
    }
  }
  const reader = setInterval(() => {
    readStores().catch((error) => keepError({ operation: 'read', message: error.message }))
  }, SAMPLE_INTERVAL_MS)
  const timer = setTimeout(() => end.resolve(), options.minutes * 60_000)
  load.once('exit', () => (loadDone.resolve(), end.resolve()))

  await end.promise
  clearTimeout(timer)
  clearInterval(reader)
  if (load.connected) load.send({ type: 'stop' })
  await loadDone.promise
  await readStores()
} finally {
  isEnding = true
  await Promise.all(children.map(endChild))
  for (const store of stores) await store.stop().catch(() => undefined)
}

async function endChild(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const hasEnded = new Promise((resolve) => child.once('exit', resolve))
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
  child.disconnect()
  await hasEnded
  clearTimeout(timer)
}

finish(toResult(record, minute()), options.json ?? join(folder, `${stamp}.json`))

function finish(result, file) {
  console.log(describeResult(result))
  if (file !== null) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${JSON.stringify(result)}\n`)
    console.log(`Written to ${file}`)
  }
  process.exit(result.failures.length > 0 ? 1 : 0)
}
