// Far more than a token needs, and what one request may make this process hold while it looks for one.
const MAX_BODY_BYTES = 1024 * 1024

/** Whether a `Content-Length` says that the body is small enough to look for a token in. */
export function isSmallEnough(contentLength: string | null): boolean {
  return contentLength !== null && Number(contentLength) <= MAX_BODY_BYTES
}

/** Whether a content type is JSON, with or without parameters: `application/json` or `…+json` (RFC 6839). */
export function isJson(contentType: string | null): boolean {
  const mediaType = toMediaType(contentType)
  return mediaType === 'application/json' || mediaType.endsWith('+json')
}

/** Whether a content type is one of the two that HTML forms send. */
export function isForm(contentType: string | null): boolean {
  return isUrlEncoded(contentType) || isMultipart(contentType)
}

/** Whether a content type is `application/x-www-form-urlencoded`. */
export function isUrlEncoded(contentType: string | null): boolean {
  return toMediaType(contentType) === 'application/x-www-form-urlencoded'
}

/** Whether a content type is `multipart/form-data`. */
export function isMultipart(contentType: string | null): boolean {
  return toMediaType(contentType) === 'multipart/form-data'
}

/** A JSON or URL-encoded body as a value; `undefined` for another media type or a body that does not parse. */
export function parseBody(contentType: string | null, body: string | Uint8Array): unknown {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  if (isUrlEncoded(contentType)) return toFields(new URLSearchParams(text))
  if (!isJson(contentType)) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Form fields by name; a field sent more than once becomes a list. */
export function toFields(entries: Iterable<[string, unknown]>): Record<string, unknown> {
  const fields = Object.create(null) as Record<string, unknown>
  for (const [name, value] of entries) {
    fields[name] = name in fields ? [fields[name], value].flat() : value
  }
  return fields
}

/** Gathers the chunks of a body; `add` is false once there are more bytes than a body with a token can have. */
export function createChunks(): { add(chunk: Uint8Array): boolean; concat(): Buffer } {
  const chunks: Uint8Array[] = []
  let size = 0
  return {
    add(chunk) {
      size += chunk.byteLength
      chunks.push(chunk)
      return size <= MAX_BODY_BYTES
    },
    concat: () => Buffer.concat(chunks),
  }
}

function toMediaType(contentType: string | null): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}
