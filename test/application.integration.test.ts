import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { applicationContract, type StartApplication } from '@tokenlib/contracts'
import { START } from '../examples/frameworks.js'
import { openApplication } from '../examples/open-application.js'
import { type Framework, FRAMEWORKS, type StoreChoice } from '../examples/options.js'
import { PATIENT } from './helpers/manager.js'
import { describeWithOwnServer, describeWithPostgres } from './helpers/servers/describe-with-servers.js'
import type { RunningServer } from './helpers/servers/server-process.js'
import { startRedis } from './helpers/servers/start-redis.js'

const runner = { afterAll, beforeAll, describe, test }

/** The application in this process. */
const startIn =
  (framework: Framework, choose: () => StoreChoice): StartApplication =>
  async ({ withoutGrace, ...options }) => {
    const grace = withoutGrace === true ? { JWT_REFRESH_GRACE: 0 } : {}
    const opened = await openApplication({ store: choose() }, { ...PATIENT, ...grace })
    const { application } = opened
    const server = await START[framework](application, { ...options, framework, port: 0 })
    return {
      url: server.url,
      checks: () => application.checks(),
      async close() {
        await server.close()
        await opened.close()
      },
    }
  }

describe('the application', () => {
  for (const framework of FRAMEWORKS) {
    applicationContract(
      framework,
      startIn(framework, () => ({ kind: 'memory' })),
      runner,
      { keepsSessions: true },
    )
  }
})

// Nest's is in adapters/nest.test.ts, which runs on two versions of Nest.
describe('on a callback over a set of tokens', () => {
  for (const framework of FRAMEWORKS.filter((name) => !name.startsWith('nest'))) {
    applicationContract(
      framework,
      startIn(framework, () => ({ kind: 'callback' })),
      runner,
    )
  }
})

describe('on SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-application-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const choose = (): StoreChoice => ({ kind: 'sqlite', path: join(folder, 'tokens.sqlite') })
  applicationContract('fastify', startIn('fastify', choose), runner, { keepsSessions: true })
})

// A Redis of its own, because the application uses the default namespace.
describeWithOwnServer('redis', 'on Redis', () => {
  let redis: RunningServer
  beforeAll(async () => void (redis = await startRedis()))
  afterAll(() => redis.stop())
  const choose = (): StoreChoice => ({ kind: 'redis', url: redis.url })
  applicationContract('fastify', startIn('fastify', choose), runner, { keepsSessions: true })
})

describeWithPostgres('on PostgreSQL', (url) => {
  applicationContract(
    'fastify',
    startIn('fastify', () => ({ kind: 'postgres', url })),
    runner,
    { keepsSessions: true },
  )
})

describe('a log-in', () => {
  // A plain Fetch request does not say where it comes from; that of h3 does.
  const ADDRESSED: readonly Framework[] = ['nest', 'nest-fastify', 'fastify', 'express', 'koa', 'h3']

  test.each(FRAMEWORKS)(
    'in %s is listed with its browser, and its address where there is one',
    async (framework) => {
      const { application } = await openApplication({ store: { kind: 'memory' } })
      const options = { framework, port: 0, profile: 'message', handleErrors: false } as const
      const server = await START[framework](application, options)
      try {
        await fetch(`${server.url}/login`, { method: 'POST', headers: { 'user-agent': 'Analytical Engine' } })
        const ip = ADDRESSED.includes(framework) ? '127.0.0.1' : null
        expect(await application.tokens.sessions.list('ada')).toMatchObject([
          { ip, userAgent: 'Analytical Engine' },
        ])
      } finally {
        await server.close()
      }
    },
  )
})
