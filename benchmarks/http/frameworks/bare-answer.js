import { once } from 'node:events'
import { toSubject } from '../../tokens.js'

/** What a route without a guard answers: what the others answer to the first token. */
export const BARE_ANSWER = { id: toSubject(0) }

/**
 * Makes a server listen on any free port of this machine.
 *
 * @param {import('node:http').Server} server
 */
export async function listen(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}
