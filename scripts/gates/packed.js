import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../run.js'

const MOST_DEPENDENCIES = 3

const PROGRAM = `
import { TokenConfig, TokenManager } from 'tokenlib'

const config = new TokenConfig({ JWT_SECRET_KEY: 'a secret that is long enough for HS256' })
const tokens = new TokenManager({ config })
const payload = await tokens.verifyToken(tokens.createAccessToken({ uid: 'ada', age: 36 }))
const subject: string = payload.sub
if (subject !== 'ada' || payload.age !== 36) throw new Error('the token does not hold what was put in')
`

/** The tarball, installed with no framework beside it, type-checks strictly, runs, and brings few packages. */
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
  writeFileSync(join(app, 'main.ts'), PROGRAM)

  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline'], app)
  await run('npx', ['--no', 'tsc'], app)
  await run(process.execPath, ['main.js'], app)

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
