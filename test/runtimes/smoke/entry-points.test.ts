import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8')

// The one imports the framework itself; the matrix runs its application. The other imports the API of OpenTelemetry.
const NEEDS_A_PACKAGE = ['tokenlib/nest', 'tokenlib/opentelemetry']

test('the smoke test imports every entry point that needs no other package', () => {
  const { exports } = JSON.parse(read('../../../package.json')) as { exports: Record<string, unknown> }
  const expected = Object.keys(exports)
    .filter((subpath) => subpath !== './package.json')
    .map((subpath) => `tokenlib${subpath.slice(1)}`)
    .filter((name) => !NEEDS_A_PACKAGE.includes(name))
  const list = read('requests.js').split('async function tryImports')[1] ?? ''
  const imported = Array.from(list.matchAll(/await import\('([^']+)'\)/g), ([, name]) => name)
  expect(imported.toSorted()).toEqual(expected.toSorted())
})
