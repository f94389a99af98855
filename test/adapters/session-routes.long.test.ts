import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { sessionRoutesContract } from '../../packages/contracts/src/index.js'
import { MOUNTS } from './mounted.js'
import { FRAMEWORK_CONTRACT } from './session-routes-parts.js'

// Every framework but those of session-routes.test.ts. Behind a body parser, malformed bodies are answered by the parser. Nest has a module of its own for these routes.
const FRAMEWORKS = ['Fastify', 'Koa', 'h3', 'Elysia', 'Fetch'] as const

for (const name of FRAMEWORKS) {
  const start = MOUNTS[name] as NonNullable<(typeof MOUNTS)[string]>
  sessionRoutesContract(
    name,
    ({ tokens, options }) => start(createSessionRoutes(tokens, options)),
    FRAMEWORK_CONTRACT,
  )
}
