import { hasDuplicateMembers, isJsonObject, isWithinJsonLimits } from '../../json.js'
import type { TokenConfig } from '../../config/config.js'
import { readBodyText } from '../shared/body-text.js'
import type { Credentials } from './options.js'
import { RefusedRequest } from './refused-request.js'

/** How a client gets its tokens: in cookies, or in the body of the answer. */
export type Transport = 'cookies' | 'bearer'

/** The body of a log-in, taken apart. */
export interface LoginBody {
  readonly credentials: Credentials
  /** Whether the cookies outlive the browser; `undefined` for what the configuration says. */
  readonly remember: boolean | undefined
  readonly transport: Transport | undefined
}

// Passwords, one-time codes and passkeys need a few kilobytes, tokens of other providers a few more.
const MAX_BODY_BYTES = 64 * 1024

/**
 * The credentials in the JSON body of a request, or `RefusedRequest`. The request can still be read afterwards.
 *
 * No form of another site can send this media type, and no script of one without the permission of a CORS pre-flight.
 */
export async function parseLoginBody(request: Request, config: TokenConfig): Promise<LoginBody> {
  const [mediaType = ''] = (request.headers.get('content-type') ?? '').split(';', 1)
  if (mediaType.trim().toLowerCase() !== 'application/json') {
    throw new RefusedRequest(415, 'MEDIA_TYPE_UNSUPPORTED', 'The body must be of the type application/json')
  }
  const { remember, transport, ...members } = parseObject(await parseText(request))
  if (remember !== undefined && typeof remember !== 'boolean')
    throw malformed('remember must be true or false')
  if (transport !== undefined && transport !== 'cookies' && transport !== 'bearer') {
    throw malformed('transport must be "cookies" or "bearer"')
  }
  return { remember, transport, credentials: withoutTokens(members, config) }
}

function parseObject(text: string): Record<string, unknown> {
  if (!isWithinJsonLimits(text)) throw malformed('The body is nested too deeply or has too many members')
  let value: unknown
  try {
    value = JSON.parse(text, refusePrototype)
  } catch (error) {
    throw error instanceof RefusedRequest ? error : malformed('The body is not valid JSON')
  }
  if (!isJsonObject(value)) throw malformed('The body must be a JSON object')
  // Another parser on the way may have kept the first of the two.
  if (hasDuplicateMembers(text)) throw malformed('The body has a member twice')
  return value
}

// `Object.assign({}, credentials)` would set the prototype.
function refusePrototype(name: string, value: unknown): unknown {
  if (name === '__proto__') throw malformed('The body has a member "__proto__"')
  return value
}

// A refresh token that came in the body is no credential of the user.
function withoutTokens(members: Record<string, unknown>, config: TokenConfig): Credentials {
  const names = new Set<string>()
  if (config.hasLocation('json', 'access')) names.add(config.JWT_JSON_KEY)
  if (config.hasLocation('json', 'refresh')) names.add(config.JWT_REFRESH_JSON_KEY)
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.has(name)))
}

// From a copy: tokens may be in the body as well, and the application gets the request.
async function parseText(request: Request): Promise<string> {
  const body = await readBodyText(request, MAX_BODY_BYTES)
  if ('text' in body) return body.text
  throw body.refusal === 'too large' ? tooLarge() : malformed('The body is not valid UTF-8')
}

function tooLarge(): RefusedRequest {
  return new RefusedRequest(413, 'REQUEST_TOO_LARGE', `The body is larger than ${MAX_BODY_BYTES} bytes`)
}

function malformed(message: string): RefusedRequest {
  return new RefusedRequest(400, 'REQUEST_INVALID', message)
}
