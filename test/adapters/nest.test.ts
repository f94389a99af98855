import { afterAll, beforeAll, describe, test } from 'vitest'
import { applicationContract } from '@tokenlib/contracts'
import { createApplication } from '../../examples/application.js'
import { start, startOnFastify } from '../../examples/nest.js'

const runner = { afterAll, beforeAll, describe, test }

describe('the application', () => {
  for (const [name, run] of [
    ['nest on Express', start],
    ['nest on Fastify', startOnFastify],
  ] as const) {
    applicationContract(
      name,
      async (options) => {
        const application = createApplication()
        const server = await run(application, { ...options, framework: 'hono', port: 0 })
        return { ...server, checks: () => application.checks() }
      },
      runner,
    )
  }
})
