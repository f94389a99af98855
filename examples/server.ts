import type { RequestListener } from 'node:http'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'

/** A server that listens on this machine. */
export interface RunningServer {
  readonly url: string
  close(): Promise<void>
}

type FetchHandler = (request: Request) => Response | Promise<Response>

/** What is needed of the servers that Bun and Deno have. */
interface Runtimes {
  readonly Bun?: {
    serve(options: object): { readonly port: number; stop(closeConnections: boolean): Promise<void> }
  }
  readonly Deno?: {
    serve(
      options: object,
      handler: FetchHandler,
    ): { readonly addr: { readonly port: number }; shutdown(): Promise<void> }
  }
}

/**
 * Serves a function from `Request` to `Response`. In Bun and Deno, it uses their own server: frameworks expect the runtime's
 * own `Request`, and Elysia in Bun fails with any other.
 */
export async function serveFetch(fetch: FetchHandler, port: number): Promise<RunningServer> {
  const { Bun, Deno } = globalThis as Runtimes
  const hostname = '127.0.0.1'
  const handler: FetchHandler = (request) => fetch(request)
  if (Bun !== undefined) {
    const server = Bun.serve({ port, hostname, development: false, fetch: handler })
    return { url: `http://${hostname}:${server.port}`, close: () => server.stop(true) }
  }
  if (Deno !== undefined) {
    const server = Deno.serve({ port, hostname, onListen: () => undefined }, handler)
    return { url: `http://${hostname}:${server.addr.port}`, close: () => server.shutdown() }
  }
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
