import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { buildSync } from 'esbuild'
import { Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RevocationStore, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMysqlStore } from '../../packages/tokenlib/src/stores/mysql.js'
import { createPostgresStore } from '../../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { createSqliteStore } from '../../packages/tokenlib/src/stores/sqlite.js'
import { PATIENT, SECRET } from '../helpers/manager.js'
import {
  describeWithMysql,
  describeWithPostgres,
  describeWithRedis,
} from '../helpers/servers/describe-with-servers.js'
import {
  collect,
  environment,
  folderWith,
  hasScript,
  MAIN,
  newFolder,
  onTerminal,
  ROOT,
  tokenlib,
} from './run-program.js'

beforeAll(() => {
  if (!existsSync(MAIN)) throw new Error('packages/cli/dist/main.js does not exist: npm run build')
})

interface StoreCase {
  readonly url: string
  readonly drivers: readonly string[]
  readonly namespace: string
  open(): Promise<{ readonly store: RevocationStore; close(): Promise<unknown> | void }>
}

/** The whole way of an operator: look, ask, revoke, look again. */
function testStore({ url, drivers, namespace, open }: StoreCase): void {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT })
  const env = { TOKENLIB_STORE: url, TOKENLIB_NAMESPACE: namespace }
  let opened: Awaited<ReturnType<StoreCase['open']>>
  let tokens: TokenManager
  beforeAll(async () => {
    opened = await open()
    tokens = new TokenManager({ config, store: opened.store })
    await tokens.ready()
  })
  afterAll(async () => {
    await opened.store.close()
    await opened.close()
  })

  const [first = '', ...others] = drivers

  test(`with ${first}: sessions, verify, revoke, prune`, async () => {
    const cwd = folderWith(first)
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' }, { ip: '10.0.0.7' })
    const listed = await tokenlib(['sessions', 'ada', '--json'], { env, cwd })
    expect(listed).toMatchObject({ exitCode: 0, stderr: '' })
    expect((JSON.parse(listed.stdout) as { sessions: unknown[] }).sessions).toHaveLength(1)
    const check = () =>
      tokenlib(['verify', '-'], { env: { ...env, JWT_SECRET_KEY: SECRET }, cwd, input: accessToken })
    expect(await check()).toMatchObject({ exitCode: 0, stderr: '' })
    const revoked = await tokenlib(['revoke', 'user', 'ada', '--yes'], { env, cwd })
    expect(revoked.exitCode).toBe(0)
    expect(revoked.stdout).toContain('Live sessions left: 0')
    await expect(tokens.verify(accessToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    const refused = await check()
    expect(refused.exitCode).toBe(1)
    expect(await tokenlib(['prune'], { env, cwd })).toMatchObject({ exitCode: 0, stderr: '' })
    for (const { stdout, stderr } of [listed, revoked, refused]) {
      expect(stdout + stderr).not.toContain(accessToken.split('.')[2])
      expect(stdout + stderr).not.toContain(SECRET)
    }
  })

  // The store of each client has the contract. Here its driver is found, and connects, writes and ends.
  if (others.length > 0) {
    test.each(others)('with %s: revoke', async (driver) => {
      const user = `ada of ${driver}`
      const { accessToken } = await tokens.sessions.open({ uid: user })
      const revoked = await tokenlib(['revoke', 'user', user, '--yes'], { env, cwd: folderWith(driver) })
      expect(revoked.exitCode).toBe(0)
      expect(revoked.stdout).toContain('Live sessions left: 0')
      await expect(tokens.verify(accessToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    })
  }

  test('a namespace that no application uses is refused', async () => {
    const ended = await tokenlib(['revoke', 'all', '--yes', '--namespace', 'unused_'], { env })
    expect(ended.exitCode).toBe(2)
    expect(ended.stderr).toContain('unused_')
  })
}

describeWithRedis('Redis', (url) => {
  const namespace = 'cli-main-test'
  testStore({
    url,
    drivers: ['ioredis', 'redis'],
    namespace,
    async open() {
      const client = new Redis(url)
      return {
        store: createRedisStore(client, { namespace, allowVolatile: true }),
        close: () => client.quit(),
      }
    },
  })
})

describeWithPostgres('PostgreSQL', (url) => {
  testStore({
    url,
    drivers: ['pg', 'postgres'],
    namespace: 'cli',
    async open() {
      const pool = new Pool({ connectionString: url })
      const store = createPostgresStore(pool, { namespace: 'cli', allowVolatile: true })
      await store.migrate()
      return { store, close: () => pool.end() }
    },
  })
})

describeWithMysql('MariaDB', (url) => {
  testStore({
    url,
    drivers: ['mysql2', 'mariadb'],
    namespace: 'cli',
    async open() {
      const pool = createPool(url)
      const store = createMysqlStore(pool, { namespace: 'cli', allowVolatile: true })
      await store.migrate()
      return { store, close: () => pool.end() }
    },
  })
})

const path = join(newFolder(), 'tokens.db')

describe('SQLite', () => {
  testStore({
    url: `sqlite:${path}`,
    drivers: ['@photostructure/sqlite'],
    namespace: 'cli_',
    async open() {
      const database = new DatabaseSync(path)
      return { store: createSqliteStore(database, { prefix: 'cli_' }), close: () => database.close() }
    },
  })

  describe.runIf(hasScript)('on a pseudo terminal', () => {
    const args = ['revoke', 'user', 'grace', '--store', `sqlite:${path}`, '--namespace', 'cli_']

    test('it asks, and yes revokes', async () => {
      const { exitCode, stdout } = await onTerminal(args, 'y\r')
      expect(exitCode).toBe(0)
      expect(stdout).toContain('0 live sessions will end')
      expect(stdout).toContain('Revoked')
    })

    test.each([
      ['n\r', 1],
      ['\r', 1],
      // Ctrl-D, then Ctrl-C.
      ['\u0004', 1],
      ['\u0003', 130],
    ])('%j revokes nothing and ends with %d', async (answer, expected) => {
      const { exitCode, stdout } = await onTerminal(args, answer)
      expect(exitCode).toBe(expected)
      expect(stdout).not.toContain('Revoked')
      expect(stdout).not.toContain('    at ')
    })

    test('there are colours, unless NO_COLOR or TERM=dumb says otherwise', async () => {
      expect((await onTerminal(['help'], '')).stdout).toContain('\u001B[1m')
      expect((await onTerminal(['help'], '', { NO_COLOR: '1' })).stdout).not.toContain('\u001B')
      expect((await onTerminal(['help'], '', { TERM: 'dumb' })).stdout).not.toContain('\u001B')
    })
  })
})

test('piped output has no colours', async () => {
  expect((await tokenlib(['help'])).stdout).not.toContain('\u001B')
})

test('a command goes on when the reader of its output has left', async () => {
  const file = join(newFolder(), 'terminal.mjs')
  buildSync({
    entryPoints: [join(ROOT, 'packages/cli/src/terminal.ts')],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
  })
  const terminal = JSON.stringify(file)
  // The failure of a write is told in a later turn of the event loop.
  const program = `import { createTerminal } from ${terminal}
    createTerminal(process.env).write('x')
    setImmediate(() => setImmediate(() => process.exit(7)))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { env: environment({}) })
  child.stdout.destroy()
  expect(await collect(child)).toMatchObject({ exitCode: 7, stderr: '' })
})

test('a missing driver is named, and the command that installs it', async () => {
  const cwd = newFolder()
  for (const [store, name] of [
    ['redis://127.0.0.1:1', 'ioredis'],
    ['postgres://127.0.0.1:1/app', 'pg'],
    ['mysql://127.0.0.1:1/app', 'mysql2'],
  ] as const) {
    const { exitCode, stderr } = await tokenlib(['sessions', 'ada', '--store', store], { cwd })
    expect(exitCode).toBe(2)
    expect(stderr).toContain(`npm install ${name}`)
  }
})

test('a server that accepts and never answers is unavailable, with every driver', async () => {
  const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  for (const [driver, url] of [
    ['ioredis', `redis://:hunter2@127.0.0.1:${port}`],
    ['redis', `redis://:hunter2@127.0.0.1:${port}`],
    ['pg', `postgres://ada:hunter2@127.0.0.1:${port}/app`],
    ['postgres', `postgres://ada:hunter2@127.0.0.1:${port}/app`],
    ['mysql2', `mysql://ada:hunter2@127.0.0.1:${port}/app`],
    ['mariadb', `mysql://ada:hunter2@127.0.0.1:${port}/app`],
  ] as const) {
    const args = ['sessions', 'ada', '--store', url, '--timeout', '300ms']
    const { exitCode, stdout, stderr } = await tokenlib(args, { cwd: folderWith(driver) })
    expect([driver, exitCode, stdout]).toEqual([driver, 3, ''])
    expect(stderr).toMatch(/^error: [^\n]+\n$/)
    expect(stderr).not.toContain('hunter2')
  }
  server.close()
})

test('a file that is no database is unavailable, and a closed stdin is no token', async () => {
  const ended = await tokenlib(['sessions', 'ada', '--store', `sqlite:${MAIN}`])
  expect([ended.exitCode, ended.stderr.split('\n')]).toEqual([3, [expect.any(String), '']])
  expect((await tokenlib(['inspect', '-'])).exitCode).toBe(2)
})

test('the file is an executable program for Node', () => {
  expect(execFileSync('head', ['-n', '1', MAIN], { encoding: 'utf8' })).toBe('#!/usr/bin/env node\n')
})
