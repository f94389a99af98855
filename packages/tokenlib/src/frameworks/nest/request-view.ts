import type { ExecutionContext } from '@nestjs/common'
import { rememberUpgrade } from '../../requests/sockets.js'
import {
  type NodeRequest,
  NodeView,
  readSingleHeader,
  type WrappedRequest,
  wrappedRequestReader,
} from '../../http/node-view.js'
import { toRequestView } from '../../http/request-source.js'
import type { RequestReader, RequestView } from '../../http/view.js'
import { readSocket } from './protected-sockets.js'

/** Express' request is that of Node; Fastify's has that one in `raw`. */
type HttpRequest = NodeRequest | WrappedRequest

/** The view of the request behind a handler, on each transport that has one. */
export function toView(context: ExecutionContext): RequestView {
  const type = context.getType<string>()
  if (type === 'http') return toHttpView(context.switchToHttp().getRequest<HttpRequest>())
  if (type === 'graphql') return toGraphqlView(context.getArgByIndex<GraphqlContext | undefined>(2))
  if (type === 'ws') return toMessageView(context.switchToWs().getClient<object>())
  throw new TypeError(`A token is looked for in an HTTP request, and a handler of type ${type} has none`)
}

/** Node's own request behind an HTTP handler, or `null` on other transports. */
export function readNodeRequest(context: ExecutionContext): NodeRequest | null {
  if (context.getType<string>() !== 'http') return null
  const request = context.switchToHttp().getRequest<HttpRequest>()
  return 'raw' in request ? request.raw : request
}

/** Reads the request behind a handler; the fast lane is for HTTP alone. */
export const contextReader: RequestReader<ExecutionContext> = {
  readHeader(context, name) {
    const request = readNodeRequest(context)
    return request && readSingleHeader(request, name)
  },
  readMethod: (context) => readNodeRequest(context)?.method,
  toView,
}

function toHttpView(request: HttpRequest): RequestView {
  return 'raw' in request ? wrappedRequestReader.toView(request) : toRequestView(request)
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

function toMessageView(client: object): RequestView {
  const socket = readSocket(client)
  if (socket === null) {
    throw new TypeError(
      'The sockets of this application are not authenticated: app.useWebSocketAdapter(protectSockets(new WsAdapter(app), tokens))',
    )
  }
  const view = toConnectionView(socket.request)
  rememberUpgrade(view, socket.upgrade)
  return view
}

// A new view each time: a connection outlives its token, so every message or subscription is checked anew.
// Without the method, which is GET: a browser opens one for every page that asks, cookies and all.
function toConnectionView({ url, headers, rawHeaders = [] }: NodeRequest): RequestView {
  return new NodeView({ url, headers, rawHeaders })
}
