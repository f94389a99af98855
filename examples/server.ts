import type { RequestListener } from 'node:http'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'

/** A server that listens on this machine. */
export interface RunningServer {
  readonly url: string
  close(): Promise<void>
}

/** Serves a function from `Request` to `Response`. */
export function serveFetch(
  fetch: (request: Request) => Response | Promise<Response>,
  port: number,
): Promise<RunningServer> {
  const listener = getRequestListener(fetch, { overrideGlobalObjects: false })
  return serveNode((request, response) => void listener(request, response), port)
}

/** Serves a Node request listener. */
export function serveNode(listener: RequestListener, port: number): Promise<RunningServer> {
  return listen(createServer(listener), port)
}

/** Makes a Node server listen; port 0 is any free one. */
export function listen(server: Server, port: number): Promise<RunningServer> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      resolve({
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        close: () => closeServer(server),
      })
    })
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
