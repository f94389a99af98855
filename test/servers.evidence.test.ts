import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  describeWithBrowsers,
  describeWithChromium,
  describeWithOwnServer,
  describeWithPostgres,
  describeWithRedis,
} from './helpers/servers/describe-with-servers.js'
import { findPostgres } from './helpers/servers/find-servers.js'
import type { ServerKind } from './helpers/servers/missing-server.js'
import { childrenOf, isRunning } from './helpers/servers/process-tree.js'
import { redisCommand } from './helpers/servers/redis-command.js'
import type { RunningServer } from './helpers/servers/server-process.js'
import { type RunningPostgres, runSql, startPostgres } from './helpers/servers/start-postgres.js'
import { type RedisSettings, startRedis } from './helpers/servers/start-redis.js'

describeWithRedis('the shared Redis', (url) => {
  test('answers', async () => {
    expect(await redisCommand(url, 'PING')).toBe('PONG')
  })
})

describeWithPostgres('the shared PostgreSQL', (url) => {
  test('gives each suite an empty database', async () => {
    await runSql(url, 'CREATE TABLE tokens (id text)')
    expect(await runSql(url, 'SELECT count(*) FROM tokens')).toBe('0')
  })
})

describeWithPostgres('another suite on the shared PostgreSQL', (url) => {
  test('does not see the tables of the first', async () => {
    await expect(runSql(url, 'SELECT * FROM tokens')).rejects.toThrow('does not exist')
  })
})

describeWithOwnServer('redis', 'a Redis of its own', () => {
  let server: RunningServer
  const start = async (settings?: RedisSettings) => (server = await startRedis(settings))
  afterEach(() => server.stop())

  test('keeps what was written over kill -9 and a restart', async () => {
    const { port, pid } = await start()
    await redisCommand(server.url, 'SET', 'key', 'välue')
    await server.kill('SIGKILL')
    await expect(redisCommand(server.url, 'PING')).rejects.toThrow('ECONNREFUSED')
    await server.restart()
    expect(await redisCommand(server.url, 'GET', 'key')).toBe('välue')
    expect(server.port).toBe(port)
    expect(server.pid).not.toBe(pid)
  })

  test('loses it without persistence', async () => {
    await start({ appendonly: 'no' })
    await redisCommand(server.url, 'SET', 'key', 'value')
    await server.kill('SIGKILL')
    await server.restart()
    expect(await redisCommand(server.url, 'GET', 'key')).toBeNull()
  })

  test('hangs after SIGSTOP and answers after SIGCONT', async () => {
    await start()
    await server.kill('SIGSTOP')
    const answer = redisCommand(server.url, 'PING')
    expect(await Promise.race([answer, sleep(300, 'nothing')])).toBe('nothing')
    await server.kill('SIGCONT')
    expect(await answer).toBe('PONG')
  })

  test('takes settings: eviction, a limit, a password, and a user who may not look around', async () => {
    const user = 'limited on >word ~* &* +@all -info -config'
    await start({ 'maxmemory-policy': 'allkeys-lru', maxmemory: '8mb', requirepass: 'p@ss', user })
    expect(server.url).toBe(`redis://:p%40ss@127.0.0.1:${server.port}`)
    expect(await redisCommand(server.url, 'INFO', 'memory')).toMatch(/maxmemory:8388608[^]*:allkeys-lru/)
    await expect(redisCommand(`redis://127.0.0.1:${server.port}`, 'PING')).rejects.toThrow('NOAUTH')
    const limited = `redis://limited:word@127.0.0.1:${server.port}`
    expect(await redisCommand(limited, 'SET', 'key', 'value')).toBe('OK')
    await expect(redisCommand(limited, 'INFO')).rejects.toThrow('NOPERM')
    await expect(redisCommand(limited, 'CONFIG', 'GET', 'save')).rejects.toThrow('NOPERM')
  })

  test('is a cluster of one node with all slots', async () => {
    await start({ 'cluster-enabled': 'yes' })
    expect(await redisCommand(server.url, 'SET', 'key', 'value')).toBe('OK')
    await server.kill('SIGKILL')
    await server.restart()
    expect(await redisCommand(server.url, 'GET', 'key')).toBe('value')
  })

  test('is gone with its folder when it is stopped, also when it was frozen', async () => {
    const { pid, folder } = await start()
    await server.kill('SIGSTOP')
    await server.stop()
    expect([isRunning(pid), existsSync(folder)]).toEqual([false, false])
  })
})

describeWithOwnServer('postgres', 'a PostgreSQL of its own', () => {
  let server: RunningPostgres
  let url: string
  beforeAll(async () => {
    server = await startPostgres()
    url = await server.createDatabase()
    await runSql(url, 'CREATE TABLE rows (id text)')
  }, 60_000)
  afterAll(() => server.stop())

  test.each(['SIGQUIT', 'SIGKILL'] as const)(
    'keeps a committed row over %s and a restart',
    async (signal) => {
      const open = openSession(url)
      await open.ask(`BEGIN; INSERT INTO rows VALUES ('open ${signal}'); SELECT 'inserted';`)
      await runSql(url, `INSERT INTO rows VALUES ('${signal}')`)
      const all = [server.pid, ...childrenOf(server.pid)]
      await server.kill(signal)
      expect(all.filter(isRunning)).toEqual([])
      await server.restart()
      expect(await runSql(url, `SELECT id FROM rows WHERE id LIKE '%${signal}'`)).toBe(signal)
      open.close()
    },
  )

  test('an open session and a new one hang after SIGSTOP and go on after SIGCONT', async () => {
    const session = openSession(url)
    expect(await session.ask('SELECT 1;')).toBe('1')
    await server.kill('SIGSTOP')
    const answers = [session.ask('SELECT 2;'), runSql(url, 'SELECT 3')]
    expect(await Promise.race([...answers, sleep(500, 'nothing')])).toBe('nothing')
    await server.kill('SIGCONT')
    expect(await Promise.all(answers)).toEqual(['2', '3'])
    session.close()
  })
})

describeWithChromium('a Chromium of its own', (browser) => {
  test('opens pages', async () => {
    const page = await browser().newPage()
    await page.goto('data:text/html,<title>ready</title>')
    expect(await page.title()).toBe('ready')
  })
})

describeWithBrowsers('a browser of its own', (browser) => {
  test('opens pages with separate cookie jars, and stands still while it is stopped', async () => {
    const contexts = [await browser().newContext(), await browser().newContext()]
    const server = createServer((_, response) => response.end('<title>ready</title>')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const pages = await Promise.all(contexts.map((context) => context.newPage()))
    for (const page of pages) await page.goto(url)
    expect(await pages[0]?.evaluate("(document.cookie = 'name=value', document.title)")).toBe('ready')
    expect(await pages[1]?.evaluate('document.cookie')).toBe('')
    expect(await contexts[0]?.cookies()).toMatchObject([{ name: 'name', value: 'value', path: '/' }])
    expect(await contexts[1]?.cookies()).toEqual([])
    await expect(pages[0]?.evaluate("Promise.reject(new Error('no'))")).rejects.toThrow('no')

    browser().signal('SIGSTOP')
    const answer = pages[1]?.evaluate('1 + 1')
    expect(await Promise.race([answer, sleep(300, 'nothing')])).toBe('nothing')
    browser().signal('SIGCONT')
    expect(await answer).toBe(2)
    for (const context of contexts) await context.close()
    server.close()
  })
})

describe('a process that is killed leaves no server behind', () => {
  /** Starts a server in a process of its own, signals the server and then kills the process. */
  async function expectNothingLeft(
    kind: Exclude<ServerKind, 'spin' | 'workerd'>,
    state: 'SIGSTOP' | 'SIGCONT',
    signal: NodeJS.Signals,
  ) {
    const contents = `
      import { ${START[kind]} as start } from './start-${kind}.js'
      const server = await start()
      await server.kill?.('${state}')
      console.log(JSON.stringify({ pid: server.pid, folder: server.folder }))
      setInterval(() => {}, 1000)`
    const stdin = { contents, resolveDir: fileURLToPath(new URL('./helpers/servers', import.meta.url)) }
    const built = await build({
      stdin,
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      write: false,
    })
    const script = ['--input-type=module', '--eval', built.outputFiles[0]?.text ?? '']
    const parent = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'] })
    const [text] = (await once(parent.stdout, 'data')) as [Buffer]
    const server = JSON.parse(text.toString()) as { readonly pid: number; readonly folder: string }
    const all = [server.pid, ...childrenOf(server.pid)]
    expect(isRunning(server.pid)).toBe(true)
    parent.kill(signal)
    const left = () => [all.filter(isRunning), existsSync(server.folder)]
    await vi.waitFor(() => expect(left()).toEqual([[], false]), { timeout: 25_000, interval: 50 })
  }

  describeWithOwnServer('redis', 'Redis', () => {
    test.concurrent.each([
      ['SIGCONT', 'SIGKILL'],
      ['SIGCONT', 'SIGTERM'],
      ['SIGCONT', 'SIGINT'],
      ['SIGSTOP', 'SIGKILL'],
    ] as const)('the server had %s, the process %s', async (state, signal) => {
      await expectNothingLeft('redis', state, signal)
    })
  })

  describeWithOwnServer('postgres', 'PostgreSQL', () => {
    test.concurrent.each(['SIGCONT', 'SIGSTOP'] as const)('the server had %s', async (state) => {
      await expectNothingLeft('postgres', state, 'SIGKILL')
    })
  })

  describeWithOwnServer('chromium', 'Chromium', () => {
    test.each(['SIGKILL', 'SIGINT'] as const)('the process had %s', async (signal) => {
      await expectNothingLeft('chromium', 'SIGCONT', signal)
    })
  })

  describeWithOwnServer('firefox', 'Firefox', () => {
    test.each(['SIGKILL', 'SIGINT'] as const)('the process had %s', async (signal) => {
      await expectNothingLeft('firefox', 'SIGCONT', signal)
    })
  })
})

const START = {
  redis: 'startRedis',
  postgres: 'startPostgres',
  chromium: 'startChromium',
  firefox: 'startFirefox',
}

/** One psql that stays connected; `ask` takes statements that answer with one line. */
function openSession(url: string) {
  const child = spawn(findPostgres()?.psql ?? '', ['-XAtq', url], { stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.on('error', () => undefined)
  return {
    async ask(sql: string): Promise<string> {
      child.stdin.write(`${sql}\n`)
      const [answer] = (await once(child.stdout, 'data')) as [Buffer]
      return answer.toString().trim()
    },
    close: () => child.kill('SIGKILL'),
  }
}
