import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi, type ExpectStatic } from 'vitest'
import { parseOptions, toArguments } from '../../examples/options.js'
import { describeStore } from '../../examples/stores.js'
import { runBuilt, startBuilt } from './start-built.js'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { findFreePort } from '../helpers/servers/free-port.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { type RedisSettings, startRedis } from '../helpers/servers/start-redis.js'

// The application makes its SQLite file in the folder that it is started in.
const folder = mkdtempSync(join(tmpdir(), 'tokenlib-start-'))
afterAll(() => rmSync(folder, { recursive: true }))

const run = (args: readonly string[]) => runBuilt(folder, args)
const start = (...args: string[]) => startBuilt(folder, args)

/** The exit code and what was said, for an application that does not start. */
async function fail(...args: string[]): Promise<{ code: number; errors: string }> {
  const { child, heard } = run(args)
  const [code] = (await once(child, 'close')) as [number]
  expect(heard.output).toBe('')
  return { code, errors: heard.errors }
}

test('npm start prints its address, a curl command for each route, and where revocations are', async () => {
  const app = await start('--framework', 'fetch')
  try {
    for (const route of [
      '/token/mandatory',
      '/token/optional',
      '/profile',
      '/me',
      '/token',
      '/login',
      '/refresh',
      '/logout',
    ]) {
      expect(app.heard.output).toMatch(new RegExp(`curl .*${app.url}${route}$`, 'm'))
    }
    expect(app.heard.output).toMatch(/kept in the SQLite file .*tokenlib-example\.sqlite\.$/m)
    expect(existsSync(join(folder, 'tokenlib-example.sqlite'))).toBe(true)
  } finally {
    await app.close()
  }
})

test('npm start prints the address of its page first, and says so if there is none', async () => {
  const app = await start('--framework', 'fetch')
  const other = await start('--framework', 'fetch', '--store', 'callback')
  try {
    const [, , address = ''] = app.heard.output.trim().split('\n')
    expect(address.trim()).toBe(`${app.url}/app`)
    expect((await fetch(address.trim())).status).toBe(200)
    expect(other.heard.output.trim()).toMatch(/^No page to open: .*--store callback/)
    expect((await fetch(`${other.url}/app`)).status).toBe(404)
  } finally {
    await app.close()
    await other.close()
  }
})

test('SIGINT ends it cleanly, also with a connection open', async () => {
  const app = await start()
  await (await fetch(`${app.url}/token`)).text()
  app.child.kill('SIGINT')
  const [code] = (await once(app.child, 'exit')) as [number]
  expect(code).toBe(0)
  expect(app.heard.output).toContain('Stopped.')
})

describe('the command line', () => {
  const STORES = /^--store takes one of: sqlite:PATH, redis:.*, postgres:.*, memory, callback$/

  test.each([
    [['--framework', 'django'], /^--framework takes one of/],
    [['--profile', 'x'], /^--profile takes one of/],
    [['--port', 'x'], /^--port takes a number/],
    [['--framwork', 'koa'], /^Unknown option --framwork; did you mean --framework\?/],
    [['--prot=1'], /^Unknown option --prot; did you mean --port\?/],
    [['--handleErrors'], /^Unknown option --handleErrors; did you mean --handle-errors\?/],
    [['--port', '0', '--errors'], /^Unknown option --errors; did you mean --handle-errors\?/],
    [['-s', 'memory'], /^Unknown option -s; did you mean --store\?/],
    [['--store', 'nonsense'], STORES],
    [['--store', ''], STORES],
    [['--store', 'sqlite:'], STORES],
    [['--store', 'sqlite::memory:'], STORES],
    [['--store', 'redis://'], STORES],
    [['--store', 'mysql://ada:hunter2@127.0.0.1/tokens.db'], STORES],
    [['--replica', '--store', 'callback'], /^--replica needs a store/],
    [['--processes', '0'], /^--processes takes a number from 2 to 16$/],
    [['--processes', '17'], /^--processes takes a number from 2 to 16$/],
    [['--processes', '2.5'], /^--processes takes a number from 2 to 16$/],
    [['--processes', ''], /^--processes takes a number from 2 to 16$/],
    [['--processes', '2', '--store', 'memory'], /^--processes needs a store that processes can share/],
    [['--processes', '2', '--store', 'callback'], /^--processes needs a store that processes can share/],
    [['--processes', '16', '--port', '65521'], /^--port must be at most 65520 for 16 processes$/],
  ])('%j is refused', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message)
  })

  test.each([
    ['memory', /^memory; this process forgets them/],
    ['callback', /^a set that a callback reads; this process forgets it/],
    ['sqlite:other.file', /^the SQLite file .*other\.file$/],
    ['./other.db', /^the SQLite file .*other\.db$/],
    ['redis://ada:hunter2@host:1/2', /^Redis at redis:\/\/host:1\/2$/],
    ['rediss://:hunter2/?#@@host', /^Redis at rediss:\/\/host$/],
    ['postgres://ada:hunter2@host/tokens', /^PostgreSQL at postgres:\/\/host\/tokens$/],
    ['postgresql:///tokens?password=hunter2', /^PostgreSQL at postgresql:\/\/\/tokens$/],
  ])('--store %s is taken, and named without a password', (store, place) => {
    expect(describeStore(parseOptions(['--store', store]).store)).toMatch(place)
  })

  test.each([
    [['--replica', '--store', 'memory'], { replica: true, processes: 1 }],
    [['--processes', '1'], { replica: false, processes: 1 }],
    [['--processes', '16', '--port', '65520'], { replica: true, processes: 16 }],
    [['--processes', '2', '--port', '0', '--store', 'redis://host'], { replica: true, processes: 2 }],
  ])('%j is taken', (args, options) => {
    expect(parseOptions(args)).toMatchObject(options)
  })

  test('the command line of one of several processes says the same, for a port of its own', () => {
    const args = [
      '--processes',
      '3',
      '--store',
      'postgres://host/tokens',
      '--handle-errors',
      '--profile=payload',
    ]
    const options = parseOptions(args)
    expect(parseOptions(toArguments({ ...options, port: 3002 }))).toEqual({
      ...options,
      port: 3002,
      processes: 1,
    })
  })

  test.concurrent.for(['--help', '-h'])(
    '%s prints every option, and starts nothing',
    async (option, { expect }) => {
      const { child, heard } = run(['--framework', 'fastify', option])
      const [code] = (await once(child, 'close')) as [number]
      expect({ code, errors: heard.errors }).toEqual({ code: 0, errors: '' })
      for (const name of [
        'framework',
        'port',
        'profile',
        'handle-errors',
        'store',
        'replica',
        'processes',
        'help',
      ]) {
        expect(heard.output).toMatch(new RegExp(`^ .*--${name} `, 'm'))
      }
      expect(heard.output).not.toContain('listening')
    },
  )

  test.concurrent.for<[string[], RegExp]>([
    [['--store', 'mysql://ada:hunter2@127.0.0.1'], /^--store takes one of: .*\n$/],
    [['redis://:hunter2@127.0.0.1'], /^Unexpected argument 'redis:\/\/127.*\n$/],
  ])('%j ends it with a line that says why', async ([args, message], { expect }) => {
    expect(await fail(...args)).toEqual({ code: 2, errors: expect.stringMatching(message) as string })
  })
})

describe('a store that cannot be used is refused with one line', () => {
  const refused = async (expect: ExpectStatic, store: string) => {
    const { code, errors } = await fail('--store', store)
    expect(code).toBe(1)
    expect(errors).toMatch(/^Cannot start with revocations in .*\n$/)
    expect(errors).not.toContain('hunter2')
    return errors
  }

  test.concurrent.for(['redis', 'postgresql'])(
    'a server of %s that is not there',
    async (scheme, { expect }) => {
      const address = `127.0.0.1:${await findFreePort()}`
      const errors = await refused(expect, `${scheme}://ada:hunter2@${address}/0?password=hunter2`)
      expect(errors).toContain(`${scheme}://${address}/0: connect ECONNREFUSED ${address}`)
    },
  )

  test.concurrent('a file in a folder that is not there', async ({ expect }) => {
    expect(await refused(expect, 'sqlite:no/folder.sqlite')).toMatch(/unable to open database file/)
  })

  describeWithOwnServer('redis', 'Redis', () => {
    test.concurrent.for<[string, RedisSettings, string]>([
      ['that forgets what it is told', { appendonly: 'no', requirepass: 'hunter2' }, 'appendonly'],
      ['that has another password', { requirepass: 'hunter2' }, 'WRONGPASS'],
      ['that does not answer', { requirepass: 'hunter2' }, 'it does not answer'],
    ])('%s', async ([name, settings, reason], { expect }) => {
      const redis = await startRedis(settings)
      try {
        if (name.includes('answer')) await redis.kill('SIGSTOP')
        const url = name.includes('another') ? redis.url.replace('hunter2', 'hunter22') : redis.url
        expect(await refused(expect, url)).toContain(reason)
      } finally {
        await redis.stop()
      }
    })
  })
})

describeWithOwnServer('redis', 'while Redis is gone', () => {
  let redis: RunningServer
  beforeAll(async () => void (redis = await startRedis({ requirepass: 'hunter2' })))
  afterAll(() => redis.stop())

  test('requests are refused, one line says why, and afterwards all is well', async () => {
    const app = await start('--framework', 'fetch', '--handle-errors', '--store', redis.url)
    try {
      const login = await fetch(`${app.url}/login`, { method: 'POST' })
      const { access_token: token } = (await login.json()) as { access_token: string }
      const me = () => fetch(`${app.url}/me`, { headers: { authorization: `Bearer ${token}` } })
      expect((await me()).status).toBe(200)

      await redis.kill()
      for (let request = 0; request < 3; request++) expect((await me()).status).toBe(503)
      await vi.waitFor(() => expect(app.heard.errors).toMatch(/^Redis does not answer: .*ECONNREFUSED.*\n$/))

      await redis.restart()
      await vi.waitFor(async () => expect((await me()).status).toBe(200), { timeout: 10_000, interval: 100 })
      expect(app.heard.errors.match(/\n/g)).toHaveLength(1)
      expect(app.heard.errors + app.heard.output).not.toContain('hunter2')
    } finally {
      await app.close()
    }
  })
})

describeWithOwnServer('redis', 'with --replica', () => {
  let redis: RunningServer
  beforeAll(async () => void (redis = await startRedis()))
  afterAll(() => redis.stop())

  test('requests are refused once the replica is too old, and pass again when Redis is back', async () => {
    const app = await start('--framework', 'fetch', '--handle-errors', '--store', redis.url, '--replica')
    try {
      expect(app.heard.output).toContain('Checks are answered from a replica in memory')
      const token = await login(app.url)
      expect(await getMe(app.url, token)).toBe(200)

      await redis.kill('SIGSTOP')
      await vi.waitFor(async () => expect(await getMe(app.url, token)).toBe(503), PATIENT)
      await redis.kill('SIGCONT')
      await vi.waitFor(async () => expect(await getMe(app.url, token)).toBe(200), PATIENT)
    } finally {
      await app.close()
    }
  })
})

describe('with --processes', () => {
  /** Logs out at the second of three processes, and expects the others to report it and to refuse. */
  async function logOutAtOne(store: string): Promise<void> {
    const app = await start('--framework', 'fetch', '--handle-errors', '--store', store, '--processes', '3')
    try {
      const urls = Array.from(app.heard.output.matchAll(/process \d {2}(http\S+)/g), ([, url = '']) => url)
      expect(new Set(urls).size).toBe(3)
      const [first = '', second = ''] = urls
      const token = await login(first)
      for (const url of urls) expect(await getMe(url, token)).toBe(200)

      const headers = { authorization: `Bearer ${token}` }
      expect((await fetch(`${second}/logout`, { method: 'DELETE', headers })).status).toBe(200)
      const report =
        /^Logout at process 2, acknowledged by the store after [\d.]+ ms:\n {2}process 1 refuses after [\d.]+ ms\n {2}process 3 refuses after [\d.]+ ms$/m
      await vi.waitFor(() => expect(app.heard.output).toMatch(report), PATIENT)
      for (const url of urls) expect(await getMe(url, token)).toBe(401)

      app.child.kill('SIGINT')
      const [code] = (await once(app.child, 'close')) as [number]
      expect({ code, errors: app.heard.errors }).toEqual({ code: 0, errors: '' })
      expect(app.heard.output).toMatch(/Stopped\.\n$/)
      for (const url of urls) await expect(fetch(url)).rejects.toThrow()
    } finally {
      app.child.kill('SIGKILL')
    }
  }

  test('a logout at one process is reported and refused by the others, on a SQLite file', async () => {
    await logOutAtOne('sqlite:processes.sqlite')
  })

  describeWithOwnServer('redis', 'on Redis', () => {
    let redis: RunningServer
    beforeAll(async () => void (redis = await startRedis()))
    afterAll(() => redis.stop())

    test('a logout at one process is reported and refused by the others', async () => {
      await logOutAtOne(redis.url)
    })
  })

  test('a store that cannot be used is reported once, and nothing stays behind', async () => {
    const { child, heard } = run(['--processes', '3', '--store', 'sqlite:no/folder.sqlite'])
    const [code] = (await once(child, 'close')) as [number]
    expect({ code, errors: heard.errors }).toEqual({
      code: 1,
      errors: expect.stringMatching(/^Cannot start with revocations in .*\n$/) as string,
    })
  })

  test('when the process that started them is killed, they end too', async () => {
    const app = await start('--framework', 'fetch', '--processes', '2')
    const urls = Array.from(app.heard.output.matchAll(/process \d {2}(http\S+)/g), ([, url = '']) => url)
    expect(urls).toHaveLength(2)
    app.child.kill('SIGKILL')
    for (const url of urls) await vi.waitFor(() => expect(fetch(url)).rejects.toThrow(), PATIENT)
  })
})

const PATIENT = { timeout: 20_000, interval: 50 }

async function login(url: string): Promise<string> {
  const response = await fetch(`${url}/login`, { method: 'POST' })
  return ((await response.json()) as { access_token: string }).access_token
}

async function getMe(url: string, token: string): Promise<number> {
  const response = await fetch(`${url}/me`, { headers: { authorization: `Bearer ${token}` } })
  await response.text()
  return response.status
}
