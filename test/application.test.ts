import { afterAll, beforeAll, describe, test } from 'vitest'
import { applicationContract } from 'tokenlib/testing'
import { createApplication } from '../examples/application.js'
import { START } from '../examples/frameworks.js'
import { FRAMEWORKS } from '../examples/options.js'

describe('ERR-01 RAW-04 RAW-05 RAW-06 REV-12 REV-13 REV-16 PAY-02 PAY-03 the application', () => {
  for (const framework of FRAMEWORKS) {
    applicationContract(
      framework,
      async (options) => {
        const application = createApplication()
        const server = await START[framework](application, { ...options, framework, port: 0 })
        return { ...server, checks: () => application.checks() }
      },
      { afterAll, beforeAll, describe, test },
    )
  }
})
