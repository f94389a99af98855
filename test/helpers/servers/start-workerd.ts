import { build, type Plugin } from 'esbuild'
import { mkdirSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { findWorkerd } from './find-servers.js'
import { createGuardedFolder } from './guarded-folder.js'
import { type RunningServer, startServerProcess } from './server-process.js'

/** A Worker that workerd runs, in the words of its configuration (workerd.capnp). */
export interface WorkerProgram {
  /** The path of its main module, which is bundled. */
  readonly entry: string
  readonly compatibilityDate?: string
  readonly compatibilityFlags?: readonly string[]
  /** Members of `bindings`. */
  readonly bindings: readonly string[]
  /** Members of `durableObjectNamespaces`. */
  readonly objects?: readonly string[]
}

/** Starts Workers, by the names of their services; the first one takes the requests. */
export async function startWorkerd(workers: Readonly<Record<string, WorkerProgram>>): Promise<RunningServer> {
  const command = findWorkerd()
  if (command === null) throw new Error('There is no workerd on this machine.')
  const folder = createGuardedFolder('tokenlib-workerd-', 'KILL')
  mkdirSync(join(folder.path, 'objects'))
  for (const [name, { entry }] of Object.entries(workers)) {
    await bundleWorker(entry, join(folder.path, `${name}.js`))
  }
  writeFileSync(join(folder.path, 'workerd.capnp'), toConfiguration(workers))
  return startServerProcess({
    command,
    args: (port) => ['serve', 'workerd.capnp', '--control-fd=1', `--socket-addr=http=127.0.0.1:${port}`],
    url: (port) => `http://127.0.0.1:${port}`,
    folder,
    endSignal: 'SIGKILL',
    isReady: /"event":"listen"/,
  })
}

/** Makes one file of a Worker and everything that it imports, as wrangler does. */
export async function bundleWorker(entry: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker'],
    external: ['node:*', 'cloudflare:*'],
    plugins: [builtInModules],
    logLevel: 'error',
  })
}

// For clients that are CommonJS: workerd has Node's modules for `import` only.
const builtInModules: Plugin = {
  name: 'built-in modules',
  setup({ onResolve, onLoad }) {
    const names = new RegExp(`^(?:node:)?(${builtinModules.join('|')})$`)
    onResolve({ filter: names }, ({ path, kind }) => {
      const name = path.replace(/^node:/, '')
      if (kind !== 'require-call') return { path: `node:${name}`, external: true }
      return { path: name, namespace: 'built-in' }
    })
    onLoad({ filter: /.*/, namespace: 'built-in' }, ({ path }) => ({
      contents: `import built from 'node:${path}'; module.exports = built`,
    }))
  },
}

function toConfiguration(workers: Readonly<Record<string, WorkerProgram>>): string {
  const names = Object.keys(workers)
  const services = names.map((name) => `(name = "${name}", worker = .${name})`)
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ${services.join(',\n    ')},
    (name = "objects", disk = (path = "objects", writable = true)),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", http = (), service = "${names[0]}")],
);
${Object.entries(workers)
  .map(([name, worker]) => toWorker(name, worker))
  .join('\n')}`
}

function toWorker(
  name: string,
  {
    bindings,
    objects = [],
    compatibilityDate = '2026-10-01',
    compatibilityFlags = ['nodejs_compat'],
  }: WorkerProgram,
): string {
  const flags = compatibilityFlags.map((flag) => `"${flag}"`).join(', ')
  return `const ${name} :Workerd.Worker = (
  modules = [(name = "${name}.js", esModule = embed "${name}.js")],
  compatibilityDate = "${compatibilityDate}",
  compatibilityFlags = [${flags}],
  bindings = [${bindings.join(', ')}],
  durableObjectNamespaces = [${objects.join(', ')}],
  ${objects.length === 0 ? '' : 'durableObjectStorage = (localDisk = "objects"),'}
);`
}
