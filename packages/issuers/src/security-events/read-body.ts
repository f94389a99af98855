import { hasNestedDuplicates, readBodyText, readJsonObject } from 'tokenlib/kit'
import { RefusedEvent } from './receiver.js'

// Far more than a signed event needs. Access tokens come in headers and are shorter: their limit is another.
const MAX_BODY_BYTES = 64 * 1024

/** What is expected of every JWT that a receiver accepts, besides what its own specification says. */
export const JWT_LIMITS: { readonly maxLength: number; readonly leeway: number } = {
  maxLength: MAX_BODY_BYTES,
  // A sender whose clock is a little ahead gets a 400 otherwise, and does not repeat the logout.
  leeway: 60,
}

/** The body of a request as text, or `RefusedEvent` for another media type, for one too large, and for invalid UTF-8. */
export async function parseText(request: Request, mediaType: string): Promise<string> {
  const [given = ''] = (request.headers.get('content-type') ?? '').split(';', 1)
  if (given.trim().toLowerCase() !== mediaType) throw invalid(`The body must be of the type ${mediaType}`)
  const body = await readBodyText(request, MAX_BODY_BYTES)
  if ('text' in body) return body.text
  throw body.refusal === 'too large' ? tooLarge() : invalid('The body is not valid UTF-8')
}

/** The one value of a field of a URL-encoded form, or `RefusedEvent`. Other fields are ignored. */
export async function parseFormField(request: Request, name: string): Promise<string> {
  const text = await parseText(request, 'application/x-www-form-urlencoded')
  const [value = '', ...others] = new URLSearchParams(text).getAll(name)
  if (others.length > 0) throw invalid(`${name} occurs more than once`)
  if (value === '') throw invalid(`${name} is missing`)
  return value
}

/** The JSON object of a body, or `RefusedEvent`, also for a member that occurs twice. */
export async function parseJsonBody(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const text = await parseText(request, 'application/json')
  const value = readJsonObject(text)
  if (value === null) throw invalid('The body must be a JSON object')
  // Another parser on the way may have kept the first of the two.
  if (hasNestedDuplicates(text)) throw invalid('The body has a member twice')
  return value
}

function invalid(message: string): RefusedEvent {
  return new RefusedEvent(400, 'invalid_request', message)
}

function tooLarge(): RefusedEvent {
  return new RefusedEvent(413, 'invalid_request', `The body is larger than ${MAX_BODY_BYTES} bytes`)
}
