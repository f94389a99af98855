import { afterAll, beforeAll, describe, test } from 'vitest'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { sessionRoutesContract } from '../../packages/contracts/src/index.js'
import { MOUNTS } from './mounted.js'

// One with Node's requests and one with those of Fetch; session-routes.long.test.ts has the others.
const FRAMEWORKS = ['Express', 'Hono'] as const

for (const name of FRAMEWORKS) {
  const start = MOUNTS[name] as NonNullable<(typeof MOUNTS)[string]>
  sessionRoutesContract(name, ({ tokens, options }) => start(createSessionRoutes(tokens, options)), {
    describe,
    test,
    beforeAll,
    afterAll,
  })
}
