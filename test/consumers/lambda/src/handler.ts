import { handle } from 'hono/aws-lambda'
import { app } from './app.js'
import { tokens } from './tokens.js'

// The first invocation waits for the connection, which may take longer than a check may. If the store is down, requests
// are refused with 503 all the same.
const ready = tokens.ready().catch(() => undefined)
const respond = handle(app)

export const handler: typeof respond = async (event, context) => {
  await ready
  return respond(event, context)
}
