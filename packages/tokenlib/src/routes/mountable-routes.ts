/** Routes of this package that every adapter can mount: `createSessionRoutes`, `createConsole` and others return them. */
export interface MountableRoutes {
  /** Where they are, without a slash at the end: `/auth`. */
  readonly path: string
  /** The paths of all of them; left out where that is everything below `path`. */
  readonly paths?: readonly string[]
  /** The response to a request, or `null` if the request is not for these routes; then its body has not been read. */
  handle(request: Request): Promise<Response | null>
}

/**
 * The methods that routes are mounted for. Pre-flights belong to the application, and a browser sends no others; a Fetch
 * request cannot even have some of them.
 */
export const MOUNTED_METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * The paths to register at a router, with a wildcard for everything below. Where the paths are known, only they are
 * registered: what else is below, `/.well-known/security.txt` for example, belongs to the application.
 */
export function toRouterPaths({ path, paths }: MountableRoutes): readonly string[] {
  return paths === undefined ? [path, `${path}/*`] : paths.map(toRouterPath)
}

// Colons and asterisks are patterns of routers, and some compare what is percent-encoded decoded. A parameter takes the
// place of a segment with them; the routes compare the path themselves.
function toRouterPath(path: string): string {
  return path
    .split('/')
    .map((segment, at) => (/[:*%]/.test(segment) ? `:segment${at}` : segment))
    .join('/')
}

/** Whether a path, or a URL without an origin, is that of mounted routes or below it. */
export function isBelow({ path }: MountableRoutes, url: string): boolean {
  if (!url.startsWith(path)) return false
  const next = url.charAt(path.length)
  return next === '' || next === '/' || next === '?'
}

/** What `mount` of an adapter does: the response to a Fetch request, or `null` if it is not below the path of the routes. */
export function createMount(routes: MountableRoutes): (request: Request) => Promise<Response | null> {
  assertMount(routes)
  return async (request) => {
    const { pathname } = new URL(request.url)
    return isBelow(routes, pathname) ? routes.handle(request) : null
  }
}

/** Throws `TypeError` for what cannot be mounted. */
export function assertMount(routes: MountableRoutes): void {
  if (typeof routes?.handle === 'function' && typeof routes.path === 'string') return
  throw new TypeError('mount() takes routes: what createSessionRoutes(), createConsole() or the like returns')
}
