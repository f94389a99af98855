import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const consumers = join(root, 'test/consumers')

test('every block with the name of a file is a part of that file of a consumer that its page links', () => {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    // Those of migrations are parts of test/migrations, which has a test for them. Tutorials are followed as a whole.
    .filter((path) => path.endsWith('.md') && !/^(?:migrations|tutorials)\b/.test(path))
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
