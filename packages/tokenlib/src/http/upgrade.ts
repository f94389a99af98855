import type { TokenType } from '../tokens/payload.js'
import { CsrfError } from '../errors.js'
import { readBearer, readCookie, trimBlanks } from './credentials.js'
import {
  readCookieHeader,
  readHeader,
  readHeaderToken,
  type ReadingRules,
  readQueryToken,
  RequestToken,
} from './read-token.js'
import type { RequestView } from './view.js'

// The subprotocol under which a client sends its token: `new WebSocket(url, ['bearer', token])`.
const BEARER_PROTOCOL = 'bearer'

/** A token found in a WebSocket handshake, and the subprotocol that the server must then agree to. */
export interface UpgradeToken {
  readonly token: RequestToken
  readonly protocol: string | null
}

/**
 * The token of a WebSocket handshake, or `null`: in the query, the header, a subprotocol, or a cookie.
 *
 * Browsers cannot set headers here, hence the first and the third. They do send cookies, for any page that opens a
 * socket, and no CSRF value: so a cookie counts only when the request comes from one of `origins`.
 */
export function readUpgradeToken(
  view: RequestView,
  type: TokenType,
  origins: readonly string[],
  rules: ReadingRules,
): UpgradeToken | null {
  const plain = readQueryToken(view, type, rules) ?? readHeaderToken(view, type, rules)
  if (plain !== null) return { token: plain, protocol: null }
  const offered = readProtocolToken(view, rules)
  if (offered !== null) {
    return { token: new RequestToken(rules.toCanonical(offered), type, 'headers'), protocol: BEARER_PROTOCOL }
  }
  const cookie =
    origins.length === 0 ? null : readCookie(readCookieHeader(view, rules), rules.cookieName[type])
  if (cookie === null) return null
  if (!origins.includes(view.header('origin') ?? '')) {
    throw new CsrfError('The handshake comes from another origin')
  }
  return { token: new RequestToken(rules.toCanonical(cookie), type, 'cookies'), protocol: null }
}

// RFC 6455 §11.3.4: the offered subprotocols are one list; the token is the one after "bearer".
function readProtocolToken(view: RequestView, rules: ReadingRules): string | null {
  const offered = (readHeader(view, 'sec-websocket-protocol', rules) ?? '').split(',').map(trimBlanks)
  const at = offered.findIndex((name) => name.toLowerCase() === BEARER_PROTOCOL)
  return at === -1 ? null : readBearer(`${BEARER_PROTOCOL} ${offered[at + 1] ?? ''}`, BEARER_PROTOCOL)
}
