import { createChunks, isMultipart, parseBody, toFields } from './body.js'
import { readRequestIp, type RequestView } from './view.js'

/** The view of a Fetch `Request`; the body is read from a clone, once. */
export class FetchView implements RequestView {
  readonly #request: Request
  #body: Promise<unknown> | undefined

  constructor(request: Request) {
    this.#request = request
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

  header(name: string): string | null {
    return this.#request.headers.get(name)
  }

  body(): Promise<unknown> {
    return (this.#body ??= readBody(this.#request))
  }
}

async function readBody(request: Request): Promise<unknown> {
  const contentType = request.headers.get('content-type')
  // A body that someone else reads, or has read, cannot be cloned. One that breaks off has no token in it; whoever
  // reads it next will hear of it.
  const bytes = await readLimited(request).catch(() => null)
  if (bytes === null) return undefined
  return isMultipart(contentType) ? readMultipart(contentType, bytes) : parseBody(contentType, bytes)
}

// Only the copy is asked for its body: requests of srvx (h3, @elysiajs/node) cannot be cloned once a limited body was
// looked at, and throw when asked if a spent one was used.
async function readLimited(request: Request): Promise<Uint8Array | null> {
  const stream: ReadableStream<Uint8Array> | null = request.clone().body
  if (stream === null) return null
  const reader = stream.getReader()
  const chunks = createChunks()
  // Not a for...of loop: leaving one waits until the clone is cancelled, which waits for the original to be read.
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return chunks.concat()
    if (!chunks.add(value)) {
      reader.cancel().catch(() => {})
      return null
    }
  }
}

async function readMultipart(contentType: string | null, bytes: Uint8Array): Promise<unknown> {
  const copy = new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType ?? '' } })
  try {
    return toFields(await copy.formData())
  } catch {
    return undefined
  }
}
