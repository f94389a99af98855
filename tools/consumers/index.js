// Installs the packed packages in the projects of test/consumers and runs their tests: exit 1 if one fails.
// node tools/consumers [<name>...] [--keep] [--json <file>]
// node tools/consumers --tutorial <name> [--keep] [--built]     follows docs/tutorials/<name>.md instead
//
// A consumer is a complete project without tokenlib in its package.json. It is copied into a folder of its own, with
// test/consumers/shared next to its files as `shared`, and its script `test` must end with 0. If its package.json has
// "needsServers": true, it gets a Redis and an empty database of PostgreSQL as REDIS_URL and DATABASE_URL.
import {
  createWriteStream,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { writeConsumers } from '../runtimes/report.js'
import { packAll, toDependencies } from '../packages/pack.js'
import { root } from '../shared/root.js'
import { run, runLogged } from '../shared/processes.js'
import { runTool } from '../shared/report.js'
import { installRuntime } from '../runtimes/runtime-binaries.js'
import { startServers } from '../runtimes/servers.js'
import { runTutorial } from './tutorial.js'

const CONSUMERS = join(root, 'test/consumers')
const LOGS = join(root, 'build/consumers')
const RECORD = join(CONSUMERS, 'results.json')
const TUTORIALS = join(root, 'docs/tutorials')
const TIMEOUT_MS = 30 * 60_000

/** Tools that send usage data, ask questions or print colours do so only without these. */
const ENVIRONMENT = {
  ASTRO_TELEMETRY_DISABLED: '1',
  CI: 'true',
  NEXT_TELEMETRY_DISABLED: '1',
  NO_COLOR: '1',
  NUXT_TELEMETRY_DISABLED: '1',
  WRANGLER_SEND_METRICS: 'false',
}

async function runConsumers() {
  const { names, tutorials, keep, json, built } = parseArguments(listConsumers(), listTutorials())
  const base = mkdtempSync(join(tmpdir(), 'tokenlib-consumers-'))
  mkdirSync(LOGS, { recursive: true })
  try {
    if (!built) await run('npm', ['run', '--silent', 'build'], root)
    const packages = await packAll(base)

    const results = []
    const isTutorial = tutorials.length > 0
    for (const name of isTutorial ? tutorials : names) {
      const folder = join(base, name)
      const result = await (isTutorial ? followTutorial : runConsumer)(name, folder, packages)
      if (!keep) rmSync(folder, { recursive: true, force: true })
      results.push(result)
      console.log(toLine(result))
    }
    if (!isTutorial) recordConsumers(results)
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(results, null, 2)}\n`)
    if (keep) console.log(`The folders are in ${base}`)
    return results.filter(({ works }) => !works).length
  } finally {
    if (!keep) rmSync(base, { recursive: true, force: true })
  }
}

/**
 * Writes what docs/runtimes.md says of consumers: the last run of each.
 *
 * Their errors stay in the logs, because they may contain paths.
 */
function recordConsumers(results) {
  const date = new Date().toISOString().slice(0, 10)
  const earlier = existsSync(RECORD) ? JSON.parse(readFileSync(RECORD, 'utf8')) : []
  writeConsumers(
    listConsumers().flatMap((name) => {
      const result = results.find((one) => one.name === name)
      if (result === undefined) return earlier.filter((one) => one.name === name)
      const { description, node, works } = result
      return { name, description, node, works, date }
    }),
  )
}

function listConsumers() {
  return readdirSync(CONSUMERS)
    .filter((name) => existsSync(join(CONSUMERS, name, 'package.json')))
    .toSorted()
}

function listTutorials() {
  return readdirSync(TUTORIALS).map((file) => basename(file, '.md'))
}

function parseArguments(known, knownTutorials) {
  const options = {
    keep: { type: 'boolean', default: false },
    json: { type: 'string' },
    tutorial: { type: 'string', multiple: true, default: [] },
    built: { type: 'boolean', default: false },
  }
  const { positionals, values } = parseArgs({ allowPositionals: true, options })
  assertKnown('consumer', positionals, known)
  assertKnown('tutorial', values.tutorial, knownTutorials)
  return {
    names: positionals.length > 0 ? known.filter((name) => positionals.includes(name)) : known,
    tutorials: values.tutorial,
    ...values,
  }
}

function assertKnown(kind, names, known) {
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw new Error(`Unknown ${kind}: ${unknown.join(', ')}. Known are: ${known.join(', ')}`)
  }
}

/** Installs and tests one consumer. */
async function runConsumer(name, folder, packages) {
  const manifest = JSON.parse(readFileSync(join(CONSUMERS, name, 'package.json'), 'utf8'))
  const node = readNodeName(manifest)
  const outcome = await runTask(name, node, async (env, log) => {
    copyConsumer(name, folder, manifest, packages)
    const servers = manifest.needsServers === true ? await startServers() : null
    try {
      const all = { ...env, ...servers?.environment }
      const options = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
      await npm(['install', ...options], folder, all, log)
      await npm(['test'], folder, all, log)
    } finally {
      await servers?.stop()
    }
  })
  return { name, description: manifest.description, node, ...outcome }
}

/** Follows one tutorial on the oldest supported Node. */
async function followTutorial(name, folder, packages) {
  const node = 'node20'
  const outcome = await runTask(`tutorial-${name}`, node, (env, log) =>
    runTutorial(`docs/tutorials/${name}.md`, join(folder, 'product'), { packages, env, log }),
  )
  return { name, node, ...outcome }
}

/** Runs a task with the environment of a Node; the log has everything that its commands print. */
async function runTask(name, node, task) {
  const start = performance.now()
  const logFile = join(LOGS, `${name}.log`)
  const log = createWriteStream(logFile)
  let error = null
  try {
    const path = `${dirname(await installRuntime(node))}${delimiter}${process.env.PATH}`
    await task({ ...process.env, ...ENVIRONMENT, PATH: path }, log)
  } catch (caught) {
    error = caught.message
  }
  await new Promise((resolve) => log.end(resolve))
  return { works: error === null, seconds: (performance.now() - start) / 1000, error, logFile }
}

function copyConsumer(name, folder, manifest, packages) {
  const source = join(CONSUMERS, name)
  const isInstalled = (path) => /[\\/]node_modules$/.test(path)
  cpSync(source, folder, { recursive: true, filter: (path) => !isInstalled(path) })
  cpSync(join(CONSUMERS, 'shared'), join(folder, 'shared'), { recursive: true })

  const dependencies = { ...manifest.dependencies, ...toDependencies(packages) }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...manifest, dependencies }, null, 2)}\n`)
}

/** The oldest supported Node, or a newer one for tools that need more. */
function readNodeName({ engines = {} }) {
  if (engines.node === undefined) return 'node20'
  if (engines.node === '>=22') return 'node24'
  throw new Error(`"engines.node" of a consumer must be ">=22" or absent, not "${engines.node}"`)
}

async function npm(args, cwd, env, log) {
  const { output, code, signal } = await runLogged('npm', args, { cwd, env, log, timeoutMs: TIMEOUT_MS })
  if (code !== 0) throw new Error(readFirstError(output) ?? `npm ${args[0]} ended with ${code ?? signal}`)
}

/** The most telling lines first: a failed assertion, a type error, any other error. */
const ERROR_LINES = [
  /^AssertionError\b/,
  /\berror TS\d+/,
  /(?:^|\s)\w*Error(?: \[\w+\])?: /,
  /\berror\b|\bfail/i,
]

function readFirstError(output) {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('npm warn'))
  for (const pattern of ERROR_LINES) {
    const at = lines.findIndex((line) => pattern.test(line))
    // An assertion that names no reason has its values on the next line.
    if (at !== -1) return lines[at].endsWith(':') ? `${lines[at]} ${lines[at + 1]}` : lines[at]
  }
  return lines.at(-1)
}

function toLine({ name, works, seconds, node, error, logFile }) {
  const line = `${works ? 'works' : 'fails'}  ${name.padEnd(16)} ${seconds.toFixed(1).padStart(6)} s  ${node ?? ''}`
  return works ? line : `${line}\n       ${error}\n       All output: ${logFile}`
}

await runTool(async () => ((await runConsumers()) > 0 ? 1 : 0))
