import type { RouteOptions } from 'fastify'
import type { TokenType } from '../../claims/payload.js'
import { securityRequirements } from '../../http/openapi.js'
import type { TokenConfig } from '../../manager/config.js'
import { type Dependency, requiredTokenType } from '../../manager/dependencies.js'
import { assertOptions } from '../../options.js'

const guards = new WeakMap<object, TokenType | 'any'>()
const described = new WeakSet<object>()

/** Makes a hook or handler known as a guard, with the type of token that its dependencies need. */
export function markGuarded<Guard extends object>(
  guard: Guard,
  dependencies: readonly Dependency<unknown>[],
): Guard {
  guards.set(guard, requiredTokenType(dependencies))
  return guard
}

/**
 * Gives the guarded routes that are added to a context from now on their `schema.security`, for `@fastify/swagger`.
 *
 * A hook that guards a whole context cannot be seen from a route: `everyRoute` says that there is one.
 */
export function describeSecurity(
  app: { addHook(name: 'onRoute', hook: (route: RouteOptions) => void): unknown },
  config: TokenConfig,
  options: { readonly everyRoute?: boolean } = {},
): void {
  assertOptions('describeSecurity()', options, { everyRoute: true })
  app.addHook('onRoute', (route) => {
    const type = readGuardType(route)
    if (options.everyRoute !== true && type === null) return
    // What the route says itself stands; what a context around this one said does not.
    const stated = (route.schema as { readonly security?: object } | undefined)?.security
    if (stated !== undefined && !described.has(stated)) return
    const security = securityRequirements(config, strictestMethod(route), type ?? 'access')
    // Tokens in a JSON body only: an empty list would say that the route is open.
    if (security.length === 0) return
    described.add(security)
    // A copy: another route, an open one, may have been given the same schema.
    route.schema = Object.assign({}, route.schema, { security })
  })
}

// The type that the first guard of a route needs, or null for a route without one.
function readGuardType({
  onRequest,
  preValidation,
  preHandler,
  handler,
}: RouteOptions): TokenType | 'any' | null {
  const used = [onRequest, preValidation, preHandler, handler].flat()
  const guard = used.find((one) => one !== undefined && guards.has(one))
  return (guard && guards.get(guard)) ?? null
}

// One schema speaks for all methods of a route, and those that change something may need a CSRF value.
function strictestMethod({ method }: RouteOptions): string | undefined {
  return [method].flat().find((name) => !['GET', 'HEAD', 'OPTIONS'].includes(name))
}
