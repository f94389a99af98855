import type { RequestView } from '../http/view.js'

/**
 * Where clients reach the application: its public origin, with the path that a proxy strips, if it strips one; several of
 * them; or a function that returns the public URL of a request.
 */
export type PublicUrl = string | readonly string[] | ((request: RequestView) => string)

/** Whether a value is an `http` or `https` URL without user, query and fragment. */
export function isPublicUrl(value: unknown): value is string {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, username, password, search, hash } = new URL(value)
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '')
}

/** Returns a function that tells whether a URL is the public URL of a request. */
export function createUrlMatcher(publicUrl: PublicUrl): (url: string, view: RequestView) => boolean {
  if (typeof publicUrl === 'function') {
    return (url, view) => {
      const expected: unknown = publicUrl(view)
      if (!isRequestUrl(expected))
        throw new TypeError('publicUrl() must return the public URL of the request')
      return readPath(view.url) !== null && normalize(url) === normalize(expected)
    }
  }
  const bases = [publicUrl].flat().map((base) => {
    // Not `href`: an empty query or fragment would take in every path.
    const { origin, pathname } = new URL(base)
    return origin + pathname.replace(/\/$/, '')
  })
  return (url, view) => {
    const path = readPath(view.url)
    const found = path === null ? null : normalize(url)
    return found !== null && bases.some((base) => normalize(base + path) === found)
  }
}

function isRequestUrl(value: unknown): value is string {
  return typeof value === 'string' && normalize(value) !== null
}

// What a URL parser takes away, and a router may not: a proof for `/b` must not open `/a/../b`.
const UNRESOLVED = /[\\\0- ]|\/(?:\.|%2e){1,2}(?:\/|$)/i

// Of `/path?query`, or of an absolute URL, as Fetch requests and proxies have it.
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
 * A URL in the form in which two are compared, without query and fragment (RFC 9449 §4.3; RFC 3986 §6.2.2 and §6.2.3), or
 * `null` for one that no request can have.
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
