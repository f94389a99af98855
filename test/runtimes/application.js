// Serves an example application in Node, Bun or Deno, and prints its address: application.js hono message true false
import process from 'node:process'
import { START } from './examples/frameworks.js'
import { openApplication } from './examples/open-application.js'

const [framework, profile, handleErrors, withoutGrace] = process.argv.slice(2)
const { application } = await openApplication(
  { store: { kind: 'memory' } },
  { JWT_REVOCATION_TIMEOUT: '10s', ...(withoutGrace === 'true' && { JWT_REFRESH_GRACE: 0 }) },
)
const options = { framework, port: 0, profile, handleErrors: handleErrors === 'true' }
const { url } = await START[framework](application, options)
console.log(JSON.stringify({ url }))
