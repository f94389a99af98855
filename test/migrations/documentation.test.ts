import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const here = fileURLToPath(new URL('.', import.meta.url))
const guides = fileURLToPath(new URL('../../docs/migrations', import.meta.url))

/** The lines of a text, without their indentation: a page shows a part of a function at its left edge. */
const toLines = (text: string): string => text.replaceAll(/^[ \t]+/gm, '').trim()

const pages = readdirSync(guides).map((name) => {
  const text = readFileSync(join(guides, name), 'utf8')
  return { name, text, blocks: Array.from(text.matchAll(/^```ts (\S+)\n([^]*?)^```$/gm)) }
})

test('every block of a guide is a part of the application that is tested', () => {
  const wrong = pages.flatMap(({ name, text, blocks }) => {
    const differing = blocks.filter(([, file = '', code = '']) => {
      const source = toLines(readFileSync(join(here, file), 'utf8'))
      return !`\n${source}\n`.includes(`\n${toLines(code)}\n`)
    })
    return [
      ...(blocks.length === 0 ? [`${name} has no block`] : []),
      ...(/^```ts$/m.test(text) ? [`${name} has a block without a file`] : []),
      ...differing.map(([, file, code]) => `${name}: a block differs from ${file}:\n${code}`),
    ]
  })
  expect(wrong).toEqual([])
})

test('a guide shows code of every migration', () => {
  const migrations = readdirSync(here, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'shared')
    .map(({ name }) => name)
  const shown = new Set(pages.flatMap(({ blocks }) => blocks.map(([, file = '']) => file.split('/')[0])))
  expect(migrations.filter((name) => !shown.has(name))).toEqual([])
})
