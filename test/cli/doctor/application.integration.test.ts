import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  describeWithMysql,
  describeWithOwnServer,
  describeWithPostgres,
  describeWithRedis,
} from '../../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../../helpers/servers/server-process.js'
import { startRedis } from '../../helpers/servers/start-redis.js'
import { type Ended, MAIN, newFolder, type Outside, ROOT, tokenlib } from '../run-program.js'
import type { DoctorDocument } from './run-doctor.js'

const SECRET = 'wt0iYQYgLlR3eE1sYnN2d2Z6c1pKQmRfMDEyMzQ1Njc4OWFiY2RlZg'
const PRODUCTION = { NODE_ENV: 'production' }

// An application as it is installed: its own folder, with the built package and the drivers in node_modules.
let folder = ''
beforeAll(() => {
  if (!existsSync(MAIN)) throw new Error('packages/cli/dist/main.js does not exist: npm run build')
  folder = newFolder()
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(ROOT, 'packages/tokenlib'), join(folder, 'node_modules/tokenlib'))
  symlinkSync(join(ROOT, 'node_modules/@tokenlib'), join(folder, 'node_modules/@tokenlib'))
  for (const name of ['ioredis', 'redis', 'pg', 'postgres', 'mysql2', 'mariadb', '@photostructure'])
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
})

let files = 0
function write(code: string, extension = 'mjs'): string {
  const name = `app-${++files}.${extension}`
  writeFileSync(join(folder, name), code)
  return `./${name}`
}

const MANAGER = `
import { TokenConfig, TokenManager } from 'tokenlib'
const config = new TokenConfig({ JWT_SECRET_KEY: '${SECRET}' })
`

const doctor = (args: readonly string[], outside: Outside = {}): Promise<Ended> =>
  tokenlib(['doctor', ...args], { cwd: folder, env: PRODUCTION, ...outside })

interface AppDocument extends DoctorDocument {
  readonly app: {
    readonly export: string
    readonly keys: readonly { readonly signs: boolean }[]
    readonly issuers: readonly { readonly issuer: string }[]
    readonly store: string | null
  }
}

async function inspect(code: string, args: readonly string[] = [], outside: Outside = {}) {
  const ended = await doctor(['--app', write(code), '--json', ...args], outside)
  const document = JSON.parse(ended.stdout) as AppDocument
  const find = (id: string) => document.findings.find((finding) => finding.id === id)
  expect(ended.stdout + ended.stderr).not.toContain(SECRET)
  return { ...ended, document, find }
}

describe('the configuration in code', () => {
  test('is checked, not that of the environment', async () => {
    const { exitCode, find, document } = await inspect(
      `${MANAGER.replace('})', ", JWT_ACCESS_TOKEN_EXPIRES: '7d', JWT_TOKEN_LOCATION: ['cookies'], JWT_COOKIE_SECURE: false })")}
       export const tokens = new TokenManager({ config })`,
      [],
      { env: { ...PRODUCTION, JWT_ACCESS_TOKEN_EXPIRES: '5m', JWT_SECRET_KEYS: 'x' } },
    )
    expect(exitCode).toBe(1)
    expect(find('access-lifetime')).toMatchObject({
      level: 'error',
      title: expect.stringContaining('7 days') as string,
    })
    expect(find('cookie-secure')?.level).toBe('error')
    expect(find('config-unknown')?.level).toBe('warning')
    expect(find('store-missing')?.title).toContain('The manager has no store')
    expect(document.app).toMatchObject({ export: 'tokens', store: null, keys: [{ signs: true }] })
  })

  test('a key that is in the code is a key, and --env-file reaches the module', async () => {
    writeFileSync(join(folder, '.env.test'), `APP_SECRET=${SECRET}\n`)
    const code = `import { TokenConfig, TokenManager } from 'tokenlib'
      console.log('starting', process.env.APP_SECRET === undefined)
      export default new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: process.env.APP_SECRET }) })`
    const { exitCode, find, stderr, document } = await inspect(code, ['--env-file', '.env.test'])
    expect([exitCode, find('keys-missing')?.level, document.app.export]).toEqual([0, 'ok', 'default'])
    // What the module prints is not in the document.
    expect(stderr).toContain('starting false')
  })

  test('a manager that only verifies is told so', async () => {
    const { publicKey } = generateKeyPairSync('ed25519')
    const pem = JSON.stringify(publicKey.export({ format: 'pem', type: 'spki' }))
    const { find, document } = await inspect(`import { TokenConfig, TokenManager } from 'tokenlib'
      const config = new TokenConfig({ JWT_ALGORITHM: 'EdDSA', JWT_PUBLIC_KEY: ${pem} })
      export const tokens = new TokenManager({ config })`)
    expect(find('signing-key')?.level).toBe('note')
    expect(document.app.keys).toMatchObject([{ algorithm: 'EdDSA', signs: false, isTrusted: true }])
  })
})

describe('issuers', () => {
  let server: Server
  let origin = ''
  beforeAll(async () => {
    const { publicKey } = generateKeyPairSync('ed25519')
    const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'EdDSA', use: 'sig' }]
    server = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => void server.close())

  test('their keys are loaded, and one that does not answer is an error', async () => {
    const code = (url: string): string => `import { TokenConfig, TokenManager } from 'tokenlib'
      import { trustIssuer } from '@tokenlib/issuers'
      const issuers = [trustIssuer({ issuer: 'https://id.example', audience: 'shop', keys: { jwksUri: '${url}', allowPrivateNetwork: true } })]
      export const tokens = new TokenManager({ config: new TokenConfig(), issuers })`
    const { find, document } = await inspect(code('http://127.0.0.1:1/keys'))
    expect(find('issuer-keys')).toMatchObject({
      level: 'error',
      title: expect.stringContaining('https://id.example') as string,
    })
    expect(document.app.issuers).toMatchObject([{ issuer: 'https://id.example', audience: ['shop'] }])
    expect((await inspect(code(`${origin}/keys`))).find('issuer-keys')?.level).toBe('ok')
  })
})

test('a store in memory is an error in production, and a replica of it is seen', async () => {
  const { find, document, exitCode } = await inspect(`${MANAGER}
    import { createMemoryStore } from 'tokenlib/memory'
    import { replicate } from 'tokenlib/replica'
    export const tokens = new TokenManager({ config, store: replicate(createMemoryStore({ allowInProduction: true }), { bound: '30s' }) })`)
  expect([exitCode, find('store-shared')?.level, document.app.store]).toEqual([1, 'error', 'memory'])
  expect(find('replica-bound')).toMatchObject({
    level: 'warning',
    title: expect.stringContaining('30 seconds') as string,
  })
})

describeWithRedis('Redis', (url) => {
  const { hostname, port } = new URL(url)
  test.each(['ioredis', 'redis'])(
    'is looked at through the client of %s, with its replica',
    async (driver) => {
      const client =
        driver === 'ioredis'
          ? `import { Redis } from 'ioredis'\nconst client = new Redis('${url}')`
          : `import { createClient } from 'redis'\nconst client = createClient({ url: '${url}' })\nawait client.connect()`
      const code = `${MANAGER}${client}
      import { createRedisStore } from 'tokenlib/redis'
      import { replicate } from 'tokenlib/replica'
      const store = createRedisStore(client, { namespace: 'doctor-app-${driver}', allowVolatile: true })
      export const tokens = new TokenManager({ config, store: replicate(store, { bound: '10s' }) })
      if (process.env.USED) await tokens.sessions.open({ uid: 'ada' })`
      const empty = await inspect(code)
      expect(empty.find('store-history')).toMatchObject({ level: 'note' })
      expect(empty.find('replica-fresh')?.level).toBe('note')
      const { find, document } = await inspect(code, [], { env: { ...PRODUCTION, USED: '1' } })
      expect(find('store-reachable')?.level).toBe('ok')
      expect(find('store-history')?.level).toBe('ok')
      expect(find('redis-version')?.level).toBe('ok')
      expect(find('replica-bound')).toMatchObject({
        level: 'ok',
        title: expect.stringContaining('10 seconds') as string,
      })
      expect(find('replica-fresh')?.level).not.toBe('error')
      expect(document.replica).toMatchObject({ isTried: true, boundMs: 10_000 })
      expect(document.store).toMatchObject({ kind: 'redis', url: `redis://${hostname}:${port}` })
      expect(find('redis-password')?.fix).toContain(`${hostname}:${port}`)
    },
  )

  test('that does not answer any more ends with 3', async () => {
    const { exitCode, find } = await inspect(
      `${MANAGER}
      import { Redis } from 'ioredis'
      import { createRedisStore } from 'tokenlib/redis'
      const client = new Redis('redis://127.0.0.1:1').on('error', () => {})
      export const tokens = new TokenManager({ config, store: createRedisStore(client) })`,
      ['--timeout', '1s'],
    )
    expect([exitCode, find('store-reachable')?.level]).toEqual([3, 'error'])
    expect(find('store-reachable')?.fix).toContain('127.0.0.1:1')
  })
})

describeWithPostgres('PostgreSQL', (url) => {
  const { hostname, port } = new URL(url)
  test.each(['pg', 'postgres'])('is looked at through the client of %s', async (driver) => {
    const client =
      driver === 'pg'
        ? `import pg from 'pg'\nconst client = new pg.Pool({ connectionString: '${url}' })`
        : `import postgres from 'postgres'\nconst client = postgres('${url}', { onnotice: () => {} })`
    const { find, document } = await inspect(`${MANAGER}${client}
      import { createPostgresStore } from 'tokenlib/postgres'
      const store = createPostgresStore(client, { namespace: '${driver}', prefix: 'other_', allowVolatile: true })
      await store.migrate()
      export const tokens = new TokenManager({ config, store })
      await tokens.sessions.open({ uid: 'ada' })`)
    expect(find('postgres-tables')?.level).toBe('ok')
    expect(find('store-history')?.level).toBe('ok')
    expect(document.store).toMatchObject({ kind: 'postgres', url: `postgres://${hostname}:${port}` })
    expect(find('postgres-timeout')?.fix).toContain(`Run on ${hostname}:${port}: ALTER ROLE`)
  })
})

describeWithMysql('MariaDB', (url) => {
  const { hostname, port } = new URL(url)
  test.each([
    ['mysql2', `${hostname}:${port}`],
    ['mysql2/promise', `${hostname}:${port}`],
    // It does not say where it is connected to.
    ['mariadb', 'the server'],
  ])('is looked at through the client of %s', async (driver, place) => {
    const address = driver === 'mariadb' ? url.replace('mysql:', 'mariadb:') : url
    const { find, document, exitCode, stdout } = await inspect(`${MANAGER}
      import mysql from '${driver}'
      import { createMysqlStore } from 'tokenlib/mysql'
      const client = mysql.createPool('${address}')
      const store = createMysqlStore(client, { namespace: '${driver}', prefix: 'other_', allowVolatile: true })
      await store.migrate()
      export const tokens = new TokenManager({ config, store })
      await tokens.sessions.open({ uid: 'ada' })`)
    expect([exitCode, document.summary.errors], stdout).toEqual([0, 0])
    expect(find('mysql-tables')?.level).toBe('ok')
    expect(find('store-writable')?.level).toBe('ok')
    expect(find('store-history')?.level).toBe('ok')
    expect(document.store).toMatchObject({ kind: 'mysql', url: `mysql://${place}` })
    expect(find('mysql-timeout')?.fix).toContain(`Run on ${place}: SET GLOBAL`)
  })

  test('with rights on the names that the tables have', async () => {
    const { find } = await inspect(`${MANAGER}
      import mysql from 'mysql2'
      import { createMysqlStore } from 'tokenlib/mysql'
      const pool = mysql.createPool('${url}')
      await createMysqlStore(pool, { prefix: 'rights_' }).migrate()
      for (const sql of [
        "create user if not exists 'rights'@'%' identified by 'r'",
        'grant select, insert, update on ${new URL(url).pathname.slice(1)}.* to rights'
      ]) await pool.promise().query(sql)
      await pool.promise().end()
      const client = mysql.createPool('${url.replace(/\/\/[^@]*@/, '//rights:r@')}')
      const store = createMysqlStore(client, { prefix: 'rights_', allowVolatile: true })
      export const tokens = new TokenManager({ config, store })`)
    expect(find('store-writable')?.title).toContain('delete on rights_heads')
    expect(find('store-writable')?.fix).toMatch(/GRANT delete ON `\w+`\.`rights_heads` TO 'rights'@'%';/)
  })
})

test('SQLite is looked at through the handle of the application', async () => {
  const { find, document } = await inspect(`${MANAGER}
    import { DatabaseSync } from '@photostructure/sqlite'
    import { createSqliteStore } from 'tokenlib/sqlite'
    const database = new DatabaseSync('${join(folder, 'tokens.db')}')
    export const tokens = new TokenManager({ config, store: createSqliteStore(database, { prefix: 'shop_' }) })
    await tokens.sessions.open({ uid: 'ada' })`)
  expect(find('sqlite-tables')?.level).toBe('ok')
  expect(document.store).toMatchObject({ kind: 'sqlite', url: `sqlite:${join(folder, 'tokens.db')}` })
})

test('a store of another make is not said to be fine', async () => {
  const { find } = await inspect(`${MANAGER}
    import { createMemoryStore } from 'tokenlib/memory'
    const revocation = { ...createMemoryStore({ allowInProduction: true }), system: 'my-store' }
    export const tokens = new TokenManager({ config, store: revocation })`)
  expect(find('store-reachable')?.level).toBe('note')
})

test('a CommonJS module', async () => {
  const path = write(
    `const { TokenConfig, TokenManager } = require('tokenlib')
     const config = new TokenConfig({ JWT_SECRET_KEY: '${SECRET}' })
     const made = { tokens: new TokenManager({ config }) }
     module.exports = made`,
    'cjs',
  )
  const { exitCode, stdout } = await doctor(['--app', path])
  expect(exitCode).toBe(0)
  expect(stdout).toContain(`tokens of ${path}`)
})

describe('a module that cannot be checked ends with 2 and says why', () => {
  const TWO = `${MANAGER}
    export const tokens = new TokenManager({ config })
    export const admins = new TokenManager({ config })`
  test.each<[string, string, readonly string[], RegExp]>([
    ['throws', `throw new Error('no\\u001B]52;c;x database')`, [], /no\\u001b\]52;c;x database/],
    ['throws something strange', `throw null`, [], /cannot be loaded: null/],
    ['has a syntax error', `export const = 1`, [], /cannot be loaded/],
    ['imports what is not there', `import 'not-installed'`, [], /not-installed/],
    ['exports nothing', `process.version`, [], /exports nothing/],
    ['exports no manager', `export const port = 1`, [], /exports no TokenManager, only port/],
    ['exports a factory', `export function createTokens() {}`, [], /createTokens is a function/],
    [
      'exports several',
      TWO,
      [],
      /several managers: choose one with --export (admins\|tokens|tokens\|admins)/,
    ],
    ['lacks the export', TWO, ['--export', 'token'], /no export token; it has admins, tokens/],
    [
      'exports something else by that name',
      `export const a = 1`,
      ['--export', 'a'],
      /a is not a TokenManager/,
    ],
    [
      'exports a choice of managers',
      `import { chooseManager } from 'tokenlib'
      export const choice = chooseManager(() => null)`,
      [],
      /choice is a choice of managers/,
    ],
    [
      'never ends',
      `setInterval(() => {}, 1000); await new Promise(() => {})`,
      ['--timeout', '500ms'],
      /500 ms/,
    ],
    ['waits for nothing', `await new Promise(() => {})`, ['--timeout', '500ms'], /500 ms/],
    ['ends the process', `process.exit(0)`, [], /ended the process/],
  ])('because it %s', async (_name, code, args, message) => {
    const { exitCode, stdout, stderr } = await doctor(['--app', write(code), ...args])
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
    expect(stderr).not.toContain('    at ')
  })

  test('because there is none', async () => {
    const missing = await doctor(['--app', './missing.js', '--json'])
    expect(missing.exitCode).toBe(2)
    expect(JSON.parse(missing.stdout)).toMatchObject({ error: { exitCode: 2 } })
    expect((await doctor(['--app', '.'])).exitCode).toBe(2)
  })

  test('because this Node runs no TypeScript, where that is so', async () => {
    const path = write(`${MANAGER}export const tokens: TokenManager = new TokenManager({ config })`, 'mts')
    const { exitCode, stderr } = await doctor(['--app', path])
    const [major = 0] = process.versions.node.split('.').map(Number)
    if (major >= 23) expect(exitCode).toBe(0)
    else expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Name the compiled file')])
  })

  test.each([
    [['--store', 'redis://127.0.0.1']],
    [['--namespace', 'x']],
    [['--keys-in-code']],
    [['--replica']],
  ])('because of %j next to it', async (args) => {
    const path = write(`${MANAGER}export const tokens = new TokenManager({ config })`)
    expect((await doctor(['--app', path, ...args])).exitCode).toBe(2)
  })

  test('because --export is alone', async () => {
    expect((await doctor(['--export', 'tokens'])).exitCode).toBe(2)
  })
})

test('one of several managers is chosen by its name, and a module that keeps the process busy is left', async () => {
  const { exitCode, document } = await inspect(
    `${MANAGER}
     export const tokens = new TokenManager({ config })
     export const admins = Promise.resolve(new TokenManager({ config }))
     setInterval(() => {}, 1000)
     export const close = 1`,
    ['--export', 'admins'],
  )
  expect([exitCode, document.app.export]).toEqual([0, 'admins'])
})

describeWithOwnServer('redis', 'docs/command-line.md', () => {
  const page = readFileSync(join(ROOT, 'docs/command-line.md'), 'utf8')
  let redis: RunningServer
  beforeAll(async () => void (redis = await startRedis()))
  afterAll(() => redis.stop())

  test('doctor warns of what the page says about the module of the page', async () => {
    const [, code = ''] = /```js\n\/\/ dist\/tokens\.js\n([^]*?)```/.exec(page) ?? []
    const [, named = ''] = /^Here it warns of (.*?)\. /m.exec(page) ?? []
    const expected = Array.from(named.matchAll(/`([a-z-]+)`/g), ([, id]) => id)
    expect(expected.length).toBeGreaterThan(1)
    // A busy machine is not what the page is about.
    const patient = { JWT_REVOCATION_TIMEOUT: '2s' }
    const env = { ...PRODUCTION, ...patient, JWT_SECRET_KEY: SECRET, REDIS_URL: redis.url }
    const { exitCode, stdout } = await doctor(['--app', write(code), '--json'], { env })
    const { findings } = JSON.parse(stdout) as {
      readonly findings: readonly { readonly id: string; readonly level: string }[]
    }
    const warnings = findings.filter(({ id, level }) => level === 'warning' && id !== 'node-version')
    expect([exitCode, warnings.map(({ id }) => id)]).toEqual([0, expected])
  })
})
