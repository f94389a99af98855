import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

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

test('an unknown consumer is refused with the list of known ones', () => {
  const script = join(root, 'tools/consumers/index.js')
  const { status, stderr } = spawnSync(process.execPath, [script, 'unknown'], { encoding: 'utf8' })
  expect(status).toBe(1)
  for (const name of names) expect(stderr).toContain(name)
})

describe('a consumer names exact versions, has a test and does not bring tokenlib', () => {
  test.each(names)('%s', (name) => {
    const manifest = JSON.parse(readFileSync(join(consumers, name, 'package.json'), 'utf8')) as Manifest
    const versions = { ...manifest.dependencies, ...manifest.devDependencies }
    expect(manifest.scripts?.['test']).toBeTypeOf('string')
    // A line of the table in docs/runtimes.md.
    expect(manifest.description).toMatch(/^[A-Z].*\.$/)
    expect([undefined, '>=22']).toContain(manifest.engines?.node)
    expect(Object.keys(versions)).not.toContain('tokenlib')
    expect(
      Object.entries(versions).filter(
        ([, version]) => !/^(?:npm:\S+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version),
      ),
    ).toEqual([])
  })
})

describe('every block with the name of a file is a part of that file of the consumer that its page links', () => {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    // Those of migrations are parts of test/migrations, which has a test for them.
    .filter((path) => path.endsWith('.md') && !path.startsWith('migrations'))
    .map((path) => ({ path, text: readFileSync(join(root, 'docs', path), 'utf8') }))
    .map(({ path, text }) => ({ path, text, blocks: readFileBlocks(text) }))
    .filter(({ blocks }) => blocks.length > 0)

  test('there are such pages', () => {
    expect(pages.length).toBeGreaterThan(0)
  })

  test.each(pages)('docs/$path', ({ text, blocks }) => {
    const linked = new Set(
      Array.from(text.matchAll(/\/test\/consumers\/([\w-]+)\)/g), ([, name = '']) => name),
    )
    for (const { file, code } of blocks) {
      const sources = [...linked]
        .map((name) => join(consumers, name, file))
        .filter((path) => existsSync(path))
      expect(sources, `${file} is in none of the linked consumers`).not.toEqual([])
      expect(
        sources.some((path) => hasLines(readFileSync(path, 'utf8'), code)),
        `The block differs from ${file}`,
      ).toBe(true)
    }
  })
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
