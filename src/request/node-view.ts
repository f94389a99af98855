import type { Readable } from 'node:stream'
import { createChunks, isJson, isSmallBody, isUrlEncoded, parseBody } from './body.js'
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
      return request.method ?? ''
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

function readHeader({ headers, rawHeaders = [] }: NodeRequest, name: string): string | null {
  const values = namedValues(headers, name)
  if (values.length === 0) return null
  if (name === 'cookie') return values.join('; ')
  // Of several Authorization headers Node keeps only the first; the raw ones show that there were more.
  const raw = rawValues(rawHeaders, name)
  return (raw.length > values.length ? raw : values).join(', ')
}

// A Node server lowers every name itself; a plain object may spell them in any case, and one of them twice.
function namedValues(headers: NodeRequest['headers'], name: string): string[] {
  const keys = Object.keys(headers).filter((key) => key.length === name.length && key.toLowerCase() === name)
  return keys.flatMap((key) => headers[key] ?? [])
}

function rawValues(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const key = rawHeaders[at] as string
    if (key.length === name.length && key.toLowerCase() === name) values.push(rawHeaders[at + 1] as string)
  }
  return values
}

async function readStream(request: NodeRequest & Readable): Promise<unknown> {
  const bytes = await peek(request, Number(readHeader(request, 'content-length')))
  return bytes === null ? undefined : parseBody(readHeader(request, 'content-type'), bytes)
}

// Takes the whole body and puts it back before the stream notices its end: whoever reads next finds it untouched.
// Only a length announced beforehand makes that possible; a body without one is left alone.
function peek(stream: Readable, length: number): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const chunks = createChunks()
    const finish = (bytes: Buffer | null): void => {
      stream.off('readable', read).off('end', giveUp).off('close', giveUp).off('error', giveUp)
      if (bytes !== null) stream.unshift(bytes)
      resolve(bytes)
    }
    const giveUp = (): void => finish(null)
    const read = (): void => {
      for (
        let chunk = stream.read() as Buffer | null;
        chunk !== null;
        chunk = stream.read() as Buffer | null
      ) {
        chunks.add(chunk)
        if (chunks.size() >= length) return finish(chunks.concat())
      }
    }
    stream.on('readable', read).on('end', giveUp).on('close', giveUp).on('error', giveUp)
  })
}

function isReadable(request: NodeRequest): request is NodeRequest & Readable {
  const stream = request as Partial<Readable>
  if (typeof stream[Symbol.asyncIterator] !== 'function' || stream.readableDidRead !== false) return false
  const contentType = readHeader(request, 'content-type')
  const isParsed = isJson(contentType) || isUrlEncoded(contentType)
  return isParsed && isSmallBody(readHeader(request, 'content-length'))
}
