import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RefreshingManager } from '../../sessions/implicit-refresh.js'
import { assertMount, type MountableRoutes } from '../../routes/router.js'
import { createNodeMount } from '../node-bridge.js'
import { createNodeRefresh } from '../node-refresh.js'
import { toRequestView } from '../../http/request-source.js'

// Express and the middleware of Fastify keep the URL here when they take a prefix off.
type RoutedMessage = IncomingMessage & {
  readonly originalUrl?: string
  readonly body?: unknown
}

/** Middleware of a Node server; Nest takes it on both platforms. */
export type NodeMiddleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>

/** Middleware for `app.use`, with either platform: answers what is below the path of the routes, and passes on the rest. */
export function mount(routes: MountableRoutes): NodeMiddleware {
  assertMount(routes)
  return createNodeMount(routes, (req: RoutedMessage) => ({
    url: req.originalUrl ?? req.url ?? '/',
    ip: toRequestView(req).ip,
    body: req.body,
  }))
}

/**
 * Middleware for `app.use`, with either platform: refreshes the session of a request whose access cookie has expired, and
 * sends the new cookies with the response.
 */
export function implicitRefresh(tokens: RefreshingManager): NodeMiddleware {
  return createNodeRefresh(tokens)
}
