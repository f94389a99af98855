import type { ServerResponse } from 'node:http'
import { type ExecutionContext, Inject } from '@nestjs/common'
import { TokenManager } from '../../manager.js'
import { type AuthenticatedUpgrade, rememberUpgrade } from '../../sockets/upgrade.js'
import {
  type NodeRequest,
  NodeView,
  readSingleHeader,
  type WrappedRequest,
  wrappedRequestReader,
} from '../../http/node-view.js'
import { toRequestView } from '../../http/request-source.js'
import type { RequestReader, RequestView } from '../../http/view.js'
import type { FastifyReplyLike, ReplyMethods } from '../node-bridge.js'

/** A manager, whatever its claims are; only what takes claims or payloads is left out. */
export type AnyManager = Omit<
  TokenManager<never, object, unknown, object>,
  'setCallbackTokenBlocklist' | 'setTokenBlocklist' | 'setSubjectGetter'
>

/** The provider token of a manager: the class itself, or a text for one that was registered under a name. */
export function getTokenManagerToken(name?: string): typeof TokenManager | string {
  return name === undefined ? TokenManager : `TokenManager:${name}`
}

/** Injects the manager, or the one that was registered under a name. */
export function InjectTokenManager(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getTokenManagerToken(name))
}

/** A socket whose handshake was authenticated. */
interface ProtectedSocket {
  readonly tokens: AnyManager
  readonly upgrade: AuthenticatedUpgrade
  /** The request that opened it. */
  readonly request: NodeRequest
}

/** The clients of gateways whose handshakes were authenticated. */
export const protectedSockets: WeakMap<object, ProtectedSocket> = new WeakMap()

/** The handshake of a client, as a manager has authenticated it: for `handleConnection`, which runs behind no guard. */
export function readUpgrade<Manager extends AnyManager>(
  client: object,
  tokens: Manager,
): Awaited<ReturnType<Manager['sockets']['authenticate']>> | null {
  const socket = protectedSockets.get(client)
  const isOwn = socket !== undefined && socket.tokens === tokens
  return isOwn ? (socket.upgrade as Awaited<ReturnType<Manager['sockets']['authenticate']>>) : null
}

/** Node's request or response: Express extends these objects, and Fastify keeps them in `raw`. */
export function toNode<Message extends object>(message: Message | { readonly raw: Message }): Message {
  return 'raw' in message ? message.raw : message
}

/** The response of an HTTP handler: Fastify's reply, Express' response with the same methods, or Node's own. */
export type PlatformResponse = ServerResponse | (ServerResponse & ReplyMethods) | FastifyReplyLike

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
  return context.getType<string>() === 'http'
    ? toNode<NodeRequest>(context.switchToHttp().getRequest<HttpRequest>())
    : null
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
  const raw = toNode<NodeRequest>(request)
  // A subscription comes over a connection.
  return raw.headers['upgrade'] === undefined ? toHttpView(request) : toConnectionView(raw)
}

function toMessageView(client: object): RequestView {
  const socket = protectedSockets.get(client)
  if (socket === undefined) {
    throw new TypeError(
      'The sockets of this application are not authenticated: app.useWebSocketAdapter(protectSockets(new WsAdapter(app), tokens))',
    )
  }
  const view = toConnectionView(socket.request)
  rememberUpgrade(view, socket.upgrade)
  return view
}

// A new view each time: a connection outlives its token, so every message or subscription is checked again.
// Without the method, which is GET: a browser opens one for every page that asks, cookies and all.
function toConnectionView({ url, headers, rawHeaders = [] }: NodeRequest): RequestView {
  return new NodeView({ url, headers, rawHeaders })
}
