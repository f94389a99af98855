import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const SOURCE = fileURLToPath(new URL('../src', import.meta.url))

// Lowest first. A file may import from its own layer or from one listed before it.
const LAYERS = [
  'client',
  'base',
  'claims',
  'jws',
  'issuers',
  'request',
  'revocation',
  'sessions',
  'stores',
  'manager',
  'http',
  'routes',
  'adapters',
  'testing',
  'index',
  'cli',
]

const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(join(SOURCE, path), 'utf8') }))

function layerOf(path: string): string {
  const entries = ['index.ts', 'store-kit.ts', 'adapter-kit.ts', 'providers.ts', 'opentelemetry.ts']
  if (entries.includes(path) || path.startsWith(`opentelemetry${sep}`)) return 'index'
  return path.includes(sep) ? (path.split(sep)[0] as string) : 'base'
}

function importsOf(text: string): string[] {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] as string)
}

test('there are files to look at', () => {
  expect(files.length).toBeGreaterThan(30)
})

function ownImportsOf({ path, text }: (typeof files)[number]): string[] {
  return importsOf(text)
    .filter((name) => name.startsWith('.'))
    .map((name) => relative(SOURCE, join(SOURCE, dirname(path), name.replace(/\.js$/, '.ts'))))
}

test('no files import each other in a circle, not even for types', () => {
  const left = new Map(files.map((file) => [file.path, ownImportsOf(file)]))
  const imports = (path: string): boolean => (left.get(path) ?? []).some((target) => left.has(target))
  const isImported = (path: string): boolean => [...left.values()].some((targets) => targets.includes(path))
  // Takes away, again and again, what imports nothing that is left, or is imported by nothing.
  for (let size = -1; size !== left.size;) {
    size = left.size
    for (const path of left.keys()) if (!imports(path) || !isImported(path)) left.delete(path)
  }
  expect([...left.keys()]).toEqual([])
})

// The public class has one short method for everything an application can do, and the errors are one list.
const MAX_LINES: ReadonlyMap<string, number> = new Map([
  [join('manager', 'token-manager.ts'), 600],
  ['errors.ts', 350],
])

describe.each(files)('$path', (file) => {
  const { path, text } = file

  test('imports point down only', () => {
    const layer = LAYERS.indexOf(layerOf(path))
    expect(layer, `${path} belongs to no layer`).not.toBe(-1)
    const upward = ownImportsOf(file).filter((target) => LAYERS.indexOf(layerOf(target)) > layer)
    expect(upward).toEqual([])
  })

  test('the client imports nothing but itself', () => {
    if (layerOf(path) !== 'client') return
    expect(importsOf(text).filter((name) => !name.startsWith('./'))).toEqual([])
  })

  test('runtime dependencies are the two we chose; a framework is only a type, except in its own container', () => {
    const allowed = /^(?:\.|node:|cookie-es$|@standard-schema\/spec$)/
    const foreign = importsOf(text).filter((name) => !allowed.test(name))
    if (path === 'opentelemetry.ts') return expect(foreign).toEqual(['@opentelemetry/api'])
    const framework = layerOf(path) === 'adapters' ? path.split(sep)[1]?.replace('.ts', '') : undefined
    if (framework === 'nest')
      return expect(foreign.filter((name) => !/^(?:@nestjs\/(?:common|core)|rxjs)$/.test(name))).toEqual([])
    expect(foreign.filter((name) => name !== framework)).toEqual([])
    for (const name of foreign) expect(text).toMatch(new RegExp(`import type [^'}]*\\} from '${name}'`))
  })

  test('time is read in one place, and nothing escapes the type system', () => {
    // The client is a layer of its own below `base`: it must not bring anything else into a page.
    if (path !== 'time.ts' && path !== join('client', 'responses.ts'))
      expect(text).not.toMatch(/Date\.now\(\)|performance\.now\(\)|new Date\(\)/)
    expect(text).not.toMatch(
      /: any\b|as any\b|<any>|@ts-ignore|@ts-expect-error|-disable\b|export default|\benum\b/,
    )
  })

  test('one idea fits in 300 lines', () => {
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(MAX_LINES.get(path) ?? 300)
  })
})
