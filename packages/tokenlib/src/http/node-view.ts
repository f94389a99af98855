import type { Readable } from 'node:stream'
import { TokenDecodeError } from '../errors.js'
import { createChunks, isJson, isSmallBody, isUrlEncoded, parseBody } from './body.js'
import { readRequestIp, rememberView, type RequestReader, type RequestView } from './view.js'

/** A Node `IncomingMessage`, a framework's extension of it, or a plain object of the same shape. */
export interface NodeRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** The whole URL, where a router has taken its own path off `url`. */
  readonly originalUrl?: string | undefined
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  /** Names and values as received; only they show that a header came twice. */
  readonly rawHeaders?: readonly string[]
  /** What a body parser left here, or the body itself. */
  body?: unknown
  /** What the framework has found out about the client's address. */
  readonly ip?: string | undefined
  readonly socket?: NodeSocket | null
}

/** What is read of a Node socket; a TLS socket has the certificate of its client. */
interface NodeSocket {
  readonly remoteAddress?: string | undefined
  getPeerCertificate?(): { readonly raw?: Uint8Array } | null
}

/** The view of a Node request or of a plain object. `found` is where the framework keeps the address and the parsed body. */
export class NodeView implements RequestView {
  readonly #request: NodeRequest
  readonly #found: Pick<NodeRequest, 'body' | 'ip'>
  #streamed: Promise<unknown> | undefined

  constructor(request: NodeRequest, found: Pick<NodeRequest, 'body' | 'ip'> = request) {
    this.#request = request
    this.#found = found
  }

  get method(): string {
    return this.#request.method ?? ''
  }

  get url(): string {
    const { url = '/', originalUrl = url } = this.#request
    return originalUrl
  }

  get ip(): string | null {
    return readRequestIp(this.#found) ?? this.#request.socket?.remoteAddress ?? null
  }

  get certificate(): Uint8Array | null | undefined {
    return readCertificate(this.#request)
  }

  header(name: string): string | null {
    return readHeader(this.#request, name)
  }

  async body(): Promise<unknown> {
    if (this.#streamed !== undefined) return this.#streamed
    const body = this.#found.body ?? this.#request.body
    if (body === undefined && isReadable(this.#request)) return (this.#streamed = readStream(this.#request))
    return this.parsed(body)
  }

  /** What a parser has left as the body; a text or bytes are parsed here. */
  protected parsed(body: unknown): unknown {
    const isText = typeof body === 'string' || body instanceof Uint8Array
    return isText ? parseBody(this.header('content-type'), body) : body
  }
}

/** The client certificate of a Node request's connection; `null` for none, and `undefined` for a request without a socket. */
export function readCertificate({ socket }: Pick<NodeRequest, 'socket'>): Uint8Array | null | undefined {
  return socket ? (socket.getPeerCertificate?.()?.raw ?? null) : undefined
}

/**
 * A header that a Node request carries exactly once, or `null`; `name` is in lower case, as Node writes names.
 *
 * Of several `Authorization` headers Node keeps only the first, so the names as received are counted too.
 */
export function readSingleHeader({ headers, rawHeaders }: NodeRequest, name: string): string | null {
  const value = headers[name]
  if (typeof value !== 'string' || rawHeaders === undefined || !Object.hasOwn(headers, name)) return null
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (isNamed(rawHeaders[at] as string, name)) count++
  }
  return count === 1 ? value : null
}

function readHeader(request: NodeRequest, name: string): string | null {
  const single = readSingleHeader(request, name)
  if (single !== null) return single
  const { headers, rawHeaders = [] } = request
  const key = name.toLowerCase()
  // A Node server lowers every name itself; a plain object may spell them in any case, and one of them twice.
  const values = Object.keys(headers).flatMap((each) => (isNamed(each, key) ? (headers[each] ?? []) : []))
  if (values.length === 0) return null
  if (key === 'cookie') return joinValues(values, '; ')
  // Of several Authorization headers Node keeps only the first; the raw ones show that there were more.
  const raw = rawHeaders.filter((_, at) => at % 2 === 1 && isNamed(rawHeaders[at - 1] as string, key))
  return joinValues(raw.length > values.length ? raw : values, ', ')
}

// No limit of a token's is as high; above this one, not even a copy is made.
const MAX_JOINED_LENGTH = 1_048_576

function joinValues(values: readonly string[], separator: string): string {
  const length = values.reduce((sum, value) => sum + value.length, 0)
  if (length > MAX_JOINED_LENGTH) {
    throw new TokenDecodeError(`The header is longer than ${MAX_JOINED_LENGTH} characters`)
  }
  return values.join(separator)
}

// The length first: lowering every name of every request would take longer than all the rest.
function isNamed(key: string, name: string): boolean {
  return key.length === name.length && key.toLowerCase() === name
}

async function readStream(request: NodeRequest & IncomingStream): Promise<unknown> {
  const bytes = await peek(request)
  return bytes === null ? undefined : parseBody(readHeader(request, 'content-type'), bytes)
}

// Reads the whole body and puts it back before the stream ends, so that the next reader can read it again.
// A body that turns out to be too large is put back as well.
function peek(stream: IncomingStream): Promise<Uint8Array | null> {
  return new Promise((resolve) => {
    const chunks = createChunks()
    const finish = (bytes: Uint8Array | null): void => {
      stream.off('readable', read).off('end', giveUp).off('close', giveUp).off('error', giveUp)
      resolve(bytes)
    }
    const giveUp = (): void => finish(null)
    const read = (): void => {
      let isSmall = true
      let chunk: Uint8Array | null
      while ((chunk = stream.read() as Uint8Array | null) !== null) isSmall = chunks.add(chunk)
      if (isSmall && !stream.complete) return
      const bytes = chunks.concat()
      if (bytes.length > 0) stream.unshift(bytes)
      finish(isSmall ? bytes : null)
    }
    stream.on('readable', read).on('end', giveUp).on('close', giveUp).on('error', giveUp)
  })
}

/** Node's `IncomingMessage`: `complete` once the last byte has been received. */
interface IncomingStream extends Readable {
  readonly complete: boolean
}

function isReadable(request: NodeRequest): request is NodeRequest & IncomingStream {
  const stream = request as Partial<IncomingStream>
  if (typeof stream.complete !== 'boolean' || stream.readableDidRead !== false) return false
  return (
    hasReadableType(request) && (isChunked(request) || isSmallBody(readHeader(request, 'content-length')))
  )
}

function hasReadableType(request: NodeRequest): boolean {
  const contentType = readHeader(request, 'content-type')
  return isJson(contentType) || isUrlEncoded(contentType)
}

function isChunked(request: NodeRequest): boolean {
  return readHeader(request, 'transfer-encoding') !== null
}

/** A request that has Node's own in `raw` and reads the body itself, as Fastify's does. */
export interface WrappedRequest {
  readonly raw: Omit<NodeRequest, 'body'> & { readonly readableDidRead: boolean }
  readonly body: unknown
  readonly ip?: string | undefined
}

/** Reads wrapped requests; a dependency called with `request` or `request.raw` finds the same view. */
export const wrappedRequestReader: RequestReader<WrappedRequest> = {
  readHeader: ({ raw }, name) => readSingleHeader(raw, name),
  readMethod: ({ raw }) => raw.method,
  toView: (request) => rememberView(request, () => rememberView(request.raw, () => new WrappedView(request))),
}

// Without the stream: the framework reads it, and would wait for ever for one that was read before.
class WrappedView extends NodeView {
  readonly #request: WrappedRequest

  constructor(request: WrappedRequest) {
    super(request.raw)
    this.#request = request
  }

  override get ip(): string | null {
    return readRequestIp(this.#request) ?? super.ip
  }

  override async body(): Promise<unknown> {
    if (isParsedLater(this.#request)) {
      throw new TypeError('The body is not parsed yet: a token in it needs a preValidation hook')
    }
    return this.parsed(this.#request.body)
  }
}

// Silence would overlook the token that is there, and let the request pass where a token is optional.
function isParsedLater({ raw, body }: WrappedRequest): boolean {
  if (body !== undefined || raw.readableDidRead || !/^(?:POST|PUT|PATCH|DELETE)$/.test(raw.method ?? '')) {
    return false
  }
  const hasBody = Number(readHeader(raw, 'content-length')) > 0 || isChunked(raw)
  return hasBody && hasReadableType(raw)
}
