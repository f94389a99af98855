import type { IncomingMessage } from 'node:http'
import { isJson, isUrlEncoded } from './body.js'
import { NodeView } from './node-view.js'
import { rememberView } from './request-source.js'
import type { RequestView } from './view.js'

/** A request that has Node's own in `raw` and reads the body itself, as Fastify's does. */
export interface WrappedRequest {
  readonly raw: Pick<
    IncomingMessage,
    'method' | 'url' | 'headers' | 'rawHeaders' | 'readableDidRead' | 'socket'
  >
  readonly body: unknown
}

/** The view of a request; a dependency called with `request` or `request.raw` finds the same one. */
export function toWrappedView(request: WrappedRequest): RequestView {
  return rememberView(request, rememberRaw)
}

function rememberRaw(request: WrappedRequest): RequestView {
  return rememberView(request.raw, () => new WrappedView(request))
}

// Without the stream: the framework reads it, and would wait for ever for one that was read before.
class WrappedView extends NodeView {
  readonly #request: WrappedRequest

  constructor(request: WrappedRequest) {
    super(request.raw)
    this.#request = request
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
  const { 'content-type': contentType = null, 'content-length': contentLength } = raw.headers
  const hasBody = Number(contentLength) > 0 || raw.headers['transfer-encoding'] !== undefined
  return hasBody && (isJson(contentType) || isUrlEncoded(contentType))
}
