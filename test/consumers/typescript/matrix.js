'use strict'
// Type-checks the programs next to this file with every version of TypeScript, module resolution and module system.
// One line per cell, exit 1 if one fails. node matrix.js [<version>...]
const { execFile } = require('node:child_process')
const { copyFileSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs')
const { availableParallelism } = require('node:os')
const { join } = require('node:path')
const { promisify } = require('node:util')

const { devDependencies } = require('./package.json')
const known = Object.keys(devDependencies)
  .filter((name) => name.startsWith('typescript-'))
  .map((name) => name.replace('typescript-', ''))
const versions = process.argv.length > 2 ? process.argv.slice(2) : known

// TypeScript 7 has no node10. CommonJS with `bundler` came with TypeScript 6.
const CELLS = [
  { resolution: 'node10', module: 'commonjs', isCommonJs: true, isOffered: (version) => version < 7 },
  { resolution: 'node10', module: 'esnext', isCommonJs: false, isOffered: (version) => version < 7 },
  { resolution: 'node16', module: 'node16', isCommonJs: true },
  { resolution: 'node16', module: 'node16', isCommonJs: false },
  { resolution: 'nodenext', module: 'nodenext', isCommonJs: true },
  { resolution: 'nodenext', module: 'nodenext', isCommonJs: false },
  { resolution: 'bundler', module: 'esnext', isCommonJs: false },
  { resolution: 'bundler', module: 'commonjs', isCommonJs: true, isOffered: (version) => version >= 6 },
]

// The declarations of frameworks do not pass `skipLibCheck: false`: those of Koa and Hono have errors of their own in
// TypeScript 5.4. Ours are checked in the program without frameworks.
const PROGRAMS = [
  { files: ['core'], skipLibCheck: false },
  // A project for another runtime has no declarations of Node.
  { files: ['without-node'], skipLibCheck: false, types: [] },
  { files: ['frameworks', 'elysia', 'h3'], skipLibCheck: true },
]

const checks = versions.flatMap((version) =>
  CELLS.filter(({ isOffered }) => isOffered?.(Number(version)) !== false).flatMap((cell) =>
    PROGRAMS.map((program) => () => check(version, cell, program)),
  ),
)
let failures = 0

// As many at a time as the machine has processors.
async function work(queue) {
  for (const run of queue) console.log(await run())
}

async function main() {
  const queue = checks.values()
  await Promise.all(Array.from({ length: availableParallelism() }, () => work(queue)))
  console.log(
    failures === 0 ? `${checks.length} cells, none fails` : `${failures} of ${checks.length} cells fail`,
  )
  process.exitCode = failures === 0 ? 0 : 1
}

void main()

async function check(version, cell, { files, skipLibCheck, types = ['node'] }) {
  const { resolution, module, isCommonJs } = cell
  const folder = join('build', [version, resolution, module, isCommonJs ? 'cjs' : 'esm', files[0]].join('-'))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: isCommonJs ? 'commonjs' : 'module' }))
  const used = files.filter((file) => file !== 'h3' || canImportH3(version, cell))
  for (const file of ['core', ...used]) copyFileSync(`${file}.ts`, join(folder, `${file}.ts`))
  const compilerOptions = {
    module,
    moduleResolution: resolution,
    target: 'ES2022',
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'ESNext.Disposable'],
    types,
    strict: true,
    esModuleInterop: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    skipLibCheck,
    noEmit: true,
    ...(resolution === 'node10' && version === '6.0' ? { ignoreDeprecations: '6.0' } : {}),
  }
  const configuration = { compilerOptions, files: used.map((file) => `${file}.ts`) }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(configuration))

  const kind = isCommonJs ? 'CommonJS' : 'ES modules'
  const title = `TypeScript ${version}  ${resolution.padEnd(8)}  ${kind.padEnd(10)}  ${used.join(', ')}`
  try {
    await promisify(execFile)(process.execPath, [readCompiler(version), '-p', folder])
    return `works  ${title}`
  } catch (error) {
    failures += 1
    const lines = error.stdout.split('\n').filter((line) => line.includes('error TS'))
    return [`fails  ${title}`, ...lines.slice(0, 4)].join('\n       ')
  }
}

// h3 2 is an ES module only, with `exports` only: node10 does not find it, and CommonJS may import it only in
// `nodenext` from TypeScript 5.8 on, and in `bundler`.
function canImportH3(version, { resolution, isCommonJs }) {
  if (resolution === 'node10') return false
  if (!isCommonJs || resolution === 'bundler') return true
  return resolution === 'nodenext' && Number(version) >= 5.8
}

function readCompiler(version) {
  const folder = join('node_modules', `typescript-${version}`)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, bin.tsc)
}
