import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FILES = [
  'tools',
  'api',
  'SECURITY.md',
  'docs/getting-started.md',
  'README.md',
  'CHANGELOG.md',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  ...readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}/package.json`),
]
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string
}
const date =
  new RegExp(`^## ${version} - (.+)$`, 'm').exec(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'))?.[1] ?? ''
const QUICK = 'tree,version,versions,changelog,api changes'

// A repository of its own: tags and commits must not be those of this one.
const folder = mkdtempSync(join(tmpdir(), 'tokenlib-release-test-'))
beforeAll(() => {
  for (const file of FILES) cpSync(join(ROOT, file), join(folder, file), { recursive: true })
  // Between two releases, entries wait here.
  const changelog = join(folder, 'CHANGELOG.md')
  writeFileSync(changelog, readFileSync(changelog, 'utf8').replace(/^## Unreleased\n[\s\S]*?^(?=## )/m, ''))
  git('init', '--quiet', '--initial-branch', 'main')
  git('add', '--all')
  git('-c', 'commit.gpgSign=false', 'commit', '--quiet', '--message', 'all')
})
afterEach(() => {
  git('checkout', '--quiet', '--force', 'main')
  git('clean', '--quiet', '--force', '-d')
  for (const tag of git('tag').split('\n').filter(Boolean)) git('tag', '--delete', tag)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a commit with nothing uncommitted and no tag passes, and the missing tag is said', () => {
  const { status, output } = release('--dry-run', '--only', QUICK)
  expect(output).toContain('THERE IS NO TAG YET')
  expect(output).toContain('NOT COMPARED: there is no tag')
  expect(output).toMatch(/NOT RUN: .*tests, clone tests/)
  expect(status).toBe(0)
})

test('another branch and files that are not committed are refused', () => {
  git('checkout', '--quiet', '-b', 'feature')
  writeFileSync(join(folder, 'new.txt'), '')
  const { status, output } = release('--dry-run', '--only', QUICK)
  expect(output).toContain('the branch is feature, not main')
  expect(output).toContain('?? new.txt')
  expect(status).toBe(1)
})

test('a version that has a tag, or is not newer than the last one, is refused', () => {
  git('tag', `v${version}`)
  expect(release('--dry-run', '--only', 'version').output).toContain(`The tag v${version} exists already`)
  git('tag', '--delete', `v${version}`)
  git('tag', 'v99.0.0')
  const { status, output } = release('--dry-run', '--only', 'version')
  expect(output).toContain('not newer than v99.0.0')
  expect(status).toBe(1)
})

test('a declaration that is gone since the last tag needs a version and an entry that say so', () => {
  git('tag', 'v0.1.9')
  change('api/tokenlib.hono.api.md', /^export function sendCookies.*\n/m, '')
  const since = (newer: string) => {
    setVersion(newer)
    return release('--dry-run', '--only', 'api changes', '--date', '2030-01-01')
  }
  change('CHANGELOG.md', /^## (?=\d)/m, '## 0.1.10 - 2030-01-01\n\n- A fix.\n\n## ')
  const patch = since('0.1.10')
  expect(patch.output).toContain('tokenlib.hono.api.md: sendCookies')
  expect(patch.output).toContain('must be a new major version, or before 1.0.0 a new minor one')
  expect(patch.output).toContain('must have an entry that begins with "Breaking"')
  expect(patch.status).toBe(1)

  change(
    'CHANGELOG.md',
    /^## 0\.1\.10.*\n\n- A fix\./m,
    '## 0.50.0 - 2030-01-01\n\n- **Breaking:** no cookies.',
  )
  const minor = since('0.50.0')
  expect(minor.output).toContain('since v0.1.9: 0 declarations new, 1 broken')
  expect(minor.status).toBe(0)
})

test('a change that a maintainer declares compatible is shown, and another name is refused', () => {
  git('tag', 'v0.1.9')
  change('api/tokenlib.hono.api.md', 'sendCookies(c: ', 'sendCookies(context: ')
  change('CHANGELOG.md', /^\*\*Breaking/gm, '**Changed')
  const run = (name: string) => release('--dry-run', '--only', 'api changes', '--compatible', name)
  expect(run('sendCookies').output).toContain('DECLARED COMPATIBLE BY HAND: sendCookies')
  expect(run('sendCookies').status).toBe(0)
  expect(run('mount').status).toBe(1)
})

test('without --dry-run nothing is tagged when a step was left out', () => {
  const { status, output } = release('--only', QUICK)
  expect(output).toContain('No tag is created')
  expect(status).toBe(1)
  expect(git('tag')).toBe('')
})

test('unknown steps and options end with 2', () => {
  expect(release('--only', 'tets').status).toBe(2)
  expect(release('--skip-test').status).toBe(2)
})

test('the notes of a release are its section, and only for the tag of the version', () => {
  const notes = (tag: string) =>
    spawnSync(process.execPath, ['tools/release/notes.js', tag], { cwd: folder, encoding: 'utf8' })
  expect(notes(`v${version}`).stdout).toContain('### Upgrading')
  expect(notes(`v${version}`).stdout).not.toContain('\n## ')
  expect(notes('v99.0.0')).toMatchObject({ status: 1, stdout: '' })
})

function release(...args: string[]): { readonly status: number | null; readonly output: string } {
  const dated = args.includes('--date') ? args : [...args, '--date', date]
  const { status, stdout, stderr } = spawnSync(process.execPath, ['tools/release/index.js', ...dated], {
    cwd: folder,
    encoding: 'utf8',
  })
  return { status, output: stdout + stderr }
}

function git(...args: string[]): string {
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com', '-c', 'tag.gpgSign=false']
  return execFileSync('git', [...identity, ...args], { cwd: folder, encoding: 'utf8' })
}

function change(file: string, pattern: string | RegExp, text: string): void {
  const before = readFileSync(join(folder, file), 'utf8')
  const after = before.replace(pattern, text)
  expect(after, file).not.toBe(before)
  writeFileSync(join(folder, file), after)
}

function setVersion(next: string): void {
  change('package.json', /"version": ".*"/, `"version": "${next}"`)
}
