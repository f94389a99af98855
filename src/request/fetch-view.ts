import { isMultipart, parseBody, readChunks, toFields } from './body.js'
import type { RequestView } from './view.js'

/** The view of a Fetch `Request`; the body is read from a clone, once. */
export function createFetchView(request: Request): RequestView {
  let body: Promise<unknown> | undefined
  return {
    get method() {
      return request.method
    },
    get url() {
      return request.url
    },
    header: (name) => request.headers.get(name),
    body: () => (body ??= readBody(request)),
  }
}

async function readBody(request: Request): Promise<unknown> {
  // A body that was read already cannot be read again; whoever read it has it.
  if (request.body === null || request.bodyUsed) return undefined
  const contentType = request.headers.get('content-type')
  const bytes = await readChunks(request.clone().body as AsyncIterable<Uint8Array>)
  if (bytes === null) return undefined
  return isMultipart(contentType) ? readMultipart(contentType, bytes) : parseBody(contentType, bytes)
}

async function readMultipart(contentType: string | null, bytes: Uint8Array): Promise<unknown> {
  const copy = new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType ?? '' } })
  try {
    return toFields(await copy.formData())
  } catch {
    return undefined
  }
}
