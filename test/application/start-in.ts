import { afterAll, beforeAll, describe, test } from 'vitest'
import type { ContractRunner, StartApplication } from '@tokenlib/contracts'
import { START } from '../../examples/frameworks.js'
import { openApplication } from '../../examples/open-application.js'
import type { Framework, StoreChoice } from '../../examples/options.js'
import { PATIENT } from '../helpers/manager.js'

export const runner: ContractRunner = { afterAll, beforeAll, describe, test }

/** Starts the application in this process. */
export function startIn(framework: Framework, choose: () => StoreChoice): StartApplication {
  return async ({ withoutGrace, ...options }) => {
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
}
