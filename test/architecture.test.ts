import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type LibraryFile, PACKAGES, readLibraryFiles } from './helpers/library-files.js'

const CORE = 'packages/tokenlib/src/'

// The layers of the core, lowest first. A file imports from its own layer or from one listed before it.
const LAYERS = [
  'base',
  'tokens',
  'http',
  'revocation',
  'proofs',
  'config',
  'stores',
  'requests',
  'sessions',
  'sockets',
  'manager',
  'routes',
  'frameworks',
  'testing',
  'entries',
]
const MANAGER = ['manager.ts', 'manager-options.ts', 'choose-manager.ts']
const ENTRIES = ['index.ts', 'kit.ts', 'opentelemetry.ts']

const files = readLibraryFiles().map((file) => ({ ...file, imports: readImports(file.text) }))
type SourceFile = (typeof files)[number]

/** Every import of one of the files that breaks a rule, as `file: import`. */
function listImports(isWrong: (name: string, file: SourceFile) => boolean, of = files): string[] {
  return of.flatMap((file) =>
    file.imports.filter((name) => isWrong(name, file)).map((name) => `${file.path}: ${name}`),
  )
}

function listFiles(isWrong: (file: SourceFile) => boolean): string[] {
  return files.filter(isWrong).map(({ path }) => path)
}

test('there are files to look at', () => {
  expect(new Set(files.map((file) => file.package))).toEqual(
    new Set(['tokenlib', 'client', 'issuers', 'console', 'cli', 'contracts']),
  )
  expect(files.length).toBeGreaterThan(150)
  expect(readImports("import 'a'\nexport * from 'b'\nawait import('c')\n/** import 'd' */\n")).toEqual([
    'a',
    'b',
    'c',
  ])
})

describe('packages', () => {
  const { exports } = JSON.parse(readFileSync(join(PACKAGES, 'tokenlib/package.json'), 'utf8')) as {
    exports: Record<string, unknown>
  }
  const PUBLIC = new Set(Object.keys(exports).map((subpath) => `tokenlib${subpath.slice(1)}`))

  test('import each other only by what tokenlib exports', () => {
    const isOurs = (name: string): boolean => /^@?tokenlib(?:\/|$)/.test(name)
    expect(
      listImports((name, file) => isOurs(name) && (file.package === 'tokenlib' || !PUBLIC.has(name))),
    ).toEqual([])
  })

  test('have no relative import that leaves the source of the package', () => {
    expect(
      listImports(
        (name, file) =>
          name.startsWith('.') && !resolve(name, file).startsWith(`packages/${file.package}/src/`),
      ),
    ).toEqual([])
  })

  test('the client imports nothing but itself', () => {
    expect(listImports((name, file) => file.package === 'client' && !name.startsWith('.'))).toEqual([])
  })
})

describe('layers of the core', () => {
  const core = files.filter((file) => file.package === 'tokenlib')

  test('every file belongs to one', () => {
    expect(core.filter(({ path }) => layerOf(path) === -1).map(({ path }) => path)).toEqual([])
  })

  test('imports point down only', () => {
    const isUpward = (name: string, file: SourceFile): boolean =>
      name.startsWith('.') && layerOf(resolve(name, file)) > layerOf(file.path)
    expect(listImports(isUpward, core)).toEqual([])
  })
})

test('no files import each other in a circle, not even for types', () => {
  const left = new Map(
    files.map((file) => [file.path, file.imports.map((name) => resolve(name, file))] as const),
  )
  const imports = (path: string): boolean => (left.get(path) ?? []).some((target) => left.has(target))
  const isImported = (path: string): boolean => [...left.values()].some((targets) => targets.includes(path))
  // Takes away, again and again, what imports nothing that is left, or is imported by nothing.
  for (let size = -1; size !== left.size;) {
    size = left.size
    for (const path of left.keys()) if (!imports(path) || !isImported(path)) left.delete(path)
  }
  expect([...left.keys()]).toEqual([])
})

describe('dependencies', () => {
  const isStranger = (name: string): boolean => !/^(?:\.|node:|tokenlib(?:\/|$))/.test(name)
  const RUNTIME = ['cookie-es', '@standard-schema/spec']
  const NEST = ['@nestjs/common', '@nestjs/core', 'rxjs']

  function frameworkOf({ path }: LibraryFile): string | undefined {
    return new RegExp(`^${CORE}frameworks/([\\w-]+)`).exec(path)?.[1]
  }

  test('are the two we chose, and what a file is an adapter for', () => {
    const isAllowed = (name: string, file: SourceFile): boolean => {
      if (file.package !== 'tokenlib') return false
      if (RUNTIME.includes(name)) return true
      if (file.path === `${CORE}opentelemetry.ts`) return name === '@opentelemetry/api'
      const framework = frameworkOf(file)
      return framework === 'nest' ? NEST.includes(name) : name === framework
    }
    expect(listImports((name, file) => isStranger(name) && !isAllowed(name, file))).toEqual([])
  })

  test('a framework is only a type, except where it has a container', () => {
    const isValue = (name: string, { text }: SourceFile): boolean =>
      isStranger(name) && !new RegExp(`import type [^'}]*\\} from '${name}'`).test(text)
    const adapters = files.filter((file) => ![undefined, 'nest'].includes(frameworkOf(file)))
    expect(listImports(isValue, adapters)).toEqual([])
  })
})

test('time is read in one place', () => {
  // The client has one of its own: it must not bring anything else into a page.
  const clocks = [`${CORE}time.ts`, 'packages/client/src/options.ts']
  const reading = listFiles(({ text }) => /Date\.now\(\)|performance\.now\(\)|new Date\(\)/.test(text))
  expect(reading.filter((path) => !clocks.includes(path))).toEqual([])
})

test('nothing escapes the type system', () => {
  const escape = /: any\b|as any\b|<any>|@ts-ignore|@ts-expect-error|-disable\b|export default|\benum\b/
  expect(listFiles(({ text }) => escape.test(text))).toEqual([])
})

test('one idea fits in 300 lines', () => {
  const isLong = ({ text }: SourceFile): boolean => text.trimEnd().split('\n').length > 300
  expect(listFiles(isLong)).toEqual([])
})

/** What a file imports or exports from, also for types only. Examples in comments are left out. */
function readImports(text: string): string[] {
  const code = text.replaceAll(/^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*)$/gm, '')
  return [...code.matchAll(/\b(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, name = '']) => name)
}

/** The path of an imported file from the root of the repository; other names are left as they are. */
function resolve(name: string, { path }: LibraryFile): string {
  if (!name.startsWith('.')) return name
  return join(path, '..', name).replaceAll('\\', '/').replace(/\.js$/, '.ts')
}

function layerOf(path: string): number {
  const [first = '', ...rest] = path.slice(CORE.length).split('/')
  if (ENTRIES.includes(first) || first === 'opentelemetry') return LAYERS.indexOf('entries')
  if (MANAGER.includes(first)) return LAYERS.indexOf('manager')
  return LAYERS.indexOf(rest.length === 0 ? 'base' : first)
}

// A thread loads a helper only once, for its first test file, so a hook in it would never run for the others.
test('helpers of tests have no hooks of their own', () => {
  const folder = new URL('.', import.meta.url)
  const helpers = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) =>
      path.endsWith('.ts') &&
      !/\.test\.ts$|node_modules|^consumers/.test(path) &&
      !SETUP_FILES.includes(path),
  )
  expect(helpers.length).toBeGreaterThan(100)
  const hooked = helpers.filter((path) =>
    /^(?:after|before)(?:Each|All)\(/m.test(readFileSync(new URL(path, folder), 'utf8')),
  )
  expect(hooked).toEqual([])
})

// These run before every file.
const SETUP_FILES = ['helpers/require-assertions.ts', 'leaks/watch-for-leaks.ts', 'mutation/limit-tests.ts']

test('unit tests do not wait for time to pass', () => {
  const folder = new URL('.', import.meta.url)
  const isUnit = (path: string): boolean =>
    path.endsWith('.test.ts') &&
    !/\.(integration|long|evidence)\.test\.ts$/.test(path) &&
    !/^(adapters|benchmarks|browser|consumers|faults|fuzz|nest-11|properties|vectors)/.test(path) &&
    !/^stores\/(mysql|postgres|redis|sqlite)/.test(path)
  const waits = /setTimeout as|expect\.poll|vi\.waitFor\b|Atomics\.wait\(/
  const units = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(isUnit)
  expect(units.length).toBeGreaterThan(200)
  const waiting = units.filter(
    (path) => path !== 'architecture.test.ts' && waits.test(readFileSync(new URL(path, folder), 'utf8')),
  )
  expect(waiting).toEqual([])
})
