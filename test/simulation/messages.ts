// Requests and responses of the world, so that no history depends on how many turns a version of Node takes to read a body.

interface MessageInit {
  readonly method?: string
  readonly headers?: Headers | Record<string, string> | [string, string][]
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly redirect?: string
  readonly status?: number
  readonly statusText?: string
}

/** What requests and responses have in common: headers, and a body that is a text. */
class Message {
  readonly headers: Headers
  readonly content: string | null

  constructor(body: unknown, headers: MessageInit['headers']) {
    this.headers = new Headers(headers)
    this.content = toText(body)
  }

  get body(): ReadableStream<Uint8Array> | null {
    const text = this.content
    if (text === null) return null
    return new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text))
        controller.close()
      },
    })
  }

  async text(): Promise<string> {
    return this.content ?? ''
  }

  async json(): Promise<unknown> {
    return JSON.parse(this.content ?? '')
  }
}

function toText(body: unknown): string | null {
  if (body === null || body === undefined) return null
  if (body instanceof Uint8Array) return new TextDecoder().decode(body)
  if (typeof body === 'string') return body
  throw new TypeError('The body of a message is a text here')
}

/** A request of the world. */
export class WorldRequest extends Message {
  readonly url: string
  readonly method: string
  readonly signal: AbortSignal
  readonly redirect: string
  readonly keepalive = false
  readonly referrer = ''
  readonly referrerPolicy = ''

  constructor(input: string | URL | WorldRequest, init: MessageInit = {}) {
    const from = input instanceof WorldRequest ? input : null
    super(init.body ?? from?.content, init.headers ?? from?.headers)
    this.url = new URL(input instanceof WorldRequest ? input.url : input).href
    this.method = (init.method ?? from?.method ?? 'GET').toUpperCase()
    this.signal = init.signal ?? from?.signal ?? new AbortController().signal
    this.redirect = init.redirect ?? from?.redirect ?? 'follow'
  }

  clone(): WorldRequest {
    return new WorldRequest(this)
  }
}

/** A response of the world. */
export class WorldResponse extends Message {
  readonly status: number
  readonly statusText: string

  static json(value: unknown, init: MessageInit = {}): WorldResponse {
    const headers = new Headers(init.headers)
    if (!headers.has('content-type')) headers.set('content-type', 'application/json')
    return new WorldResponse(JSON.stringify(value), { ...init, headers })
  }

  constructor(body: unknown = null, { status = 200, statusText = '', headers }: MessageInit = {}) {
    super(body, headers)
    this.status = status
    this.statusText = statusText
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300
  }

  clone(): WorldResponse {
    return new WorldResponse(this.content, {
      status: this.status,
      statusText: this.statusText,
      headers: this.headers,
    })
  }
}
