import {
  createEnforcer,
  createInjector,
  type Dependency,
  type DependencyValues,
  type NamedDependencies,
} from '../../packages/tokenlib/src/requests/dependencies.js'
import { type RequestSource, toRequestView } from '../../packages/tokenlib/src/http/request-source.js'
import type { RequestReader } from '../../packages/tokenlib/src/http/view.js'

const reader: RequestReader<RequestSource> = {
  readHeader: () => null,
  readMethod: () => undefined,
  toView: toRequestView,
}

/** What `enforce` of an adapter does for a request that cannot pass immediately. */
export function enforceAll(dependencies: readonly Dependency<unknown>[]) {
  const enforcer = createEnforcer(dependencies, reader)
  return async (request: RequestSource): Promise<void> => enforcer.enforce(request)
}

/** What `inject` of an adapter does for a request that cannot pass immediately. */
export function injectAll<Named extends NamedDependencies>(dependencies: Named) {
  const injector = createInjector(dependencies, reader)
  return async (request: RequestSource): Promise<DependencyValues<Named>> => injector.resolve(request)
}
