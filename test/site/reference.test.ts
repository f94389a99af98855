import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { listEntryPoints } from '../../site/reference.js'
import { checkDocs } from '../../tools/gates/docs.js'
import { checkDocumented } from '../../tools/gates/documented.js'
import { listPackages } from '../../tools/packages/packages.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('every entry point has a page, and every symbol that it exports has a sentence in the reference', () => {
  expect(checkDocs({ root, packages: listPackages() })).toMatch(/^\d+ pages, \d{3,} symbols$/)
})

test('the reference has every entry point that a package exports', () => {
  const exported = listPackages().flatMap(({ manifest }) =>
    Object.entries(manifest.exports as Record<string, unknown>)
      .filter(([, target]) => typeof target === 'object')
      .map(([path]) => `${manifest.name}${path.slice(1)}`),
  )
  const names = listEntryPoints().map(({ name }) => name)
  expect(names.toSorted()).toEqual(exported.toSorted())
})

test('an exported symbol without a sentence is reported', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-reference-'))
  mkdirSync(join(folder, 'one/src'), { recursive: true })
  writeFileSync(
    join(folder, 'one/src/index.ts'),
    '/** A sentence. */\nexport const a = 1\n/** @internal */\nexport const b = 2\nexport function c() {}\n',
  )
  const packages = [{ folder: 'one' }]
  expect(() => checkDocumented({ root: folder, packages })).toThrow(/b has no sentence\n.* c has no sentence/)
  // The names of real entry points, of which this package documents only one.
  expect(() => checkDocs({ root, packages: [] })).toThrow(/`createEnforcer` of tokenlib\/kit has no sentence/)
  rmSync(folder, { recursive: true })
})
