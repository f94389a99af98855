import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { toPage } from '../../scripts/browsers/report.js'

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')

test('docs/browser-evidence.md has the tables of the last full run', () => {
  const page = read('docs/browser-evidence.md')
  expect(page).toBe(toPage(page, JSON.parse(read('test/browser-evidence/results.json'))))
})

test('the results name no folder of a machine', () => {
  const results = read('test/browser-evidence/results.json')
  expect(results).not.toMatch(/(?<![\w:@.])\/(?:tmp|home|root|work|Users|var)\//)
})
