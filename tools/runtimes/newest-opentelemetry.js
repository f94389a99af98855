// Runs the tests of telemetry with the newest SDK of OpenTelemetry, which needs a newer Node than this package.
// node tools/runtimes/newest-opentelemetry.js
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { install } from '../packages/pack.js'
import { root } from '../shared/root.js'
import { installRuntime } from './runtime-binaries.js'

const VERSIONS = {
  '@opentelemetry/api': '1.10.0',
  '@opentelemetry/context-async-hooks': '3.1.1',
  '@opentelemetry/exporter-metrics-otlp-http': '0.301.0',
  '@opentelemetry/exporter-trace-otlp-http': '0.301.0',
  '@opentelemetry/sdk-metrics': '3.1.1',
  '@opentelemetry/sdk-trace': '3.1.1',
}
const folder = join(root, 'build/opentelemetry')

// What the package of this name had up to version 2.
const NODE_TRACER = `
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BatchSpanProcessor as Processor, TracerProvider } from '@opentelemetry/sdk-trace'

export class BatchSpanProcessor extends Processor {
  constructor(exporter) {
    super({ exporter })
  }
}

export class NodeTracerProvider extends TracerProvider {
  register() {
    trace.setGlobalTracerProvider(this)
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  }
}
`

const CONFIG = `
import { createRequire } from 'node:module'
import config from '../../vitest.config.ts'

const require = createRequire(import.meta.url)
const redirect = {
  name: 'newest OpenTelemetry',
  enforce: 'pre',
  resolveId(id) {
    if (id === '@opentelemetry/sdk-trace-node') return require.resolve('./node-tracer.js')
    return id.startsWith('@opentelemetry/') ? require.resolve(id) : undefined
  },
}
const base = config({ mode: 'test' })
const projects = base.test.projects.map((project) => ({ ...project, plugins: [redirect] }))
export default { ...base, root: ${JSON.stringify(root)}, test: { ...base.test, projects } }
`

mkdirSync(folder, { recursive: true })
if (!isInstalled()) await install(folder, { dependencies: VERSIONS })
writeFileSync(join(folder, 'node-tracer.js'), NODE_TRACER)
writeFileSync(join(folder, 'vitest.config.js'), CONFIG)
const node = await installRuntime('node24')
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const projects = ['unit', 'integration'].flatMap((name) => ['--project', name])
const only = ['test/opentelemetry', ...process.argv.slice(2)]
const args = [vitest, 'run', '--config', join(folder, 'vitest.config.js'), ...projects, ...only]
process.exitCode = spawnSync(node, args, { cwd: root, stdio: 'inherit' }).status ?? 1

function isInstalled() {
  if (!existsSync(join(folder, 'node_modules/.package-lock.json'))) return false
  const require = createRequire(join(folder, 'package.json'))
  const { dependencies } = require('./package.json')
  return JSON.stringify(dependencies) === JSON.stringify(VERSIONS)
}
