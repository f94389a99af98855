import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

interface Manifest {
  readonly engines: { readonly node: string }
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

const manifest = JSON.parse(read('packages/tokenlib/package.json')) as Manifest
const { devDependencies } = JSON.parse(read('package.json')) as Manifest
const page = read('docs/releases.md')

test('the table of frameworks has the peer dependencies of package.json', () => {
  const rows = readRows('Frameworks').map(([name = '', range = '']) => [unquote(name), unquote(range)])
  expect(Object.fromEntries(rows)).toEqual(manifest.peerDependencies)
})

test('the table of Node versions has those of CI, and begins with the oldest that package.json accepts', () => {
  const workflow = parse(read('.github/workflows/ci.yml')) as {
    readonly jobs: {
      readonly checks: { readonly strategy: { readonly matrix: { readonly node: readonly number[] } } }
    }
  }
  const rows = readRows('Node').map(([version = '']) => version)
  expect(rows.map((version) => Number.parseInt(version, 10))).toEqual(
    workflow.jobs.checks.strategy.matrix.node,
  )
  expect(`>=${/from (\S+)/.exec(rows[0] ?? '')?.[1]}.0`).toBe(manifest.engines.node)
})

test('the client libraries have the major versions that the tests run with', () => {
  const rows = readRows('Client libraries').filter(([name = '']) => name.startsWith('`'))
  expect(rows.length).toBeGreaterThan(4)
  for (const [name = '', version] of rows) {
    expect(devDependencies[unquote(name)], name).toMatch(new RegExp(`^[~^]?${version}\\.`))
  }
})

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
}

/** The cells of the first table under a heading, without its head. */
function readRows(heading: string): readonly (readonly string[])[] {
  const section = page.split(`\n### ${heading}\n`)[1]?.split(/\n#+ /)[0] ?? ''
  const lines = section.split('\n').filter((line) => line.startsWith('|'))
  return lines.slice(2).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  )
}

function unquote(cell: string): string {
  return cell.replaceAll('`', '')
}
