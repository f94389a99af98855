import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { toConsumersPage, toPage } from '../../tools/runtimes/report.js'
import { GUIDE_ARGUMENTS } from './guide.js'

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')

test('docs/runtimes.md has the tables of the last full run', () => {
  const page = read('docs/runtimes.md')
  expect(page).toBe(toPage(page, JSON.parse(read('test/runtimes/results.json'))))
})

test('docs/runtimes.md has the table of the last runs of all consumers', () => {
  const page = read('docs/runtimes.md')
  const results = JSON.parse(read('test/consumers/results.json')) as { readonly name: string }[]
  expect(page).toBe(toConsumersPage(page, results))
  const folders = readdirSync(fileURLToPath(new URL('../consumers', import.meta.url)), {
    withFileTypes: true,
  })
    .filter((entry) => entry.isDirectory() && entry.name !== 'shared')
    .map(({ name }) => name)
  expect(results.map(({ name }) => name)).toEqual(folders.toSorted())
})

test.each(['runtimes', 'consumers'])('the results of %s name no folder of a machine', (name) => {
  expect(read(`test/${name}/results.json`)).not.toMatch(/(?<![\w:@.])\/(?:tmp|home|root|work|Users|var)\//)
})

describe('a guide', () => {
  test.each(['bun', 'deno'] as const)(
    'of %s shows a part of the application that the matrix runs',
    (name) => {
      const sections = read('docs/runtimes.md').split(/^## /m)
      const section = sections.find((text) => text.toLowerCase().startsWith(`${name}\n`)) ?? ''
      const [, code = ''] = /^```js\n([^]*?)^```/m.exec(section) ?? []
      expect(code).toContain('new TokenManager')
      expect(read(`test/runtimes/guides/${name}.js`)).toContain(code)
      expect(section).toContain(`${name} ${GUIDE_ARGUMENTS[name]('server.js').join(' ')}\n`)
    },
  )
})
