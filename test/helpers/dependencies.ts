import {
  createEnforcer,
  createInjector,
  type Dependency,
  type DependencyValues,
  type NamedDependencies,
} from '../../src/manager/dependencies.js'
import { type RequestSource, toRequestView } from '../../src/request/request-source.js'

const readNothing = (): null => null

/** What `enforce` of an adapter does for a request that cannot pass at once. */
export function enforceAll(dependencies: readonly Dependency<unknown>[]) {
  const enforcer = createEnforcer(dependencies, readNothing)
  return async (request: RequestSource): Promise<void> => enforcer.enforce(toRequestView(request))
}

/** What `inject` of an adapter does for a request that cannot pass at once. */
export function injectAll<Named extends NamedDependencies>(dependencies: Named) {
  const injector = createInjector(dependencies, readNothing)
  return async (request: RequestSource): Promise<DependencyValues<Named>> =>
    injector.resolve(toRequestView(request))
}
