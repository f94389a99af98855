import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ImplicitRefreshOptions, RefreshingManager } from '../../http/implicit-refresh.js'
import { assertMount, type MountableRoutes, type MountOptions } from '../../http/mountable-routes.js'
import { createNodeMount } from '../../http/node-bridge.js'
import { createNodeRefresh } from '../../http/node-refresh.js'

// Express and the middleware of Fastify keep the URL here when they take a prefix off.
type RoutedMessage = IncomingMessage & {
  readonly originalUrl?: string
  readonly ip?: string
  readonly body?: unknown
}

/** Middleware of a Node server; Nest takes it on both platforms. */
export type NodeMiddleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>

/** Middleware for `app.use`, with either platform: answers what is below the path of the routes, and passes on the rest. */
export function mount(routes: MountableRoutes, options: MountOptions<IncomingMessage> = {}): NodeMiddleware {
  assertMount(routes, options)
  const { ip = readIp } = options
  return createNodeMount(routes, (req: RoutedMessage) => ({
    url: req.originalUrl ?? req.url ?? '/',
    ip: ip(req),
    body: req.body,
  }))
}

/**
 * Middleware for `app.use`, with either platform: refreshes the session of a request whose access cookie has expired, and
 * sends the new cookies with the response.
 */
export function implicitRefresh<Input extends object, Payload>(
  tokens: RefreshingManager<Input, Payload>,
  options: ImplicitRefreshOptions<IncomingMessage, Input, Payload> = {},
): NodeMiddleware {
  return createNodeRefresh(tokens, options, readIp)
}

function readIp({ ip, socket }: RoutedMessage): string | undefined {
  return ip ?? socket.remoteAddress
}
