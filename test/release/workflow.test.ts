import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

interface Job {
  readonly permissions?: Readonly<Record<string, string>>
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[]
}
interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

const FOLDER = new URL('../../.github/workflows/', import.meta.url)
const read = (file: string): string => readFileSync(new URL(file, FOLDER), 'utf8')
const workflows = readdirSync(FOLDER).map((file) => [file, parse(read(file)) as Workflow] as const)
const release = workflows.find(([file]) => file === 'release.yml')?.[1]
const jobs = Object.entries(release?.jobs ?? {})

test('no workflow has the permissions that GitHub gives to those which say nothing', () => {
  expect(workflows.filter(([, { permissions }]) => permissions === undefined)).toEqual([])
})

test('a job of the release that may write runs no code of the repository', () => {
  const writing = jobs.filter(([, { permissions }]) => Object.values(permissions ?? {}).includes('write'))
  expect(writing).not.toEqual([])
  const runsCode = ({ steps }: Job): boolean =>
    steps.some(
      ({ uses = '', run = '' }) =>
        uses.startsWith('actions/checkout@') || /\bnpm (?:ci|install|run)\b/.test(run),
    )
  expect(writing.filter(([, job]) => runsCode(job)).map(([name]) => name)).toEqual([])
})

test('no command of a workflow has an expression of GitHub in it: a tag is text that somebody chose', () => {
  const commands = workflows.flatMap(([file, { jobs }]) =>
    Object.values(jobs).flatMap(({ steps }) =>
      steps.flatMap(({ run }) => (run === undefined ? [] : `${file}: ${run}`)),
    ),
  )
  expect(commands.length).toBeGreaterThan(5)
  expect(commands.filter((command) => command.includes('${{'))).toEqual([])
})

test('the release needs no stored token', () => {
  expect(read('release.yml')).not.toMatch(/secrets\.|NODE_AUTH_TOKEN|NPM_TOKEN/)
})

test('actions of the release are named by commit', () => {
  const used = jobs.flatMap(([, { steps }]) => steps.flatMap(({ uses }) => uses ?? []))
  expect(used.length).toBeGreaterThan(5)
  expect(used.filter((uses) => !/@[0-9a-f]{40}$/.test(uses))).toEqual([])
})
