import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const here = fileURLToPath(new URL('.', import.meta.url))
const guides = fileURLToPath(new URL('../../docs/migrations', import.meta.url))

/** The lines of a text, without their indentation: a page shows a part of a function at its left edge. */
const toLines = (text: string): string => text.replaceAll(/^[ \t]+/gm, '').trim()

const pages = readdirSync(guides).map((name) => ({ name, text: readFileSync(join(guides, name), 'utf8') }))

test('every block of a guide is a part of the application that is tested', () => {
  const wrong = pages.flatMap(({ name, text }) => {
    const blocks = Array.from(text.matchAll(/^```ts (\S+)\n([^]*?)^```$/gm))
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

test('every migration has a guide, and every guide a migration', () => {
  const migrations = readdirSync(here, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'shared')
    .map(({ name }) => name)
  const names = pages.map(({ name }) => name.replace(/\.md$/, '')).filter((name) => name !== 'index')
  expect(migrations.toSorted()).toEqual(names.toSorted())
})
