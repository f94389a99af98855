import type { Dependency } from 'tokenlib'
import { assertIdentity, callDependency } from 'tokenlib/kit'

/** What decides who may use the console, and by which name their actions are recorded. */
export interface AccessOptions<Value> {
  readonly allow: (request: Request) => Value | Promise<Value>
  readonly actor?: ((value: Value) => string) | undefined
}

/** Asks the dependency of the application who sends a request; resolves with the name for records, or rejects. */
export function createAdmit<Value>({
  allow,
  actor,
}: AccessOptions<Value>): (request: Request) => Promise<string> {
  // It is called with Fetch requests only.
  const callAllow = callDependency(allow as Dependency<Value>)
  return async (request) => {
    const value = await callAllow(request)
    assertIdentity('allow', value)
    return parseActorName(actor === undefined ? readName(value) : actor(value))
  }
}

/**
 * Whether a request comes from the console's own page. Browsers send cookies and passwords along with requests that any
 * page starts, so whatever `allow` is, the page that asks must be this one.
 */
export function isFromOwnPage({ method, headers, url }: Request): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  if (!isRead && !headers.has(CONSOLE_HEADER)) return false
  // The browser writes both headers, and no page can change them (Fetch §2.2.2). `none` is an address that was typed.
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin' || (isRead && site === 'none')
  // No browser sends it to a host without HTTPS, unless that is the own machine.
  const origin = headers.get('origin')
  return origin === null ? isRead : origin === new URL(url).origin
}

/** Whether a text has a character that can be seen: not only white space, control and format characters. */
export function isVisible(text: string): boolean {
  return /[^\s\p{C}]/u.test(text)
}

/** The name of the header that the page sends with everything that changes something. */
export const CONSOLE_HEADER = 'x-tokenlib-console'

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
