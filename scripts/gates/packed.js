import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listSubpaths } from './entries.js'
import { run } from '../run.js'

const MOST_DEPENDENCIES = 3

const PROGRAM = `
import { TokenConfig, TokenManager } from 'tokenlib'

async function main(): Promise<void> {
  const config = new TokenConfig({ JWT_SECRET_KEY: 'a secret that is long enough for HS256' })
  const tokens = new TokenManager({ config })
  const payload = await tokens.verifyToken(tokens.createAccessToken({ uid: 'ada', age: 36 }))
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
const NEEDS_A_PACKAGE = ['./nest', './opentelemetry']

/**
 * The tarball, installed with no framework beside it, type-checks strictly and runs, as an ES module and as CommonJS,
 * and brings few packages.
 *
 * `require` finds the copy that `import` finds. Where Node must not load ES modules with `require`, it finds the
 * CommonJS copy, which has the same names.
 */
export async function checkPacked({ folder, manifest, tarball, size, unpackedSize }) {
  const app = join(folder, 'app')
  mkdirSync(app)
  writeJson(join(app, 'package.json'), {
    private: true,
    type: 'module',
    dependencies: { tokenlib: `file:${tarball}` },
    devDependencies: {
      typescript: manifest.devDependencies.typescript,
      '@types/node': manifest.devDependencies['@types/node'],
    },
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
  await run('npx', ['--no', 'tsc'], app)
  const names = listSubpaths(manifest)
    .filter(({ subpath }) => !NEEDS_A_PACKAGE.includes(subpath))
    .map(({ subpath }) => subpath.replace('.', 'tokenlib'))
  for (const program of [
    ['main.mjs'],
    ['main.cjs'],
    ['compare.js', 'shared', ...names],
    ['--no-experimental-require-module', 'main.cjs'],
    ['--no-experimental-require-module', 'compare.js', 'separate', ...names],
  ]) {
    await run(process.execPath, program, app)
  }

  const dependencies = listDependencies(app)
  const found = `${dependencies.length} dependencies (${dependencies.join(', ')})`
  if (dependencies.length > MOST_DEPENDENCIES)
    throw new Error(`${found}, at most ${MOST_DEPENDENCIES} allowed`)
  return `${found}, ${size} bytes packed, ${unpackedSize} unpacked`
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
