import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { declareLogoutByGet } from '../../test/runtimes/logout-by-get.js'
import { createRunner } from '../../test/runtimes/runner.js'
import { readLines, startProgram, toReason } from '../shared/processes.js'
import { contractWorker, OLD_DATE, readNewestDate, smokeWorker, startWorker } from './workerd.js'

/** How long a whole cell may take. */
const CELL_TIMEOUT_MS = 300_000

const NODES = ['node20', 'node22', 'node24', 'node26']
const only = (names, reason) => (runtime) => (names.includes(runtime) ? null : reason)
const NO_SOCKETS = 'only with a client and a manager for each request; see the guide for Workers'
const exceptWorkerd = (runtime) => (runtime === 'workerd' ? NO_SOCKETS : null)
const onBun = only(['bun'], 'part of Bun')

// Each returns why a runtime does not have it, or `null`.
const STORES = {
  memory: () => null,
  'node:sqlite': (runtime) =>
    runtime === 'workerd'
      ? 'Workers have no files'
      : runtime === 'node20'
        ? 'part of Node 22 and later'
        : null,
  '@photostructure/sqlite': only(NODES, 'an add-on for Node; the runtime has SQLite of its own or no files'),
  'bun:sqlite': onBun,
  ioredis: exceptWorkerd,
  redis: exceptWorkerd,
  'Bun.RedisClient': onBun,
  pg: exceptWorkerd,
  postgres: exceptWorkerd,
  'Bun.SQL': onBun,
  replica: exceptWorkerd,
  'Durable Objects': only(['workerd'], 'part of Workers'),
}

// The Worker that runs the contract of each store that Workers have; `createProject` bundles it.
const WORKERS = { memory: 'worker.js', 'Durable Objects': 'durable-worker.js' }

const ON_WORKERS = ['hono', 'h3', 'fetch']
const FRAMEWORKS = ['nest', 'nest-fastify', 'fastify', 'express', 'hono', 'koa', 'h3', 'elysia', 'fetch']

const GUIDES = { bun: ['bun'], deno: ['deno'] }

/** Every cell of the matrix for these runtimes: what it is, and either why it is not offered or how to run it. */
export function listCells(runtimes, { isQuick, project, binaries, servers }) {
  const context = { project, binaries, servers }
  return runtimes.flatMap((runtime) => [
    ...listSmoke(runtime, context),
    ...(isQuick
      ? []
      : [
          ...Object.entries(STORES).map(([name, readReason]) => ({
            group: 'store',
            name,
            runtime,
            reason: readReason(runtime),
            run: () => runStore(name, runtime, context),
          })),
          ...FRAMEWORKS.map((name) => ({
            group: 'application',
            name,
            runtime,
            reason: readApplicationReason(name, runtime),
            run: () => runApplication(name, runtime, context),
          })),
          ...(GUIDES[runtime] ?? []).map((name) => ({
            group: 'guide',
            name,
            runtime,
            reason: null,
            run: () => runGuide(name, runtime, context),
          })),
        ]),
  ])
}

function readApplicationReason(framework, runtime) {
  if (runtime !== 'workerd' || ON_WORKERS.includes(framework)) return null
  return framework === 'elysia'
    ? 'Elysia generates code from text, which a Worker allows only while it starts: give it its Cloudflare adapter'
    : 'needs the HTTP server of Node'
}

function listSmoke(runtime, { project, binaries }) {
  const cell = { group: 'smoke', runtime, reason: null }
  const { folder } = project
  if (runtime !== 'workerd') {
    const run = () => runMain(runtime, ['smoke'], { project, binaries })
    return [{ ...cell, name: 'smoke', run }]
  }
  const smoke = (date) => () => smokeWorker(binaries.workerd, { folder, date })
  return [
    { ...cell, name: 'smoke', run: smoke(readNewestDate(binaries.workerd)) },
    { ...cell, name: `smoke, compatibility date ${OLD_DATE}`, run: smoke(OLD_DATE) },
  ]
}

/** How a runtime runs a file. */
function toCommand(runtime, binaries) {
  return runtime === 'deno' ? [binaries.deno, 'run', '--allow-all', '--no-prompt'] : [binaries[runtime]]
}

async function runMain(runtime, args, { project, binaries, servers }) {
  const command = [...toCommand(runtime, binaries), 'main.js', ...args]
  const options = { cwd: project.folder, env: servers, timeoutMs: CELL_TIMEOUT_MS }
  const { values, errors, code, signal } = await readLines(command, options)
  const results = values.filter(({ outcome }) => outcome !== undefined)
  if (values.at(-1)?.done === true) return results
  const end = signal === null ? `ended with code ${code}` : `was ended by ${signal}`
  const reason = `The process ${end}. ${toReason(errors)}`.trim()
  return [...results, { name: 'the process runs to its end', outcome: 'fails', reason }]
}

function runStore(name, runtime, context) {
  if (runtime !== 'workerd') return runMain(runtime, ['store', name], context)
  const { project, binaries } = context
  const date = readNewestDate(binaries.workerd)
  return contractWorker(binaries.workerd, { folder: project.folder, bundle: WORKERS[name], date })
}

// The application runs in the runtime, and the client of the contract in this process.
async function runApplication(framework, runtime, { project, binaries }) {
  const { folder } = project
  const entry = pathToFileURL(join(folder, 'node_modules/@tokenlib/contracts/dist/index.js'))
  const { applicationContract } = await import(entry.href)
  const start = ({ profile, handleErrors, withoutGrace = false }) => {
    if (runtime !== 'workerd') {
      const args = ['application.js', framework, profile, String(handleErrors), String(withoutGrace)]
      return startProgram([...toCommand(runtime, binaries), ...args], { cwd: folder })
    }
    return startWorker(binaries.workerd, {
      folder,
      bundle: 'application-worker.js',
      date: readNewestDate(binaries.workerd),
      bindings: {
        framework,
        profile,
        handleErrors: String(handleErrors),
        withoutGrace: String(withoutGrace),
      },
    })
  }
  const runner = createRunner()
  applicationContract(framework, start, runner, { keepsSessions: true })
  declareLogoutByGet(start, runner)
  return collectResults(runner)
}

/** Runs every step that a runner has collected. */
export async function collectResults(runner) {
  const results = []
  await runner.run((result) => results.push(result))
  return results
}

async function runGuide(name, runtime, { project, binaries, servers }) {
  const { declareGuide } = await import('../../test/runtimes/guide.js')
  const runner = createRunner()
  declareGuide(name, { cwd: join(project.folder, 'guides'), binary: binaries[runtime], servers }, runner)
  return collectResults(runner)
}

// What a runtime may lack. Anything else that a step says is not offered is a failure.
const MAY_LACK = {
  bun: ['an rsa-pss key', 'an rsa-pss with parameters key'],
  deno: ['an rsa-pss with parameters key'],
  workerd: ['an rsa-pss key', 'an rsa-pss with parameters key', 'require and import give the same classes'],
}

/** A cell with its outcome: how many steps work, the first one that fails, and what is not offered. */
export async function runCell({ group, name, runtime, reason, run }) {
  const cell = { group, name, runtime }
  if (reason !== null) return { ...cell, outcome: 'not offered', reason }
  let results
  try {
    results = await run()
  } catch (error) {
    results = [{ name: 'start', outcome: 'fails', reason: error.message }]
  }
  const mayLack = MAY_LACK[runtime] ?? []
  const missing = results.filter((step) => step.outcome === 'not offered' && mayLack.includes(step.name))
  const failures = results.filter((step) => step.outcome !== 'works' && !missing.includes(step))
  const steps = results.length - failures.length - missing.length
  const notOffered = missing.map(({ name: step, reason: why }) => ({ step, reason: why }))
  if (failures.length === 0) return { ...cell, outcome: 'works', steps, notOffered }
  return { ...cell, outcome: 'fails', steps, failures, notOffered }
}
