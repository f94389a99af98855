// Far more than a token needs. Limits the memory that one request can occupy.
const MAX_BODY_BYTES = 1024 * 1024

/** Whether a `Content-Length` says that there is a body, small enough to look for a token in. */
export function isSmallBody(contentLength: string | null): boolean {
  const length = Number(contentLength)
  return length > 0 && length <= MAX_BODY_BYTES
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
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown
  } catch {
    return undefined
  }
}

/** Form fields by name; a field sent more than once becomes a list. */
export function toFields(entries: Iterable<[string, unknown]>): Record<string, unknown> {
  const fields = Object.create(null) as Record<string, unknown>
  for (const [name, value] of entries) {
    const known = fields[name]
    // Pushed, not copied: a body may repeat one field a few hundred thousand times.
    if (Array.isArray(known)) known.push(value)
    else fields[name] = known === undefined ? value : [known, value]
  }
  return fields
}

/** Gathers the chunks of a body; `add` is false once there are more bytes than `maxBytes`. */
export function createChunks(maxBytes: number = MAX_BODY_BYTES): {
  add(chunk: Uint8Array): boolean
  concat(): Uint8Array
} {
  const chunks: Uint8Array[] = []
  let size = 0
  return {
    add(chunk) {
      size += chunk.byteLength
      chunks.push(chunk)
      return size <= maxBytes
    },
    concat: () => Buffer.concat(chunks),
  }
}

/** The bytes of a stream, or `null` if there are more than `maxBytes`. They are counted as they arrive. */
export async function readBytes(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number = MAX_BODY_BYTES,
): Promise<Uint8Array | null> {
  const reader = stream.getReader()
  const chunks = createChunks(maxBytes)
  // Not a for...of loop: leaving one waits until a clone is cancelled, which waits for the original to be read.
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return chunks.concat()
    if (!chunks.add(value)) {
      reader.cancel().catch(() => {})
      return null
    }
  }
}

/** The media type of a content type, in lower case and without parameters; empty if missing. */
export function toMediaType(contentType: string | null): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}
