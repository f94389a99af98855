import type { IncomingMessage, ServerResponse } from 'node:http'
import { assertMount, type MountableRoutes, type MountOptions } from '../../http/mountable-routes.js'
import { createNodeMount } from '../../http/node-bridge.js'

// Express and the middleware of Fastify keep the URL here when they take a prefix off.
type RoutedMessage = IncomingMessage & {
  readonly originalUrl?: string
  readonly ip?: string
  readonly body?: unknown
}

/** Middleware for `app.use`, with either platform: answers what is below the path of the routes, and passes on the rest. */
export function mount(
  routes: MountableRoutes,
  options: MountOptions<IncomingMessage> = {},
): (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => Promise<void> {
  assertMount(routes, options)
  const { ip = ({ ip: known, socket }: RoutedMessage) => known ?? socket.remoteAddress } = options
  return createNodeMount(routes, (req: RoutedMessage) => ({
    url: req.originalUrl ?? req.url ?? '/',
    ip: ip(req),
    body: req.body,
  }))
}
