import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toDependencies } from '../packages/pack.js'
import { listSubpaths } from '../packages/entries.js'
import { run } from '../shared/processes.js'

const MOST_DEPENDENCIES = 3

const PROGRAM = `
import { TokenConfig, TokenManager } from 'tokenlib'

async function main(): Promise<void> {
  const config = new TokenConfig({ JWT_SECRET_KEY: 'a secret that is long enough for HS256' })
  const tokens = new TokenManager({ config })
  const payload = await tokens.verify(tokens.createAccessToken({ uid: 'ada', age: 36 }))
  const subject: string = payload.sub
  if (subject !== 'ada' || payload.age !== 36) throw new Error('the token does not hold what was put in')
}

void main()
`

// Arguments: whether `require` must find the copy that `import` finds, and the subpaths.
const COMPARE = `
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const [isShared, ...names] = process.argv.slice(2)
for (const name of names) {
  const [imported, required] = [await import(name), require(name)]
  const exported = Object.keys(imported)
  if (exported.length === 0) throw new Error(name + ' exports nothing')
  for (const key of exported) {
    if (!(key in required)) throw new Error("require('" + name + "') lacks " + key)
    const isSame = imported[key] === required[key]
    if (typeof imported[key] === 'function' && isSame !== (isShared === 'shared')) {
      throw new Error(key + ' of ' + name + (isSame ? ' is one for' : ' differs between') + ' import and require')
    }
  }
}
`

// The others import nothing but types from an optional package.
const NEEDS_A_PACKAGE = ['tokenlib/nest', 'tokenlib/opentelemetry']

/**
 * The tarball, installed with no framework next to it, type-checks strictly and runs, as an ES module and as CommonJS,
 * and brings few packages. So do the other packages next to it.
 *
 * `require` finds the copy that `import` finds. Where Node must not load ES modules with `require`, it finds the
 * CommonJS copy, which has the same names.
 */
export async function checkPacked({ folder, manifest, packages }) {
  const [core, ...others] = packages
  const app = join(folder, 'app')
  await installPackages(app, [core], manifest.devDependencies)
  await run('npx', ['--no', 'tsc'], app)
  for (const options of [[], ['--no-experimental-require-module']]) {
    for (const program of ['main.mjs', 'main.cjs']) await run(process.execPath, [...options, program], app)
  }
  await compareCopies(app, [core])
  const dependencies = listDependencies(app)

  const whole = join(folder, 'whole')
  await installPackages(whole, packages, manifest.devDependencies)
  await compareCopies(whole, others)
  await run('npx', ['--no', 'tokenlib', 'version'], whole)

  const found = `${dependencies.length} dependencies (${dependencies.join(', ')})`
  if (dependencies.length > MOST_DEPENDENCIES)
    throw new Error(`${found}, at most ${MOST_DEPENDENCIES} allowed`)
  return found
}

async function installPackages(app, packages, versions) {
  mkdirSync(app)
  writeJson(join(app, 'package.json'), {
    private: true,
    type: 'module',
    dependencies: toDependencies(packages),
    devDependencies: { typescript: versions.typescript, '@types/node': versions['@types/node'] },
  })
  writeJson(join(app, 'tsconfig.json'), {
    compilerOptions: {
      strict: true,
      skipLibCheck: false,
      module: 'NodeNext',
      target: 'ES2023',
      types: ['node'],
    },
  })
  writeFileSync(join(app, 'main.mts'), PROGRAM)
  writeFileSync(join(app, 'main.cts'), PROGRAM)
  writeFileSync(join(app, 'compare.js'), COMPARE)
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], app)
}

async function compareCopies(app, packages) {
  const names = packages
    .flatMap(({ manifest }) => listSubpaths(manifest))
    .map(({ specifier }) => specifier)
    .filter((specifier) => !NEEDS_A_PACKAGE.includes(specifier))
  await run(process.execPath, ['compare.js', 'shared', ...names], app)
  await run(process.execPath, ['--no-experimental-require-module', 'compare.js', 'separate', ...names], app)
}

// Transitively: whatever npm installed that is neither the package itself nor for the type check.
function listDependencies(app) {
  const { packages } = JSON.parse(readFileSync(join(app, 'package-lock.json'), 'utf8'))
  const installed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev)
  return installed.map(([path]) => path.replace('node_modules/', '')).filter((name) => name !== 'tokenlib')
}

function writeJson(file, value) {
  writeFileSync(file, JSON.stringify(value))
}
