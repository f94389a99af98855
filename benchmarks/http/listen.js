import { once } from 'node:events'

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
