/** What is looked at of a layer of `@koa/router`; one without methods comes from `router.use`. */
interface Layer {
  readonly path: string | RegExp
  readonly methods: readonly string[]
  readonly regexp: RegExp
  readonly stack: readonly unknown[]
}

/** What is looked at of a router of `@koa/router`. */
export interface LayeredRouter {
  readonly stack: readonly Layer[]
  /** Whether only the last layer that matches is run. */
  readonly exclusive?: boolean
}

const guards = new WeakSet<object>()
const checked = new WeakMap<LayeredRouter, number>()

/** Makes a middleware known as a guard. */
export function markGuarded<Guard extends object>(guard: Guard): Guard {
  guards.add(guard)
  return guard
}

/**
 * Throws `TypeError` for a router with a guard that some spellings of a path get around.
 *
 * `enforce` and `inject` do it for the router they run in, at the first request. Call it to know when the program starts.
 */
export function assertRouter(router: LayeredRouter): void {
  router.stack.forEach((layer, at) => {
    if (isRoute(layer)) return
    const routes = router.stack.slice(at + 1).filter(isRoute)
    for (const guard of layer.stack) {
      if (!guards.has(guard as object)) continue
      for (const route of routes) assertGuarded(router, layer, guard, route)
    }
  })
}

/** The same for the router that a request went through, if it did; once for each router. */
export function assertRouterOf(ctx: object): void {
  const { router } = ctx as { readonly router?: LayeredRouter | null }
  if (!router || checked.get(router) === router.stack?.length) return
  // Other routers of Koa put themselves at `ctx.router` too.
  if (!Array.isArray(router.stack) || !router.stack.every(isLayer)) return
  assertRouter(router)
  checked.set(router, router.stack.length)
}

function assertGuarded(router: LayeredRouter, layer: Layer, guard: unknown, route: Layer): void {
  if (route.stack.includes(guard)) return
  const layers = router.stack
    .slice(0, router.stack.indexOf(route))
    .filter((other) => !isRoute(other) && other.stack.includes(guard))
  if (typeof route.path !== 'string' && !layers.some(matchesAll)) {
    throw new TypeError(
      `Nobody can say whether the guard runs for every spelling of ${String(route.path)}: put the guard on the route`,
    )
  }
  const spellings = spell(route)
  const open = spellings.filter((path) => !layers.some(({ regexp }) => regexp.test(path)))
  const path = String(route.path)
  if (open.length === spellings.length) {
    if (!isMeantFor(layer, route)) return
    throw new TypeError(
      `The guard on ${String(layer.path)} does not run for ${path}: ` +
        'use router.use(guard), or a path without a slash at its end',
    )
  }
  if (router.exclusive === true) {
    throw new TypeError(
      `The guard of ${path} does not run, because the router is exclusive: put the guard on the route`,
    )
  }
  if (open.length > 0) {
    throw new TypeError(
      `The guard of ${path} does not run for ${open[0]}: @koa/router compares the prefix of router.use(guard) ` +
        'with case, and its routes without. Use router.use(path, guard), put the guard on the routes, ' +
        'or create the router with sensitive: true',
    )
  }
}

function matchesAll({ regexp }: Layer): boolean {
  return ['/', '/a', '/A/b', '/a/B/'].every((path) => regexp.test(path))
}

// `router.use('/', guard)` and `router.use('/admin/', guard)` match that one path, and none below it.
function isMeantFor({ path, regexp }: Layer, route: Layer): boolean {
  if (typeof path !== 'string' || typeof route.path !== 'string') return false
  const below = `${path.replace(/\/$/, '')}/`
  return route.path !== path && route.path.startsWith(below) && !regexp.test(`${below}x`)
}

// The path of a route as requests may spell it, its parameters as they are: a name fits where a value does.
function spell({ path, regexp }: Layer): string[] {
  if (typeof path !== 'string') return []
  const plain = path.replaceAll(/[{}]/g, '')
  const spellings = [plain, plain.toUpperCase(), plain.toLowerCase(), `${plain}/`, plain.replace(/\/$/, '')]
  return spellings.filter((spelling) => regexp.test(spelling))
}

function isRoute({ methods }: Layer): boolean {
  return methods.length > 0
}

function isLayer(layer: Partial<Layer> | null | undefined): boolean {
  return Array.isArray(layer?.methods) && Array.isArray(layer.stack) && layer.regexp instanceof RegExp
}
