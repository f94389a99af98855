import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const consumers = join(root, 'test/consumers')
const names = readdirSync(consumers).filter((name) => existsSync(join(consumers, name, 'package.json')))

interface Manifest {
  readonly description?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly engines?: { readonly node?: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const VERSION = /^(?:npm:\S+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/

test('every consumer names exact versions, has a test and a description, and does not bring tokenlib', () => {
  const wrong = names.flatMap((name) => {
    const manifest = JSON.parse(readFileSync(join(consumers, name, 'package.json'), 'utf8')) as Manifest
    const versions = { ...manifest.dependencies, ...manifest.devDependencies }
    return [
      ...(manifest.scripts?.['test'] === undefined ? ['no test'] : []),
      // A line of the table in docs/runtimes.md.
      ...(/^[A-Z].*\.$/.test(manifest.description ?? '') ? [] : ['no sentence as description']),
      ...([undefined, '>=22'].includes(manifest.engines?.node) ? [] : ['another engine']),
      ...(Object.hasOwn(versions, 'tokenlib') ? ['tokenlib'] : []),
      ...Object.keys(versions).filter((dependency) => !VERSION.test(versions[dependency] ?? '')),
    ].map((what) => `${name}: ${what}`)
  })
  expect(wrong).toEqual([])
})

test('every block with the name of a file is a part of that file of a consumer that its page links', () => {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    // Those of migrations are parts of test/migrations, which has a test for them.
    .filter((path) => path.endsWith('.md') && !path.startsWith('migrations'))
    .map((path) => ({ path, text: readFileSync(join(root, 'docs', path), 'utf8') }))
  const blocks = pages.flatMap(({ path, text }) => {
    const linked = Array.from(text.matchAll(/\/test\/consumers\/([\w-]+)\)/g), ([, name = '']) => name)
    return readFileBlocks(text).map((block) => ({ path, linked, ...block }))
  })
  expect(blocks.length).toBeGreaterThan(0)
  const foreign = blocks.filter(({ linked, file, code }) => {
    const sources = linked.map((name) => join(consumers, name, file)).filter((path) => existsSync(path))
    return !sources.some((path) => hasLines(readFileSync(path, 'utf8'), code))
  })
  expect(foreign.map(({ path, file }) => `docs/${path}: ${file}`)).toEqual([])
})

interface FileBlock {
  readonly file: string
  readonly code: string
}

/** The blocks of a page that begin with the path of a file behind their language: ```ts app/page.ts */
function readFileBlocks(page: string): FileBlock[] {
  const blocks = page.matchAll(/^```\w+ (\S+)\n([^]*?)^```$/gm)
  return Array.from(blocks, ([, file = '', code = '']) => ({ file, code }))
}

/** Whether a text has these lines, one after the other and complete. */
function hasLines(text: string, lines: string): boolean {
  return lines !== '' && `\n${text}`.includes(`\n${lines}`)
}
