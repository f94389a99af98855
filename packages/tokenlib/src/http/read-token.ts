import type { TokenType } from '../tokens/payload.js'
import { isJsonObject, inspectAsJson } from '../encoding.js'
import { CsrfError, MissingTokenError, TokenDecodeError } from '../errors.js'
import { isJson } from './body.js'
import { DPOP_SCHEME, readBearer, readCookie, trimBlanks } from './credentials.js'
import { attach, readAttached, rememberView, type RequestView } from './view.js'

/** Where a token can be in a request. */
export type TokenLocation = 'headers' | 'cookies' | 'json' | 'query'

/** Every location, in the order the documentation lists them. */
export const TOKEN_LOCATIONS: readonly TokenLocation[] = ['headers', 'cookies', 'json', 'query']

/** A token as found in a request, not validated. Logged or serialised it hides `token` and `csrf`. */
export class RequestToken {
  /** The raw token; an ECDSA signature of another issuer has its lower s. */
  declare readonly token: string
  /** The type of token that was looked for; the token itself has not been opened. */
  declare readonly type: TokenType
  declare readonly location: TokenLocation
  /** The CSRF header of a cookie token, if the method needs one; a form is not read for it. */
  declare readonly csrf: string | null

  constructor(token: string, type: TokenType, location: TokenLocation, csrf: string | null = null) {
    this.token = token
    this.type = type
    this.location = location
    this.csrf = csrf
  }

  /** What a log or a response may show. */
  toJSON(): { token: string; type: TokenType; location: TokenLocation; csrf: string | null } {
    return { token: '[hidden]', type: this.type, location: this.location, csrf: this.csrf && '[hidden]' }
  }
}
inspectAsJson(RequestToken)

/** One value for access tokens and one for refresh tokens. */
export type PerType<Value> = Readonly<Record<TokenType, Value>>

/** The names under which tokens and CSRF values are found, and how long what they are found in may be. */
export interface ReadingRules {
  readonly locations: PerType<readonly TokenLocation[]>
  readonly headerName: string
  /** The same in lower case, as Node's own requests have it. */
  readonly headerKey: string
  /** The scheme before the token; empty when the header holds the token alone. */
  readonly headerType: string
  /** Whether the scheme `DPoP` is read too. */
  readonly acceptsDpop: boolean
  readonly cookieName: PerType<string>
  readonly jsonKey: PerType<string>
  readonly queryName: string
  /** How long a header or URL with a token in it may be, in characters. */
  readonly maxLength: number
  readonly csrf: CsrfRules
  /** The one spelling under which a token is known; see `createCanonicalizer`. */
  readonly toCanonical: (token: string) => string
}

/** When a cookie token needs a CSRF value, and where to find the value. */
export interface CsrfRules {
  readonly protect: boolean
  /** In upper case. */
  readonly methods: ReadonlySet<string>
  readonly headerName: string
  readonly fieldName: string
  readonly checkForm: boolean
  /** The origins that requests may come from; empty for any. */
  readonly origins: readonly string[]
}

/** One place to look in for a token of one type. */
export interface TokenPlace {
  readonly type: TokenType
  readonly location: TokenLocation
}

/** The places to look in: for each wanted type in turn, location by location in the configured order. */
export function toPlaces(
  types: readonly TokenType[],
  locations: PerType<readonly TokenLocation[]>,
): readonly TokenPlace[] {
  return types.flatMap((type) => locations[type].map((location) => ({ type, location })))
}

/** The first token found, or `null`. */
export async function readToken(
  view: RequestView,
  places: readonly TokenPlace[],
  rules: ReadingRules,
): Promise<RequestToken | null> {
  for (const { type, location } of places) {
    // Only a body has to be waited for.
    const found =
      location === 'json' ? await readJsonToken(view, type, rules) : READERS[location](view, type, rules)
    if (found !== null) return found
  }
  return null
}

type TokenReader = (view: RequestView, type: TokenType, rules: ReadingRules) => RequestToken | null

const READERS: Readonly<Record<Exclude<TokenLocation, 'json'>, TokenReader>> = {
  headers: readHeaderToken,
  cookies: readCookieToken,
  query: readQueryToken,
}

function readHeaderToken(view: RequestView, type: TokenType, rules: ReadingRules): RequestToken | null {
  const token = readCredential(readHeader(view, rules.headerKey, rules), rules)
  return token === null ? null : new RequestToken(rules.toCanonical(token), type, 'headers')
}

function readCredential(header: string | null, { headerType, acceptsDpop }: ReadingRules): string | null {
  const bound = acceptsDpop ? readBearer(header, DPOP_SCHEME) : null
  const token = bound !== null && headerType === '' ? null : readBearer(header, headerType)
  if (bound !== null && token !== null)
    throw new TokenDecodeError('The request carries more than one credential')
  return bound ?? token
}

function readCookieToken(view: RequestView, type: TokenType, rules: ReadingRules): RequestToken | null {
  const token = readCookie(readCookieHeader(view, rules), rules.cookieName[type])
  if (token === null) return null
  const csrf = needsCsrf(view, rules.csrf) ? view.header(rules.csrf.headerName.toLowerCase()) : null
  return new RequestToken(rules.toCanonical(token), type, 'cookies', csrf)
}

async function readJsonToken(
  view: RequestView,
  type: TokenType,
  rules: ReadingRules,
): Promise<RequestToken | null> {
  if (!isJson(readHeader(view, 'content-type', rules))) return null
  const body = await view.body()
  const key = rules.jsonKey[type]
  const token = isJsonObject(body) && Object.hasOwn(body, key) ? body[key] : null
  if (token === null || token === '') return null
  if (typeof token !== 'string') throw new TokenDecodeError(`"${key}" of the JSON body must be a string`)
  return new RequestToken(rules.toCanonical(token), type, 'json')
}

function readQueryToken(view: RequestView, type: TokenType, rules: ReadingRules): RequestToken | null {
  assertLength('URL', view.url, rules)
  const [url = ''] = view.url.split('#', 1)
  const start = url.indexOf('?')
  if (start === -1) return null
  const values = new URLSearchParams(url.slice(start + 1)).getAll(rules.queryName)
  if (values.length > 1) {
    throw new TokenDecodeError(`The query parameter "${rules.queryName}" occurs more than once`)
  }
  const [token] = values
  return token ? new RequestToken(rules.toCanonical(token), type, 'query') : null
}

/** A header, or `null`; one that is too long is rejected before parsing. */
export function readHeader(
  view: RequestView,
  name: string,
  rules: Pick<ReadingRules, 'maxLength'>,
): string | null {
  const value = view.header(name)
  if (value !== null) assertLength(`${name} header`, value, rules)
  return value
}

/** The `Cookie` header of a request, or that which has taken its place since the request came; `null` for none. */
export function readCookieHeader(
  view: RequestView,
  rules: Pick<ReadingRules, 'maxLength'> = { maxLength: Number.POSITIVE_INFINITY },
): string | null {
  const replaced = readAttached(view, replaceCookies) as string | undefined
  return replaced ?? readHeader(view, 'cookie', rules)
}

/** The `Cookie` header that has taken the place of the one a request came with, or `null`. */
export function readReplacedCookies(source: object): string | null {
  const view = readAttached(source, rememberView) as RequestView | undefined
  return ((view && readAttached(view, replaceCookies)) as string | undefined) ?? null
}

/** Replaces the cookies of a request for everything that reads its tokens from now on. */
export function replaceCookies(view: RequestView, cookieHeader: string): void {
  attach(view, replaceCookies, cookieHeader)
}

function assertLength(what: string, text: string, { maxLength }: Pick<ReadingRules, 'maxLength'>): void {
  if (text.length > maxLength)
    throw new TokenDecodeError(`The ${what} is longer than ${maxLength} characters`)
}

/** Whether a cookie token in this request needs a CSRF value. */
export function needsCsrf(view: RequestView, rules: CsrfRules): boolean {
  return rules.protect && (view.method === '' || rules.methods.has(view.method.toUpperCase()))
}

/** The error for a request without a token; it names every place that was looked at. */
export function missingToken(places: readonly TokenPlace[], rules: ReadingRules): MissingTokenError {
  const tried = places.map(({ type, location }) => {
    const names = {
      headers: `the ${rules.headerName} header`,
      cookies: `the cookie ${rules.cookieName[type]}`,
      json: `${rules.jsonKey[type]} of the JSON body`,
      query: `${rules.queryName} of the query string`,
    }
    return names[location]
  })
  return new MissingTokenError(
    tried.length === 0
      ? 'No token found: no location is read'
      : `No token found in the request (looked in ${[...new Set(tried)].join(', ')})`,
  )
}

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
  // RFC 6455 §11.3.4: the offered subprotocols are one list; the token is the one after "bearer".
  const offered = (readHeader(view, 'sec-websocket-protocol', rules) ?? '').split(',').map(trimBlanks)
  const at = offered.findIndex((name) => name.toLowerCase() === BEARER_PROTOCOL)
  const offer = at === -1 ? null : readBearer(`${BEARER_PROTOCOL} ${offered[at + 1] ?? ''}`, BEARER_PROTOCOL)
  if (offer !== null) {
    return { token: new RequestToken(rules.toCanonical(offer), type, 'headers'), protocol: BEARER_PROTOCOL }
  }
  const cookie =
    origins.length === 0 ? null : readCookie(readCookieHeader(view, rules), rules.cookieName[type])
  if (cookie === null) return null
  if (!origins.includes(view.header('origin') ?? '')) {
    throw new CsrfError('The handshake comes from another origin')
  }
  return { token: new RequestToken(rules.toCanonical(cookie), type, 'cookies'), protocol: null }
}
