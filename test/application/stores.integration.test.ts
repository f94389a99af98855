import { afterAll, beforeAll, describe } from 'vitest'
import { applicationContract } from '@tokenlib/contracts'
import { describeWithOwnServer, describeWithPostgres } from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startRedis } from '../helpers/servers/start-redis.js'
import { runner, startIn } from './start-in.js'

const SESSIONS = { keepsSessions: true }

// One framework: what differs between frameworks does not depend on where revocations are kept. Memory has the others.
describe('on a callback over a set of tokens', () => {
  const start = startIn('fastify', () => ({ kind: 'callback' }))
  applicationContract('fastify', start, runner)
})

// A Redis of its own, because the application uses the default namespace.
describeWithOwnServer('redis', 'on Redis', () => {
  let redis: RunningServer
  beforeAll(async () => void (redis = await startRedis()))
  afterAll(() => redis.stop())
  const start = startIn('fastify', () => ({ kind: 'redis', url: redis.url }))
  applicationContract('fastify', start, runner, SESSIONS)
})

describeWithPostgres('on PostgreSQL', (url) => {
  const start = startIn('fastify', () => ({ kind: 'postgres', url }))
  applicationContract('fastify', start, runner, SESSIONS)
})
