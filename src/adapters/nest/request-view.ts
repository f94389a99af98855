import type { ExecutionContext } from '@nestjs/common'
import { type NodeRequest, NodeView } from '../../request/node-view.js'
import { toRequestView } from '../../request/request-source.js'
import type { RequestView } from '../../request/view.js'
import { toWrappedView, type WrappedRequest } from '../../request/wrapped-node-view.js'

/** Express' request is that of Node; Fastify's has that one in `raw`. */
type HttpRequest = NodeRequest | WrappedRequest

const upgrades = new WeakMap<object, NodeRequest>()

/** Keeps the request that opened a `ws` connection, which `handleConnection` gets, for guards of its messages. */
export function rememberUpgrade(client: object, request: NodeRequest): void {
  upgrades.set(client, request)
}

/** The view of the request behind a handler, on each transport that has one. */
export function toView(context: ExecutionContext): RequestView {
  const type = context.getType<string>()
  if (type === 'http') return toHttpView(context.switchToHttp().getRequest<HttpRequest>())
  if (type === 'graphql') return toGraphqlView(context.getArgByIndex<GraphqlContext | undefined>(2))
  if (type === 'ws') return toMessageView(context.switchToWs().getClient<WsClient>())
  throw new TypeError(`A token is looked for in an HTTP request, and a handler of type ${type} has none`)
}

function toHttpView(request: HttpRequest): RequestView {
  return 'raw' in request ? toWrappedView(request) : toRequestView(request)
}

interface GraphqlContext {
  readonly req?: HttpRequest
  readonly request?: HttpRequest
}

function toGraphqlView(context: GraphqlContext = {}): RequestView {
  const request = context.req ?? context.request
  if (request === undefined) throw new TypeError('The GraphQL context must have the request as `req`')
  const raw = 'raw' in request ? request.raw : request
  // A subscription comes over a connection.
  return raw.headers['upgrade'] === undefined ? toHttpView(request) : toConnectionView(raw)
}

/** Socket.IO's client has the request that opened the connection; that of `ws` has not. */
interface WsClient {
  readonly request?: NodeRequest
}

function toMessageView(client: WsClient): RequestView {
  const request = upgrades.get(client) ?? client.request
  if (request !== undefined) return toConnectionView(request)
  throw new TypeError('Guards of `ws` messages need rememberUpgrade(client, request) in handleConnection')
}

// A new view each time: a connection outlives its token, so every message asks anew whether that still holds.
// Without the method, which is GET: a browser opens one for every page that asks, cookies and all.
function toConnectionView({ url, headers, rawHeaders = [] }: NodeRequest): RequestView {
  return new NodeView({ url, headers, rawHeaders })
}
