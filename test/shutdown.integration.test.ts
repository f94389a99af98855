import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../packages/tokenlib/src/index.js'
import { bundleWorker, type WorkerProgram } from './faults/harness/bundle-worker.js'
import { describeWithRedis } from './helpers/servers/describe-with-servers.js'

describeWithRedis('an application with a replica on Redis that is told to stop', (url) => {
  const secret = randomBytes(32).toString('base64url')
  const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: secret }) })
  const children: ChildProcess[] = []
  let program: WorkerProgram

  beforeAll(async () => {
    program = await bundleWorker('test/shutdown-child.ts')
  })
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
    program.remove()
  })

  // Each framework and each client once: what keeps a process alive belongs to one of them.
  test.each([
    ['nest', 'redis'],
    ['fastify', 'ioredis'],
  ])('ends by itself: %s with %s', async (framework, driver) => {
    const namespace = `shutdown-${randomBytes(6).toString('hex')}`
    const child = fork(program.path, [framework, driver, url, namespace, secret], { execArgv: [] })
    children.push(child)
    const ended = once(child, 'exit')
    const [address] = (await Promise.race([once(child, 'message'), ended])) as [string]
    const authorization = `Bearer ${tokens.createAccessToken({ uid: 'ada' })}`
    const answer = await fetch(address, { headers: { authorization } })
    expect([answer.status, await answer.text()]).toEqual([200, 'home'])
    child.send('stop')
    expect(await ended).toEqual([0, null])
  })
})
