import { afterAll, beforeAll, describe } from 'vitest'
import { applicationContract, type ContractRunner } from '@tokenlib/contracts'
import { describeWithOwnServer, describeWithPostgres } from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startRedis } from '../helpers/servers/start-redis.js'
import { runner as whole, startIn } from './start-in.js'

const SESSIONS = { keepsSessions: true }

// One framework, with its errors handled: neither depends on where revocations are kept. Memory has the others, and SQLite
// is tested without as well.
const runner: ContractRunner = {
  ...whole,
  describe: (title, run) => (title.endsWith('without handleErrors') ? undefined : whole.describe(title, run)),
}

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
