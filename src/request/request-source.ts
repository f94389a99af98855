import { createFetchView } from './fetch-view.js'
import { createNodeView, type NodeRequest } from './node-view.js'
import type { RequestView } from './view.js'

/** Whatever a dependency can be called with: a Fetch `Request`, a Node request or a plain object, or a view. */
export type RequestSource = Request | NodeRequest | RequestView

const views = new WeakMap<object, RequestView>()

/** The view of a request, the same one each time, so that what is remembered for it is found again. */
export function toRequestView(source: RequestSource): RequestView {
  if (isRequestView(source)) return source
  return rememberView(source, () =>
    isFetchRequest(source) ? createFetchView(source) : createNodeView(source),
  )
}

/** The view remembered for a request object; an adapter brings `create` to make its own the first time. */
export function rememberView(source: object, create: () => RequestView): RequestView {
  let view = views.get(source)
  if (view === undefined) {
    view = create()
    views.set(source, view)
  }
  return view
}

/** A view that reads its body in another way: from where a framework's parser has left it. */
export function withBody(view: RequestView, body: () => Promise<unknown>): RequestView {
  return Object.create(view, { body: { value: body } }) as RequestView
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
