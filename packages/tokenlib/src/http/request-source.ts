import { FetchView } from './fetch-view.js'
import { type NodeRequest, NodeView, readSingleHeader } from './node-view.js'
import { rememberView, type RequestReader, type RequestView } from './view.js'

/** Whatever a dependency can be called with: a Fetch `Request`, a Node request or a plain object, or a view. */
export type RequestSource = Request | NodeRequest | RequestView

/** The view of a request, the same one each time, so that what is remembered for it is found again. */
export function toRequestView(source: RequestSource): RequestView {
  return isRequestView(source) ? source : rememberView(source, createView)
}

/** Reads Node requests. */
export const nodeRequestReader: RequestReader<NodeRequest> = {
  readHeader: readSingleHeader,
  toView: toRequestView,
}

/** Reads Fetch requests. Headers of one name come joined with commas, which no header with one token has. */
export const fetchRequestReader: RequestReader<Request> = {
  readHeader: (request, name) => request.headers.get(name),
  toView: toRequestView,
}

function createView(source: Request | NodeRequest): RequestView {
  return isFetchRequest(source) ? new FetchView(source) : new NodeView(source)
}

// All four members: requests and contexts of frameworks have some of them, with other meanings.
function isRequestView(source: RequestSource): source is RequestView {
  const view = source as Partial<RequestView> | null | undefined
  return (
    typeof view?.header === 'function' &&
    typeof view.body === 'function' &&
    typeof view.method === 'string' &&
    typeof view.url === 'string'
  )
}

// By shape: a Request from another realm or from a polyfill is one too.
function isFetchRequest(source: Request | NodeRequest): source is Request {
  // Koa's context has headers too, and the body of the response.
  if (typeof source === 'object' && source !== null && 'req' in source && 'request' in source) {
    throw new TypeError('A context is no request: pass ctx.req')
  }
  const headers: unknown = (source as Partial<Request> | null | undefined)?.headers
  if (typeof headers !== 'object' || headers === null) {
    throw new TypeError(
      'A request must be a Fetch Request, a Node request, an object with headers or a RequestView',
    )
  }
  return typeof (headers as Partial<Headers>).get === 'function'
}
