import { describe, expect, test } from 'vitest'
import { applicationContract } from '@tokenlib/contracts'
import { START } from '../../examples/frameworks.js'
import { openApplication } from '../../examples/open-application.js'
import { type Framework, FRAMEWORKS } from '../../examples/options.js'
import { runner, startIn } from './start-in.js'

// fastify.integration.test.ts and stores.integration.test.ts have that of Fastify.
describe('the application', () => {
  for (const framework of FRAMEWORKS.filter((name) => name !== 'fastify')) {
    const start = startIn(framework, () => ({ kind: 'memory' }))
    applicationContract(framework, start, runner, { keepsSessions: true })
  }
})

describe('a login', () => {
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
