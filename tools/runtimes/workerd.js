import { execFileSync, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { collect, stop, toReason } from '../shared/processes.js'

/** From this date on `nodejs_compat` is what it is today, but timers are still numbers. */
export const OLD_DATE = '2024-09-23'

/** The newest compatibility date that a binary knows. */
export function readNewestDate(binary) {
  return /\d{4}-\d{2}-\d{2}/.exec(execFileSync(binary, ['--version'], { encoding: 'utf8' }))[0]
}

let started = 0

/** Starts `workerd` with a bundle of the project, on a free port. */
export async function startWorker(binary, { folder, bundle, date, bindings = {} }) {
  const file = join(folder, `${bundle}-${++started}.capnp`)
  mkdirSync(join(folder, 'objects'), { recursive: true })
  writeFileSync(file, toConfiguration(bundle, date, bindings))
  const child = spawn(binary, ['serve', '--experimental', '--control-fd=3', file], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  })
  const errors = collect(child.stderr)
  const port = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdio[3] }).on('line', (line) => {
      const { event, port } = JSON.parse(line)
      if (event === 'listen') resolve(port)
    })
    child.once('error', reject)
    child.once('close', () => reject(new Error(toReason(errors()))))
  })
  return { url: `http://127.0.0.1:${port}`, close: () => stop(child), errors }
}

// An old date does not imply the last two. A Worker needs them only for the clients of `tokenlib/testing` and SQLite.
const FLAGS = ['nodejs_compat', 'enable_nodejs_http_modules', 'enable_nodejs_fs_module']

// The Worker that has objects, and keeps their data on the disk: workerd has no SQL in memory.
const OBJECTS = {
  'durable-worker.js': `
  durableObjectNamespaces = [(className = "ContractStoreObject", uniqueKey = "store", enableSql = true)],
  durableObjectStorage = (localDisk = "objects"),`,
}

function toConfiguration(bundle, date, bindings) {
  const objects = OBJECTS[bundle] ?? ''
  const list = Object.entries(bindings).map(([name, text]) => `(name = "${name}", text = "${text}")`)
  if (objects !== '') list.push('(name = "STORE", durableObjectNamespace = "ContractStoreObject")')
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "objects", disk = (path = "objects", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "workers/${bundle}")],
  compatibilityDate = "${date}",
  compatibilityFlags = [${FLAGS.map((flag) => `"${flag}"`).join(', ')}],
  bindings = [${list.join(', ')}],${objects}
);
`
}

/** Runs the smoke test in a Worker: one request for each step. */
export async function smokeWorker(binary, options) {
  const worker = await startWorker(binary, { ...options, bundle: 'worker.js' })
  try {
    const names = await (await fetch(`${worker.url}/smoke`)).json()
    const results = []
    for (const [at, name] of names.entries())
      results.push(await readResult(`${worker.url}/smoke/${at}`, name))
    return results
  } finally {
    await worker.close()
  }
}

async function readResult(url, name) {
  const response = await fetch(url)
  if (response.ok) return response.json()
  return {
    name,
    outcome: 'fails',
    reason: `The runtime answered ${response.status}: ${await response.text()}`,
  }
}

/** Runs the contract of a store in a Worker, which answers `/store` with the results. */
export async function contractWorker(binary, options) {
  const worker = await startWorker(binary, options)
  try {
    const response = await fetch(`${worker.url}/store`)
    if (!response.ok) throw new Error(`The runtime answered ${response.status}: ${await response.text()}`)
    return await response.json()
  } finally {
    await worker.close()
  }
}
