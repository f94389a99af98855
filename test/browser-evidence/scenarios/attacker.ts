import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server of somebody else. */
export interface Attacker {
  /** Of another site, and of another port of the same host. */
  readonly origins: readonly [site: string, port: string]
  close(): void
}

/** Starts a server whose pages submit the form that their address has. */
export async function openAttacker(): Promise<Attacker> {
  const server: Server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://localhost')
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><title>attacker</title>${searchParams.get('form') ?? ''}`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    // Cookies do not know ports: to the second one, the browser sends those of the application.
    origins: [`http://localhost:${port}`, `http://127.0.0.1:${port}`],
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
