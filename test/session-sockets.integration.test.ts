import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { TokenConfig, TokenManager } from '../packages/tokenlib/src/index.js'
import { createRedisStore } from '../packages/tokenlib/src/stores/redis.js'
import { bundleWorker, type WorkerProgram } from './faults/harness/bundle-worker.js'
import { describeWithRedis } from './helpers/servers/describe-with-servers.js'

describeWithRedis('a socket of another process, on Redis', (url) => {
  const secret = randomBytes(32).toString('base64url')
  const namespace = `sockets-${randomBytes(6).toString('hex')}`
  const config = new TokenConfig({ JWT_SECRET_KEY: secret, JWT_REVOCATION_TIMEOUT: '10s' })
  let redis: Redis
  let tokens: TokenManager
  let program: WorkerProgram
  let child: ChildProcess
  let port: number

  beforeAll(async () => {
    program = await bundleWorker('test/session-sockets-child.ts')
    child = fork(program.path, [url, namespace, secret], { execArgv: [] })
    redis = new Redis(url)
    tokens = new TokenManager({ config, store: createRedisStore(redis, { namespace }) })
    const exited = once(child, 'exit').then(() => Promise.reject(new Error('The process did not start')))
    ;[port] = (await Promise.race([once(child, 'message'), exited])) as [number]
    exited.catch(() => {})
  })
  afterAll(async () => {
    child.kill('SIGKILL')
    program.remove()
    await redis.quit()
  })

  test.each<[string, (accessToken: string) => Promise<unknown>]>([
    ['its logout', async (token) => tokens.logout(await tokens.verify(token))],
    ['the revocation of its user', () => tokens.revoke.user('ada')],
    ['the revocation of everything', () => tokens.revoke.all()],
  ])('is closed by %s in this one', async (_, end) => {
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const client = new WebSocket(`ws://127.0.0.1:${port}`, ['bearer', accessToken])
    const closed = once(client, 'close') as Promise<[code: number]>
    const [greeting] = (await once(client, 'message')) as [Buffer]
    expect(greeting.toString()).toBe('ada')
    await end(accessToken)
    expect((await closed)[0]).toBe(4401)
  })
})
