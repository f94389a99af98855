import type { TokenType } from '../claims/payload.js'
import { inspectAsJson } from '../encoding.js'

/** Where a token can be in a request. */
export type TokenLocation = 'headers' | 'cookies' | 'json' | 'query'

/** Every location, in the order the documentation lists them. */
export const TOKEN_LOCATIONS: readonly TokenLocation[] = ['headers', 'cookies', 'json', 'query']

/** A token as found in a request, not validated. Logged or serialised it hides `token` and `csrf`. */
export class RequestToken {
  /** The raw token. */
  declare readonly token: string
  /** The type of token that was looked for; the token itself has not been opened. */
  declare readonly type: TokenType
  declare readonly location: TokenLocation
  /** The CSRF header beside a cookie token, when the method needs one; a form is not read for it. */
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
