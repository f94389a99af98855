import type { TokenType } from '../claims/payload.js'
import { isJsonObject } from '../encoding.js'
import { TokenDecodeError } from '../errors.js'
import { readBearer } from './bearer.js'
import { isJson } from './body.js'
import { readCookie } from './cookies.js'
import { type LengthLimit, readHeader, readUrl } from './limited.js'
import { RequestToken, type TokenLocation } from './request-token.js'
import type { RequestView } from './view.js'

/** One value for access tokens and one for refresh tokens. */
export type PerType<Value> = Readonly<Record<TokenType, Value>>

/** The names under which tokens and CSRF values are found, and how long what they are found in may be. */
export interface ReadingRules extends LengthLimit {
  readonly locations: PerType<readonly TokenLocation[]>
  readonly headerName: string
  /** The same in lower case, as Node's own requests have it. */
  readonly headerKey: string
  /** The scheme before the token; empty when the header holds the token alone. */
  readonly headerType: string
  readonly cookieName: PerType<string>
  readonly jsonKey: PerType<string>
  readonly queryName: string
  readonly csrf: CsrfRules
}

/** When and where a cookie token needs a CSRF value beside it. */
export interface CsrfRules {
  readonly protect: boolean
  /** In upper case. */
  readonly methods: ReadonlySet<string>
  readonly headerName: PerType<string>
  readonly fieldName: PerType<string>
  readonly checkForm: boolean
  /** The origins that requests may come from; empty for any. */
  readonly origins: readonly string[]
}

/** Looks for a token of one type in one place; at once, unless a body must be waited for. */
export type TokenReader = (
  view: RequestView,
  type: TokenType,
  rules: ReadingRules,
) => RequestToken | null | Promise<RequestToken | null>

/** How each location is read, told which type of token is wanted. */
export const READERS: Readonly<Record<TokenLocation, TokenReader>> = {
  headers(view, type, rules) {
    const token = readBearer(readHeader(view, rules.headerKey, rules), rules.headerType)
    return token === null ? null : new RequestToken(token, type, 'headers')
  },

  cookies(view, type, rules) {
    const token = readCookie(readHeader(view, 'cookie', rules), rules.cookieName[type])
    if (token === null) return null
    const csrf = needsCsrf(view, rules.csrf) ? view.header(rules.csrf.headerName[type]) : null
    return new RequestToken(token, type, 'cookies', csrf)
  },

  async json(view, type, rules) {
    if (!isJson(readHeader(view, 'content-type', rules))) return null
    const body = await view.body()
    const key = rules.jsonKey[type]
    const token = isJsonObject(body) && Object.hasOwn(body, key) ? body[key] : null
    if (token === null || token === '') return null
    if (typeof token !== 'string') throw new TokenDecodeError(`The body's "${key}" is not a string`)
    return new RequestToken(token, type, 'json')
  },

  query(view, type, rules) {
    const [url = ''] = readUrl(view, rules).split('#', 1)
    const start = url.indexOf('?')
    if (start === -1) return null
    const values = new URLSearchParams(url.slice(start + 1)).getAll(rules.queryName)
    if (values.length > 1)
      throw new TokenDecodeError(`The request carries "${rules.queryName}" more than once`)
    const [token] = values
    return token ? new RequestToken(token, type, 'query') : null
  },
}

/** Whether a cookie token in this request needs a CSRF value beside it. */
export function needsCsrf(view: RequestView, rules: CsrfRules): boolean {
  return rules.protect && (view.method === '' || rules.methods.has(view.method.toUpperCase()))
}
