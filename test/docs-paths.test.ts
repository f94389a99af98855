import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const documents = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'tools/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path)),
  ...['cli', 'client', 'console', 'contracts', 'issuers'].map((name) => `packages/${name}/README.md`),
]

// Others speak of scripts of a reader's own project.
const NAMING_SCRIPTS = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'docs/testing.md', 'docs/runtimes.md']

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

// In backticks, and of a folder of this repository: paths of a reader's own project are not meant.
const OWN_PATH = /`((?:test|packages|tools|examples|benchmarks|site|api|docs|\.ci|\.github)\/[^`\s]*)`/g

/** Whether a path exists; `*` stands for a part of a name, `{a,b}` for several, `<name>` for any. */
function exists(path: string): boolean {
  const pattern = path
    .replaceAll(/[.+^$()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\{([^}]*)\}/g, (_, names: string) => `(?:${names.split(',').join('|')})`)
    .replaceAll(/\*\*|\*|<[^>]+>|…/g, '[^/]*')
  const segments = pattern.replace(/\/$/, '').split(/\/(?![^[]*\])/)
  let folders = ['']
  for (const segment of segments) {
    const name = new RegExp(`^${segment}$`)
    folders = folders.flatMap((folder) => {
      const at = join(ROOT, folder)
      if (!/[[(]/.test(segment)) {
        const plain = join(folder, segment.replaceAll('\\', ''))
        return existsSync(join(ROOT, plain)) ? [plain] : []
      }
      const names = existsSync(at) ? readdirSync(at) : []
      return names.filter((entry) => name.test(entry)).map((entry) => join(folder, entry))
    })
  }
  return folders.length > 0
}

/** What a pattern finds in documents and does not exist, as `document: what`. */
function listMissing(pattern: RegExp, doesExist: (found: string) => boolean, of = documents): string[] {
  return of.flatMap((document) =>
    [...read(document).matchAll(pattern)]
      .map(([, found = '']) => found)
      .filter((found) => !doesExist(found))
      .map((found) => `${document}: ${found}`),
  )
}

test('every path of this repository that a document names exists', () => {
  expect(listMissing(OWN_PATH, exists)).toEqual([])
})

test('every path of docs/decisions/specification-map.md is one of the core or of its tests', () => {
  const places = ['', 'packages/tokenlib/src/', 'test/']
  const paths = /`([a-z-]+\/[^`\s]*|[a-z-]+\.ts)`/g
  expect(read('docs/decisions/specification-map.md').match(paths)?.length).toBeGreaterThan(50)
  expect(
    listMissing(paths, (path) => places.some((place) => exists(`${place}${path}`)), [
      'docs/decisions/specification-map.md',
    ]),
  ).toEqual([])
})

test('every script that a document names is in package.json', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const isScript = (name: string): boolean => Object.hasOwn(scripts, name)
  expect(listMissing(/\bnpm run ([\w:-]+)/g, isScript, NAMING_SCRIPTS)).toEqual([])
})

test('every file that a document tells to run with vitest exists', () => {
  // The one that stands for any.
  const isFile = (path: string): boolean => path === 'test/x.test.ts' || exists(path)
  expect(listMissing(/npx vitest run (?:--[\w-]+ \S+ )*(test\/[^`\s|]+)/g, isFile)).toEqual([])
})

test('every tool that a document or CI tells to run exists', () => {
  const missing = [...documents, '.ci/run', '.github/workflows/release.yml'].flatMap((document) =>
    Array.from(read(document).matchAll(/\bnode (tools(?:\/[\w-]+)+(?:\.js)?)/g), ([, path = '']) => path)
      .filter((path) => !existsSync(join(ROOT, path.endsWith('.js') ? path : `${path}/index.js`)))
      .map((path) => `${document}: ${path}`),
  )
  expect(missing).toEqual([])
})

test('the first line that installs the package warns of its name, and installs a file', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  for (const document of documents) {
    const text = read(document)
    const at = text.search(/(?:npm (?:install|i|add)|pnpm add|yarn add|bun add|deno add) [^\n&]*tokenlib/)
    if (at === -1) continue
    expect([document, text.slice(at).split('\n', 1)[0]]).toEqual([
      document,
      expect.stringContaining(`tokenlib-${version}.tgz`),
    ])
    // In the same section, before it.
    const before = text.slice(0, at)
    const section = before.slice(Math.max(before.lastIndexOf('\n#'), 0))
    expect([document, section]).toEqual([document, expect.stringContaining('belongs to another package')])
  }
  // Not by a name alone, which installs the other one.
  for (const document of documents) {
    expect([
      document,
      read(document).match(/(?:npm (?:install|i|add)|pnpm add|yarn add|bun add) tokenlib(?![\w-])/g),
    ]).toEqual([document, null])
  }
  expect(read('README.md')).toContain(`npm install ./tokenlib-${version}.tgz`)
})
