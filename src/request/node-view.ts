import type { Readable } from 'node:stream'
import { createChunks, isJson, isSmallEnough, isUrlEncoded, parseBody } from './body.js'
import type { RequestView } from './view.js'

/** A Node `IncomingMessage`, a framework's extension of it, or a plain object of the same shape. */
export interface NodeRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  /** Names and values as received; only they show that a header came twice. */
  readonly rawHeaders?: readonly string[]
  /** What a body parser left here, or the body itself. */
  body?: unknown
}

/** The view of a Node request or of a plain object. */
export function createNodeView(request: NodeRequest): RequestView {
  let streamed: Promise<unknown> | undefined
  return {
    get method() {
      return request.method ?? 'GET'
    },
    get url() {
      return request.url ?? '/'
    },
    header: (name) => readHeader(request, name.toLowerCase()),
    async body() {
      if (streamed !== undefined) return streamed
      const { body } = request
      if (body === undefined && isReadable(request)) return (streamed = readStream(request))
      const isText = typeof body === 'string' || body instanceof Uint8Array
      return isText ? parseBody(readHeader(request, 'content-type'), body) : body
    },
  }
}

function readHeader({ headers, rawHeaders }: NodeRequest, name: string): string | null {
  const value = headers[name] ?? findIgnoringCase(headers, name)
  if (value === undefined) return null
  if (typeof value !== 'string') return value.join(name === 'cookie' ? '; ' : ', ')
  // Node keeps only the first of several Authorization headers; the raw ones show that there were more.
  const raw = name === 'cookie' || rawHeaders === undefined ? [] : rawValues(rawHeaders, name)
  return raw.length > 1 ? raw.join(', ') : value
}

// A Node server lowers every name itself; a plain object may spell them in any case.
function findIgnoringCase(
  headers: NodeRequest['headers'],
  name: string,
): string | readonly string[] | undefined {
  const key = Object.keys(headers).find((candidate) => candidate.toLowerCase() === name)
  return key === undefined ? undefined : headers[key]
}

function rawValues(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const key = rawHeaders[at] as string
    if (key.length === name.length && key.toLowerCase() === name) values.push(rawHeaders[at + 1] as string)
  }
  return values
}

// Reading spends the stream. So what was read goes where every body parser puts it, and a body that we could not
// parse, or whose size is not known to be small, is left alone: to stop half-way would lose it for the route.
async function readStream(request: NodeRequest & Readable): Promise<unknown> {
  const chunks = createChunks()
  for await (const chunk of request) chunks.add(Buffer.from(chunk as Uint8Array))
  const bytes = chunks.concat()
  const parsed = parseBody(readHeader(request, 'content-type'), bytes)
  request.body = parsed ?? bytes
  return parsed
}

function isReadable(request: NodeRequest): request is NodeRequest & Readable {
  const stream = request as Partial<Readable>
  if (typeof stream[Symbol.asyncIterator] !== 'function' || stream.readableDidRead !== false) return false
  const contentType = readHeader(request, 'content-type')
  const isParsed = isJson(contentType) || isUrlEncoded(contentType)
  return isParsed && isSmallEnough(readHeader(request, 'content-length'))
}
