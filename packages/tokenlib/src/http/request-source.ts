import { isMultipart, parseBody, readBytes, toFields } from './body.js'
import { type NodeRequest, NodeView, readCertificate, readSingleHeader } from './node-view.js'
import { type Kind, kindOf } from '../options.js'
import { readNodeRequest, readRequestIp, rememberView, type RequestReader, type RequestView } from './view.js'

/** What a dependency accepts: a Fetch `Request`, a Node request, a plain object or a view. */
export type RequestSource = Request | NodeRequest | RequestView

/** A request, as an option. */
export const requestKind: Kind<RequestSource> = kindOf('a request', (value) => typeof value === 'object')

/** The view of a request, the same one each time, so that what is remembered for it is found again. */
export function toRequestView(source: RequestSource): RequestView {
  return isRequestView(source) ? source : rememberView(source, createView)
}

/** Reads Node requests. */
export const nodeRequestReader: RequestReader<NodeRequest> = {
  readHeader: readSingleHeader,
  toView: toRequestView,
}

/** Reads Fetch requests. Repeated headers arrive joined with commas; a single token never contains one. */
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
    throw new TypeError('Expected a request, got a Koa context: pass ctx.req')
  }
  const headers: unknown = (source as Partial<Request> | null | undefined)?.headers
  if (typeof headers !== 'object' || headers === null) {
    throw new TypeError(
      'A request must be a Fetch Request, a Node request, an object with headers or a RequestView',
    )
  }
  return typeof (headers as Partial<Headers>).get === 'function'
}

/**
 * The view of a Fetch `Request`; the body is read from a clone, once. `readKept` returns the body that a framework has
 * already read: text is parsed, anything else is used unchanged, and `undefined` means that the framework has not read it.
 */
export class FetchView implements RequestView {
  readonly #request: Request
  readonly #readKept: () => unknown
  #body: Promise<unknown> | undefined

  constructor(request: Request, readKept: () => unknown = () => undefined) {
    this.#request = request
    this.#readKept = readKept
  }

  get method(): string {
    return this.#request.method
  }

  get url(): string {
    return this.#request.url
  }

  get ip(): string | null {
    return readRequestIp(this.#request)
  }

  get certificate(): Uint8Array | null | undefined {
    // srvx, which h3 and Elysia run on in Node, keeps the Node request at its own.
    const { runtime } = this.#request as {
      readonly runtime?: { readonly node?: { readonly req?: NodeRequest } }
    }
    const source = (readNodeRequest(this.#request) as NodeRequest | undefined) ?? runtime?.node?.req
    return source && readCertificate(source)
  }

  header(name: string): string | null {
    return this.#request.headers.get(name)
  }

  async body(): Promise<unknown> {
    const kept = this.#readKept()
    if (kept === undefined) return (this.#body ??= readBody(this.#request))
    return typeof kept === 'string' ? parseBody(this.header('content-type'), kept) : kept
  }
}

async function readBody(request: Request): Promise<unknown> {
  const contentType = request.headers.get('content-type')
  // A body that is being read, or was read, cannot be cloned. If the body breaks off, the application gets that error when
  // it reads the body.
  const bytes = await readLimited(request).catch(() => null)
  if (bytes === null) return undefined
  return isMultipart(contentType) ? readMultipart(contentType, bytes) : parseBody(contentType, bytes)
}

// Touch only the body of the copy. Requests of srvx (h3, @elysiajs/node) cannot be cloned after their limited body was
// accessed, and `bodyUsed` throws for a consumed one.
async function readLimited(request: Request): Promise<Uint8Array | null> {
  const stream: ReadableStream<Uint8Array> | null = request.clone().body
  return stream === null ? null : readBytes(stream)
}

async function readMultipart(contentType: string | null, bytes: Uint8Array): Promise<unknown> {
  const copy = new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType ?? '' } })
  try {
    return toFields(await copy.formData())
  } catch {
    return undefined
  }
}
