// What a URL parser would change, or a browser would encode, is never the path of a request.
const PATH = /^(?=\/)(?:\/(?=[\w~-])|[\w.~-])+$/

/** Throws `TypeError` for a path that routes cannot be at. */
export function assertPath(path: unknown, example = '/auth'): void {
  if (typeof path === 'string' && PATH.test(path)) return
  throw new TypeError(`path must begin with a slash and not end with one, such as ${example}`)
}
