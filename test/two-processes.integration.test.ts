import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, createClient, type IssuedPair } from '../packages/contracts/src/application-client.js'
import { describeWithOwnServer, describeWithPostgres } from './helpers/servers/describe-with-servers.js'
import type { RunningServer } from './helpers/servers/server-process.js'
import { startRedis } from './helpers/servers/start-redis.js'

const MAIN = fileURLToPath(new URL('../build/examples/main.js', import.meta.url))
const JWT_SECRET_KEY = randomBytes(32).toString('base64url')

interface Instance {
  readonly client: Client
  /** Ends it as a crash would: nothing in it runs any more. */
  kill(): Promise<void>
}

/** The example application in a process of its own; all of them share the key and the store. */
async function start(store: string, fields: Readonly<Record<string, string>> = {}): Promise<Instance> {
  const args = ['--framework', 'fastify', '--handle-errors', '--port', '0', '--store', store]
  // What is tested here is what the store says, however long its disk takes.
  const env = { ...process.env, JWT_SECRET_KEY, JWT_REVOCATION_TIMEOUT: '10s', ...fields }
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  while (!output.includes('Stop with Ctrl-C')) {
    await Promise.race([once(child.stdout, 'data'), ended])
    if (child.exitCode !== null) throw new Error('The application did not start')
  }
  return {
    client: createClient(/http:\/\/[\d.]+:\d+/.exec(output)?.[0] ?? ''),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function expectGood({ client }: Instance, { access_token }: IssuedPair): Promise<void> {
  expect((await client.send('GET /me', access_token)).status).toBe(200)
}

async function expectEnded({ client }: Instance, { access_token, refresh_token }: IssuedPair): Promise<void> {
  expect(await client.json('GET /me', access_token)).toMatchObject({ code: 'TOKEN_REVOKED' })
  expect(await client.json('POST /refresh', refresh_token)).toMatchObject({ code: 'TOKEN_REVOKED' })
}

/** Two processes on one store. */
function twoProcesses(store: () => string): void {
  let a: Instance
  let b: Instance
  beforeAll(async () => void ([a, b] = await Promise.all([start(store()), start(store())])))
  afterAll(async () => void (await Promise.all([a.kill(), b.kill()])))

  test('a login at one is good at the other, until it ends there', async () => {
    const [login, other] = [await a.client.login(), await a.client.login()]
    await expectGood(b, login)
    expect((await b.client.send('DELETE /logout', login.access_token)).status).toBe(200)
    await expectEnded(a, login)
    await expectGood(a, other)
  })

  test('a logout at one is seen by the next request at the other, every time', async () => {
    for (let round = 0; round < 20; round++) {
      const login = await a.client.login()
      await expectGood(b, login)
      expect((await a.client.send('DELETE /logout', login.access_token)).status).toBe(200)
      await expectEnded(b, login)
    }
  })

  test('a logout reaches a token without a login too', async () => {
    const token = (await a.client.credential('valid')) as string
    expect((await b.client.send('GET /me', token)).status).toBe(200)
    expect((await a.client.send('DELETE /logout', token)).status).toBe(200)
    expect((await b.client.send('GET /me', token)).status).toBe(401)
  })

  test('an old refresh token is found out at the other, and that ends the session at both', async () => {
    // Without a grace, so that nobody has to wait for its end.
    const strict = await start(store(), { JWT_REFRESH_GRACE: '0' })
    const first = await a.client.login()
    const second = await b.client.refresh(first)
    await expectGood(a, second)
    // Its successor is used, at a third process.
    await strict.client.refresh(second)
    const reuse = await strict.client.json('POST /refresh', first.refresh_token)
    await strict.kill()
    expect(reuse).toMatchObject({ code: 'REFRESH_TOKEN_REUSED' })
    await expectEnded(a, second)
    await expectEnded(b, second)
  })

  test('refreshes of one token at both at the same time all pass', async () => {
    const login = await a.client.login()
    const pairs = await Promise.all([a, b, a, b, a, b].map(({ client }) => client.refresh(login)))
    for (const pair of pairs) await expectGood(a, pair)
    for (const pair of pairs) await b.client.refresh(pair)
  })

  test('kill -9 loses no logout and no login', async () => {
    const [ended, live] = [await a.client.login(), await a.client.login()]
    expect((await a.client.send('DELETE /logout', ended.access_token)).status).toBe(200)
    await a.kill()
    await expectEnded(b, ended)
    a = await start(store())
    await expectEnded(a, ended)
    await expectGood(a, live)
    await a.client.refresh(live)
  })
}

describe('two processes on one SQLite file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-processes-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  twoProcesses(() => `sqlite:${join(folder, 'tokens.sqlite')}`)
})

// A Redis of its own, because the application uses the default namespace.
describeWithOwnServer('redis', 'two processes on one Redis', () => {
  let redis: RunningServer
  beforeAll(async () => void (redis = await startRedis()))
  afterAll(() => redis.stop())
  twoProcesses(() => redis.url)
})

describeWithPostgres('two processes on one PostgreSQL', (url) => {
  twoProcesses(() => url)
})
