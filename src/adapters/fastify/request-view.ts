import type { FastifyRequest } from 'fastify'
import { isJson, isUrlEncoded } from '../../request/body.js'
import { createNodeView } from '../../request/node-view.js'
import { rememberView } from '../../request/request-source.js'
import type { RequestView } from '../../request/view.js'

/** What is the same in every Fastify request, whatever its server, route, type provider and logger are. */
export interface AnyRequest {
  readonly raw: Pick<FastifyRequest['raw'], 'method' | 'url' | 'headers' | 'rawHeaders' | 'readableDidRead'>
  readonly body: unknown
}

/** The view of a request; a dependency called with `request` or `request.raw` finds the same one. */
export function toView(request: AnyRequest): RequestView {
  const view = rememberView(request.raw, () => createFastifyView(request))
  rememberView(request, () => view)
  return view
}

// Without the stream: Fastify reads it, and would wait for ever for one that was read before.
function createFastifyView(request: AnyRequest): RequestView {
  const { method, url, headers, rawHeaders } = request.raw
  return createNodeView({
    method,
    url,
    headers,
    rawHeaders,
    get body() {
      if (isParsedLater(request)) {
        throw new TypeError('The body is not parsed yet: a token in it needs a preValidation hook')
      }
      return request.body
    },
  })
}

// Silence would overlook the token that is there, and let the request pass where a token is optional.
function isParsedLater({ raw, body }: AnyRequest): boolean {
  if (body !== undefined || raw.readableDidRead || !/^(?:POST|PUT|PATCH|DELETE)$/.test(raw.method ?? '')) {
    return false
  }
  const { 'content-type': contentType = null, 'content-length': contentLength } = raw.headers
  const hasBody = Number(contentLength) > 0 || raw.headers['transfer-encoding'] !== undefined
  return hasBody && (isJson(contentType) || isUrlEncoded(contentType))
}
