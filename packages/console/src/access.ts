import { CsrfError, type Dependency, isTokenError } from 'tokenlib'
import { assertIdentity, callDependency, toFetchErrorResponse } from 'tokenlib/kit'

/** Who uses the console, or the response to somebody who may not. */
export type Admission =
  | { readonly actor: string }
  | { readonly refusal: Response; readonly message: string; readonly code: string }
  /** A response of the dependency itself: a redirect to the log-in, a challenge. */
  | { readonly response: Response }

/** What decides who may use the console, and by which name their actions are recorded. */
export interface AccessOptions<Value> {
  readonly allow: (request: Request) => Value | Promise<Value>
  readonly actor?: ((value: Value) => string) | undefined
}

/** Asks the dependency of the application who sends a request. */
export function createAdmit<Value>({
  allow,
  actor,
}: AccessOptions<Value>): (request: Request) => Promise<Admission> {
  // It is called with Fetch requests only.
  const callAllow = callDependency(allow as Dependency<Value>)
  return async (request) => {
    let value: Value
    try {
      value = await callAllow(request)
    } catch (error) {
      if (error instanceof Response) return { response: error }
      if (!isTokenError(error)) throw error
      return { refusal: toFetchErrorResponse(error), message: error.message, code: error.code }
    }
    assertIdentity('allow', value)
    return { actor: parseActorName(actor === undefined ? readName(value) : actor(value)) }
  }
}

/**
 * The refusal of a request that does not come from the console's own page, or `null`. Browsers send cookies and
 * passwords along with requests that any page starts, so whatever `allow` is, the page that asks must be this one.
 */
export function readOriginRefusal(request: Request): Response | null {
  if (isFromOwnPage(request)) return null
  return toFetchErrorResponse(new CsrfError('The request does not come from the page of the console'))
}

/** Whether a text has a character that can be seen: not only white space, control and format characters. */
export function isVisible(text: string): boolean {
  return /[^\s\p{C}]/u.test(text)
}

/** The name of the header that the page sends with everything that changes something. */
export const CONSOLE_HEADER = 'x-tokenlib-console'

function isFromOwnPage({ method, headers, url }: Request): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  if (!isRead && !headers.has(CONSOLE_HEADER)) return false
  // The browser writes both headers, and no page can change them (Fetch §2.2.2). `none` is an address that was typed.
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin' || (isRead && site === 'none')
  // No browser sends it to a host without HTTPS, unless that is the own machine.
  const origin = headers.get('origin')
  return origin === null ? isRead : origin === new URL(url).origin
}

function readName(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'sub' in value ? value.sub : value
}

// At every request: that nobody can tell who revokes must not be found out in an emergency.
function parseActorName(name: unknown): string {
  if (typeof name === 'string' && isVisible(name)) return name
  throw new TypeError(
    'The console records who revokes: let allow return a string that is not blank or an object with such a "sub", or pass ' +
      '`actor`, a function that returns the name for what allow has returned',
  )
}
