import { randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { wantsColours } from '../../packages/cli/src/terminal.js'
import { createManager, SECRET } from '../helpers/manager.js'
import { runCommand } from './test-terminal.js'

const COMMANDS = ['secret', 'keygen', 'inspect', 'verify', 'sessions', 'revoke', 'prune', 'doctor', 'version']

describe('help', () => {
  test.each([[[]], [['help']], [['--help']], [['-h']]])(
    '%j lists every command and the exit codes',
    async (args) => {
      const { exitCode, stdout } = await runCommand(args)
      expect(exitCode).toBe(0)
      for (const name of COMMANDS) expect(stdout).toContain(`\n  ${name} `)
      expect(stdout).toContain('Exit codes')
    },
  )

  test.each(COMMANDS)('%s has its own, by both ways to ask for it', async (name) => {
    const [one, other] = [await runCommand(['help', name]), await runCommand([name, '--help'])]
    expect([one.exitCode, other.exitCode]).toEqual([0, 0])
    expect(one.stdout).toBe(other.stdout)
    expect(one.stdout).toContain(`tokenlib ${name}`)
    expect(one.stdout).toContain('--json')
  })
})

describe('wrong usage ends with 2 and one line', () => {
  test.each([
    [['revok'], 'revoke'],
    [['secret', '--byte', '32'], '--bytes'],
    [['keygen', '--algorithm', 'ES257'], 'ES256'],
    [['revoke', 'sesion', 'x', '--yes'], 'session'],
  ])('%j suggests %s', async (args, nearest) => {
    const { exitCode, stdout, stderr } = await runCommand(args)
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toContain(`did you mean "${nearest}"?`)
    expect(stderr.trimEnd()).not.toContain('\n')
  })

  test.each([
    [['secret', '--bytes', '16']],
    [['secret', '--bytes']],
    [['secret', '64']],
    [['keygen', 'ES512']],
    [['version', 'x']],
    [['secret', '--bytes', '1e3']],
    [['keygen', '--format', 'pem', '--kid', 'mine']],
    [['keygen', '--format', 'jwk', '--kid', "it's"]],
    [['keygen', '--bits', '1024', '--algorithm', 'RS256']],
    [['inspect']],
    [['inspect', 'a', 'b']],
    [['inspect', '-']],
    [['sessions']],
    [['sessions', 'ada']],
    [['sessions', 'ada', '--store', 'mongodb://localhost']],
    [['sessions', 'ada', '--store', 'mysql://localhost']],
    [['sessions', 'ada', '--store', 'redis://localhost', '--timeout', 'soon']],
    [['revoke']],
    [['revoke', 'user', '--yes']],
    [['revoke', 'all', 'ada', '--yes']],
    [['revoke', 'user', 'ada', '--store', 'redis://127.0.0.1:1']],
    [['prune', '--store', 'redis://127.0.0.1:1', '--batch', '0']],
    [['verify', 'a.b.c']],
    [['version', '--env-file', '/does/not/exist']],
  ])('%j', async (args) => {
    const { exitCode, stdout, stderr } = await runCommand(args)
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^error: [^\n]+\n$/)
  })

  test.each([['redis://:hunter2@db:1'], ['ada:hunter2'], ['hunter2@db'], ['--hunter2@db']])(
    'a command or option %s, which may have a password, is not repeated',
    async (name) => {
      for (const args of [[name], ['help', name], ['revoke', name]]) {
        const { exitCode, screen } = await runCommand(args)
        expect([exitCode, screen.includes('hunter2')]).toEqual([2, false])
      }
    },
  )

  test.each([
    ['revoke', 'token', '--yes', '--expires', 'never', '--jti'],
    ['revoke', 'user', 'ada', '--yes', '--issuer'],
    ['revoke', 'user', 'ada', '--yes', '--note'],
    ['revoke', 'user', 'ada', '--yes', '--actor'],
    ['sessions', 'ada', '--before'],
    ['sessions', 'ada', '--namespace'],
    ['sessions'],
    ['revoke', 'user', '--yes'],
  ])('a token in %s %s %s %s %s %s is not repeated', async (...args) => {
    const token = createManager().tokens.createAccessToken({ uid: 'ada' })
    for (const value of [token, `Bearer ${token}`, `stolen: ${token}.`]) {
      for (const more of [[], ['--json']]) {
        const store = ['--store', 'sqlite:missing.db']
        const { exitCode, screen } = await runCommand([...args, value, ...store, ...more])
        expect([exitCode, screen.includes(token.slice(0, 12))]).toEqual([2, false])
      }
    }
  })

  test('with --json it is a JSON document', async () => {
    const { exitCode, stderr, json } = await runCommand(['sessions', '--json'])
    expect([exitCode, stderr]).toEqual([2, ''])
    expect(json()).toMatchObject({ error: { exitCode: 2 } })
  })

  test('an id that begins with a hyphen is passed behind --', async () => {
    const { exitCode, stderr } = await runCommand(['sessions', '--store', 'sqlite:missing.db', '--', '-abc'])
    expect(exitCode).toBe(3)
    expect(stderr).toContain('missing.db')
  })
})

test('a store that is unavailable ends with 3 and its address without the password', async () => {
  for (const url of [
    'redis://:hunter2@127.0.0.1:1/0',
    'postgres://ada:hunter2@127.0.0.1:1/app?password=hunter2',
  ]) {
    const { exitCode, stdout, stderr } = await runCommand(['sessions', 'ada'], {
      env: { TOKENLIB_STORE: url },
    })
    expect([exitCode, stdout]).toEqual([3, ''])
    expect(stderr).toContain('127.0.0.1:1')
    expect(stderr).not.toContain('hunter2')
    expect(stderr).toMatch(/^error: [^\n]+\n$/)
  }
})

test('--env-file sets what the environment has not', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'tokenlib-cli-')), '.env')
  writeFileSync(file, `JWT_SECRET_KEY="${SECRET}"\nJWT_DECODE_ISSUER=from-file\n`)
  const token = createManager().tokens.createAccessToken({ uid: 'ada' })
  const args = ['inspect', token, '--json', '--env-file', file]
  const rulesOf = (result: { json<Document>(): Document }) =>
    result.json<{ objections: { rule: string }[] }>().objections.map(({ rule }) => rule)
  expect(rulesOf(await runCommand(args))).toContain('wrong-issuer')
  const other = await runCommand(args, { env: { JWT_SECRET_KEY: randomBytes(32).toString('hex') } })
  expect(rulesOf(other)).toContain('unknown-key')
})

test.each([
  [{}, true, true],
  [{}, false, false],
  [{}, undefined, false],
  [{ NO_COLOR: '1' }, true, false],
  [{ NO_COLOR: '' }, true, true],
  [{ TERM: 'dumb' }, true, false],
  [{ FORCE_COLOR: '1' }, false, true],
  [{ FORCE_COLOR: '0' }, true, false],
  [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
])('with %j and a terminal %s, output has colours: %s', (env, isTerminal, expected) => {
  expect(wantsColours(env, isTerminal)).toBe(expected)
})

test('version prints that of the package', async () => {
  const { json } = await runCommand(['version', '--json'])
  expect(json()).toMatchObject({ tokenlib: expect.stringMatching(/^\d+\.\d+\.\d+/) as string })
  expect((await runCommand(['--version'])).stdout).toMatch(/^tokenlib \d/)
})
