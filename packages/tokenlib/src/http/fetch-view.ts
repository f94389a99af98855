import { isMultipart, parseBody, readBytes, toFields } from './body.js'
import { readRequestIp } from './request-ip.js'
import type { RequestView } from './view.js'

/**
 * The view of a Fetch `Request`; the body is read from a clone, once. `readKept` returns what a framework has kept of a body
 * that it read before: text is parsed, anything else is the body. `undefined` means that there is no such body.
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
