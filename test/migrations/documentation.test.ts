import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const here = fileURLToPath(new URL('.', import.meta.url))
const guides = fileURLToPath(new URL('../../docs/migrations', import.meta.url))

/** The lines of a text, without their indentation: a page shows a part of a function at its left edge. */
const toLines = (text: string): string => text.replaceAll(/^[ \t]+/gm, '').trim()

const pages = readdirSync(guides).map((name) => ({ name, text: readFileSync(join(guides, name), 'utf8') }))

describe('every block of a guide is a part of the application that is tested', () => {
  test.each(pages)('$name', ({ text }) => {
    const blocks = Array.from(text.matchAll(/^```ts (\S+)\n([^]*?)^```$/gm))
    expect(blocks.length).toBeGreaterThan(0)
    expect(text).not.toMatch(/^```ts$/m)
    for (const [, file = '', code = ''] of blocks) {
      const source = toLines(readFileSync(join(here, file), 'utf8'))
      expect(`\n${source}\n`.includes(`\n${toLines(code)}\n`), `A block differs from ${file}:\n${code}`).toBe(
        true,
      )
    }
  })
})

test('every migration has a guide, and every guide a migration', () => {
  const migrations = readdirSync(here, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'shared')
    .map(({ name }) => name)
  const names = pages.map(({ name }) => name.replace(/\.md$/, '')).filter((name) => name !== 'index')
  expect(migrations.toSorted()).toEqual(names.toSorted())
})
