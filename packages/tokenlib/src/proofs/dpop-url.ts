import { InvalidProofError } from '../errors.js'
import type { RequestView } from '../http/view.js'

/**
 * Where clients reach the application: its public origin, plus the path that a proxy strips, if any. Pass a list for
 * several URLs, or a function that returns the URL for a request, such as the origin of a tenant.
 */
export type PublicUrl = string | readonly string[] | ((request: RequestView) => string)

/** Whether a value is an `http` or `https` URL without user, query or fragment. */
export function isPublicUrl(value: unknown): value is string {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, username, password, search, hash } = new URL(value)
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '')
}

/** Returns a function that throws `InvalidProofError` unless a URL is the public URL of a request. */
export function createUrlCheck(publicUrl: PublicUrl): (url: string, view: RequestView) => void {
  const given = typeof publicUrl === 'function' ? null : [publicUrl].flat().map(toBase)
  const readBases = (view: RequestView): readonly string[] =>
    given ?? [parseBase((publicUrl as Chosen)(view))]
  return (url, view) => {
    const path = readPath(view.url)
    const bases = readBases(view)
    const found = normalize(url)
    if (path !== null && found !== null && bases.some((base) => normalize(base + path) === found)) return
    const expected = bases.map((base) => base + (path ?? '')).join(' or ')
    throw new InvalidProofError(
      `DPoP proof is for ${(found ?? 'no URL').slice(0, MAX_SHOWN)}, not for ${expected.slice(0, MAX_SHOWN)} (publicUrl)`,
    )
  }
}

type Chosen = Extract<PublicUrl, (request: RequestView) => string>

// Keeps error messages short.
const MAX_SHOWN = 200

function parseBase(value: unknown): string {
  if (isPublicUrl(value)) return toBase(value)
  throw new TypeError(
    `publicUrl() must return an http or https URL like https://api.example.com, not ${String(value)}`,
  )
}

// Not `href`: a trailing `?` or `#` would turn every appended path into a query or fragment.
function toBase(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname.replace(/\/$/, '')
}

// What a URL parser removes and a router may not: a proof for `/b` must not open `/a/../b`.
const UNRESOLVED = /[\\\0- ]|\/(?:\.|%2e){1,2}(?:\/|$)/i

// Reads the path of `/path?query`, or of an absolute URL, which Fetch requests and proxies have.
function readPath(url: string): string | null {
  const [target = ''] = url.split(/[?#]/, 1)
  const path = target.startsWith('/') ? target : readAbsolutePath(target)
  return path === null || UNRESOLVED.test(path) ? null : path
}

function readAbsolutePath(url: string): string | null {
  const found = /^https?:\/\/[^/\\]+(\/.*)?$/is.exec(url)
  return found !== null && URL.canParse(url) ? (found[1] ?? '/') : null
}

/**
 * Normalizes a URL for comparison, without query and fragment (RFC 9449 §4.3; RFC 3986 §6.2.2 and §6.2.3). Returns
 * `null` for a URL that no request can have.
 */
function normalize(text: string): string | null {
  if (!URL.canParse(text)) return null
  const { protocol, username, password, origin, pathname } = new URL(text)
  if (!/^https?:$/.test(protocol) || username !== '' || password !== '') return null
  return origin + pathname.replaceAll(/%[0-9a-f]{2}/gi, decodeUnreserved)
}

function decodeUnreserved(encoded: string): string {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
  return /[\w.~-]/.test(character) ? character : encoded.toUpperCase()
}
