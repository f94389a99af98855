import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { install, packAll, readManifest, toDependencies } from '../packages/pack.js'
import { root } from '../shared/root.js'
import { run } from '../shared/processes.js'

// What the example applications and the stores need, in the versions that this repository is tested with.
const PACKAGES = [
  '@hono/node-server',
  '@koa/router',
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  '@nestjs/platform-fastify',
  '@photostructure/sqlite',
  'elysia',
  'express',
  'fastify',
  'h3',
  'hono',
  'ioredis',
  'koa',
  'pg',
  'postgres',
  'redis',
  'reflect-metadata',
  'rxjs',
]

/**
 * A temporary project with the packed packages, the bundles of the cells and, unless `isQuick`, the example applications
 * with everything they need.
 */
export async function createProject({ isQuick }) {
  await run('npm', ['run', '--silent', isQuick ? 'build' : 'build:examples'], root)
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-runtimes-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const packages = await packAll(folder)
  const { devDependencies } = readManifest()
  const others = Object.fromEntries(PACKAGES.map((name) => [name, devDependencies[name]]))
  await install(folder, { dependencies: { ...toDependencies(packages), ...(isQuick ? {} : others) } })

  await bundleCell('main.js', folder)
  for (const name of ['worker.js', 'durable-worker.js']) {
    await bundleCell(name, folder)
    await bundleWorker(name, folder)
  }
  cpSync(join(root, 'test/runtimes/guides'), join(folder, 'guides'), { recursive: true })
  if (!isQuick) {
    cpSync(join(root, 'build/examples'), join(folder, 'examples'), { recursive: true })
    for (const name of ['application.js', 'application-worker.js', 'worker-server.js']) {
      cpSync(join(root, 'test/runtimes', name), join(folder, name))
    }
    await bundleWorker('application-worker.js', folder)
  }
  return { folder, remove }
}

// Our own files in one, with the packages left as imports: the project's are used, not those of this repository.
async function bundleCell(name, folder) {
  await build({
    entryPoints: [join(root, 'test/runtimes', name)],
    outfile: join(folder, name),
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    external: ['bun', 'bun:*', 'cloudflare:*'],
    // The paths of tsconfig.json lead to the sources.
    tsconfigRaw: '{}',
    logLevel: 'error',
  })
}

// Everything in one file, as wrangler makes it.
async function bundleWorker(name, folder) {
  await build({
    absWorkingDir: folder,
    entryPoints: [join(folder, name)],
    outfile: join(folder, 'workers', name),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2024',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'module'],
    external: ['node:*', 'cloudflare:*'],
    // Not the packages of another folder.
    nodePaths: [],
    plugins: [
      { name: 'worker-server', setup: replaceServer },
      { name: 'built-in modules', setup: importBuiltIns },
    ],
    logLevel: 'error',
  })
}

function replaceServer(bundle) {
  const path = join(bundle.initialOptions.absWorkingDir, 'worker-server.js')
  bundle.onResolve({ filter: /^(?:\.\/server\.js|h3\/node)$/ }, () => ({ path }))
}

// CommonJS packages require `util`; a Worker can only import `node:util`.
function importBuiltIns(bundle) {
  const names = builtinModules.filter((name) => !name.startsWith('_')).join('|')
  bundle.onResolve({ filter: new RegExp(`^(?:node:)?(?:${names})$`) }, ({ path, kind, namespace }) => {
    const name = path.startsWith('node:') ? path : `node:${path}`
    return kind === 'require-call' && namespace === 'file'
      ? { path: name, namespace: 'built-in' }
      : { path: name, external: true }
  })
  bundle.onLoad({ filter: /./, namespace: 'built-in' }, ({ path }) => ({
    contents: `import * as module from '${path}'; export default module; export * from '${path}'`,
  }))
}
