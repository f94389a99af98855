import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8')

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, unknown>>
}

// The one imports the framework itself; the matrix runs its application. The other imports the API of OpenTelemetry.
const NEEDS_A_PACKAGE = ['tokenlib/nest', 'tokenlib/opentelemetry']

test('the smoke test imports every entry point that needs no other package', () => {
  const expected = ['tokenlib', 'client', 'issuers', 'console', 'contracts'].flatMap((folder) => {
    const { name, exports } = JSON.parse(read(`../../../packages/${folder}/package.json`)) as Manifest
    return Object.keys(exports)
      .filter((subpath) => subpath !== './package.json')
      .map((subpath) => `${name}${subpath.slice(1)}`)
      .filter((entry) => !NEEDS_A_PACKAGE.includes(entry))
  })
  const list = read('requests.js').split('async function tryImports')[1] ?? ''
  const imported = Array.from(list.matchAll(/await import\('([^']+)'\)/g), ([, name]) => name)
  expect(imported.toSorted()).toEqual(expected.toSorted())
})
