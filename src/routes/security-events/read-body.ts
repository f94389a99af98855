import { hasDuplicateMembers, readJsonObject } from '../../json.js'
import { RefusedEvent } from './receiver.js'

// Far more than a signed event needs.
const MAX_BODY_BYTES = 64 * 1024

/** The body of a request as text, or `RefusedEvent` for another media type, for one too large, and for invalid UTF-8. */
export async function parseText(request: Request, mediaType: string): Promise<string> {
  const [given = ''] = (request.headers.get('content-type') ?? '').split(';', 1)
  if (given.trim().toLowerCase() !== mediaType) throw invalid(`The body must be of the type ${mediaType}`)
  if (Number(request.headers.get('content-length')) > MAX_BODY_BYTES) throw tooLarge()
  // From a copy: a function of the application may read the request too.
  const stream: ReadableStream<Uint8Array> | null = request.clone().body
  if (stream === null) return ''
  const reader = stream.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let text = ''
  let size = 0
  // Not a for...of loop: leaving one waits until the copy is cancelled, which waits for the original to be read.
  for (;;) {
    const { done, value } = await reader.read()
    size += value?.byteLength ?? 0
    if (size > MAX_BODY_BYTES) {
      reader.cancel().catch(() => {})
      throw tooLarge()
    }
    try {
      text += decoder.decode(value, { stream: !done })
    } catch {
      throw invalid('The body is not valid UTF-8')
    }
    if (done) return text
  }
}

/** The one value of a field of a URL-encoded form, or `RefusedEvent`. Other fields are ignored. */
export async function parseFormField(request: Request, name: string): Promise<string> {
  const text = await parseText(request, 'application/x-www-form-urlencoded')
  const [value = '', ...others] = new URLSearchParams(text).getAll(name)
  if (others.length > 0) throw invalid(`${name} occurs more than once`)
  if (value === '') throw invalid(`${name} is missing`)
  return value
}

/** The JSON object of a body, or `RefusedEvent`. */
export async function parseJsonBody(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const text = await parseText(request, 'application/json')
  const value = readJsonObject(text)
  if (value === null) throw invalid('The body must be a JSON object')
  // Another parser on the way may have kept the first of the two.
  if (hasDuplicateMembers(text)) throw invalid('The body has a member twice')
  return value
}

function invalid(message: string): RefusedEvent {
  return new RefusedEvent(400, 'invalid_request', message)
}

function tooLarge(): RefusedEvent {
  return new RefusedEvent(413, 'invalid_request', `The body is larger than ${MAX_BODY_BYTES} bytes`)
}
