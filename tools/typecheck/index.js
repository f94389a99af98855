// Type-checks the packages, the tests, the examples and the code in the documentation: npm run typecheck
// The examples are checked against the built packages, so the script builds them first.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { extractDocs } from '../docs/extract-docs.js'
import { listPackages } from '../packages/packages.js'
import { root } from '../shared/root.js'

const FOLDER = join(root, 'build/typecheck')

const BROWSER = { lib: ['ES2022', 'DOM', 'DOM.Iterable'], types: [], checkJs: true }

// What cannot be compiled with the options of tsconfig.json. Each gets a configuration in build/typecheck that extends it.
const VARIANTS = {
  // As a user compiles it: against what the packages publish.
  examples: {
    options: { paths: {}, allowJs: false },
    include: ['examples'],
  },
  // Pages have a DOM, and no Node.
  pages: {
    options: BROWSER,
    include: ['examples/page', 'packages/console/src/browser'],
  },
  // A page of few lines, which are not annotated. The server adds the client from another folder.
  'nest-browser': {
    options: {
      ...BROWSER,
      noImplicitAny: false,
      strictNullChecks: false,
      strictFunctionTypes: false,
      exactOptionalPropertyTypes: false,
      rootDirs: ['examples/nest-browser/public', 'examples/page'].map((folder) => join(root, folder)),
    },
    include: ['examples/nest-browser/public'],
  },
  'standard-decorators': {
    options: { experimentalDecorators: false },
    include: ['test/types/standard-decorators.ts'],
  },
  // The types of @fastify/websocket change those of every Fastify route, also where nobody imports it. Hono's
  // WebSocketServerLike has optional properties that those of ws cannot be assigned to.
  websockets: {
    options: { exactOptionalPropertyTypes: false },
    include: ['test/types/websockets.ts', 'build/docs/websockets.ts'],
  },
}

extractDocs()
rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER, { recursive: true })
const projects = [
  'tsconfig.json',
  ...listPackages().map(({ folder }) => `${folder}/tsconfig.json`),
  ...Object.entries(VARIANTS).map(([name, variant]) => writeVariant(name, variant)),
]
const failed = projects.filter((project) => !compile(project))
if (failed.length > 0) {
  console.log(`FAIL ${failed.join(', ')}`)
  process.exitCode = 1
}

function compile(project) {
  const args = ['node_modules/typescript/bin/tsc', '-p', project]
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status === 0
}

function writeVariant(name, { options, include }) {
  const file = join(FOLDER, `${name}.json`)
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: options,
    include: include.map((path) => join(root, path)),
    exclude: [],
  }
  writeFileSync(file, JSON.stringify(config, null, 2))
  return `build/typecheck/${name}.json`
}
