import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}
interface Job {
  readonly needs?: string
  readonly environment?: string
  readonly permissions: Readonly<Record<string, string>>
  readonly steps: readonly Step[]
}
interface Workflow {
  readonly on: { readonly push: { readonly tags?: readonly string[] } }
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

const FOLDER = new URL('../../.github/workflows/', import.meta.url)
const { on, permissions, jobs } = readWorkflow('release.yml')

test('a tag of a version starts it, and nothing else does', () => {
  expect(on).toEqual({ push: { tags: ['v*'] } })
})

test('every job has the permissions that it needs, and the workflow gives none', () => {
  expect(permissions).toEqual({})
  expect(Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, job.permissions]))).toEqual({
    check: { contents: 'read' },
    attest: { 'id-token': 'write', attestations: 'write' },
    publish: { 'id-token': 'write' },
    release: { contents: 'write' },
  })
})

test('checks come first, then the attestation, npm, and the GitHub release', () => {
  expect(Object.fromEntries(Object.entries(jobs).map(([name, { needs }]) => [name, needs]))).toEqual({
    check: undefined,
    attest: 'check',
    publish: 'attest',
    release: 'publish',
  })
  const commands = readCommands('check')
  const [tag, ci, packed] = ['tools/release/notes.js', '.ci/run', 'components'].map((text) =>
    commands.findIndex((command) => command.includes(text)),
  )
  expect([tag, ci, packed].toSorted((a, b) => Number(a) - Number(b))).toEqual([tag, ci, packed])
  expect(tag).toBeGreaterThanOrEqual(0)
})

test('only the job that can do nothing but read runs code of the repository', () => {
  const withCode = Object.entries(jobs).filter(([, { steps }]) =>
    steps.some(
      ({ uses = '', run = '' }) =>
        uses.startsWith('actions/checkout@') || /\bnpm (?:ci|install|run)\b/.test(run),
    ),
  )
  expect(withCode.map(([name]) => name)).toEqual(['check'])
})

test('npm gets the tarballs that were checked, the core first, with provenance, and no token', () => {
  const publish = readCommands('publish').filter((command) => command.includes('npm publish'))
  expect(publish.map((command) => command.trim().split(/\n */))).toEqual([
    [
      'for file in ./tokenlib-[0-9]*.tgz ./tokenlib-[a-z]*.tgz; do',
      'npm publish "$file" --provenance --access public --ignore-scripts',
      'done',
    ],
  ])
  expect(jobs['publish']?.environment).toBe('npm')
  expect(readFileSync(new URL('release.yml', FOLDER), 'utf8')).not.toMatch(
    /secrets\.|NODE_AUTH_TOKEN|NPM_TOKEN/,
  )
})

test('tarballs and list of components are attested, and are files of the GitHub release', () => {
  const attested = jobs['attest']?.steps.find(({ uses = '' }) => uses.includes('attest-build-provenance'))
  expect(attested?.with).toEqual({ 'subject-path': 'tokenlib-*' })
  const uploaded = jobs['check']?.steps.find(({ uses = '' }) => uses.includes('upload-artifact'))
  expect(String(uploaded?.with?.['path']).trim().split('\n')).toEqual([
    'build/release/tokenlib-*.tgz',
    'build/release/tokenlib-*.cdx.json',
    'build/release/notes.md',
  ])
  expect(readCommands('release').join('\n')).toMatch(
    /gh release create .*--verify-tag .*--notes-file notes\.md tokenlib-\*/,
  )
})

test('no command has an expression of GitHub in it: a tag is text that somebody chose', () => {
  const commands = Object.keys(jobs).flatMap(readCommands)
  expect(commands.filter((command) => command.includes('${{'))).toEqual([])
})

test('actions of the release are named by commit', () => {
  const used = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []))
  expect(used.length).toBeGreaterThan(5)
  expect(used.filter((uses) => !/@[0-9a-f]{40}$/.test(uses))).toEqual([])
})

test('every workflow is valid YAML with permissions', () => {
  for (const file of readdirSync(FOLDER)) expect(readWorkflow(file).permissions, file).toBeDefined()
})

function readWorkflow(file: string): Workflow {
  return parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Workflow
}

function readCommands(job: string): readonly string[] {
  return jobs[job]?.steps.flatMap(({ run }) => run ?? []) ?? []
}
