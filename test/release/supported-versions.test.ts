import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

interface Manifest {
  readonly engines: { readonly node: string }
  readonly devDependencies: Readonly<Record<string, string>>
}

const manifest = JSON.parse(read('packages/tokenlib/package.json')) as Manifest
const { devDependencies } = JSON.parse(read('package.json')) as Manifest
const page = read('SECURITY.md')

test('the versions of Node are the versions of CI, and begin with the oldest that package.json accepts', () => {
  const workflow = parse(read('.github/workflows/ci.yml')) as {
    readonly jobs: {
      readonly checks: { readonly strategy: { readonly matrix: { readonly node: readonly number[] } } }
    }
  }
  const [, list = '', oldest] = /^- Node (\d+ \(from (\S+)\)[^;]+)/m.exec(page) ?? []
  const versions = list.replace(/\(.*?\)/, '').match(/\d+/g)
  expect(versions?.map(Number)).toEqual(workflow.jobs.checks.strategy.matrix.node)
  expect(`>=${oldest}.0`).toBe(manifest.engines.node)
})

test('the client libraries have the major versions that the tests run with', () => {
  const list = /^- Clients: (.+)$/m.exec(page)?.[1] ?? ''
  const clients = Array.from(list.matchAll(/`([^`]+)` (\d+)/g))
  expect(clients.length).toBeGreaterThan(4)
  for (const [, name = '', version] of clients) {
    expect(devDependencies[name], name).toMatch(new RegExp(`^[~^]?${version}\\.`))
  }
})

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
}
