import type { TokenType } from './tokens/payload.js'
import type { RequestToken } from './http/read-token.js'
import { type RequestSource, toRequestView } from './http/request-source.js'
import { attach, readAttached, type RequestView } from './http/view.js'
import {
  createDependency,
  type Dependency,
  type DependencyValue,
  type TokenDependency,
} from './requests/dependencies.js'
import {
  parsePolicy,
  parseReadOptions,
  type ReadTokenOptions,
  type RequirePolicy,
  type TokenPolicy,
  type TokenWithHeader,
  toRouteScopes,
  type WithHeader,
} from './requests/policy.js'
import type { TokenManager } from './manager.js'

/** What is needed of a manager that is chosen: its dependencies. */
export type ChoosableManager = Pick<
  TokenManager<never, object, unknown, object>,
  | 'accessTokenOptional'
  | 'accessTokenRequired'
  | 'freshTokenRequired'
  | 'getCurrentSubject'
  | 'getTokenFromRequest'
  | 'refreshTokenRequired'
  | 'require'
  | 'tokenRequired'
>

/** `require` of a manager whose payload is known. */
export interface RequireToken<Payload> {
  (
    policy: TokenPolicy & WithHeader & { readonly optional?: false },
  ): TokenDependency<TokenWithHeader<Payload>>
  (policy: TokenPolicy & WithHeader): TokenDependency<TokenWithHeader<Payload> | null>
  (policy: TokenPolicy & { readonly optional: true }): TokenDependency<Payload | null>
  (policy?: TokenPolicy & { readonly optional?: false }): TokenDependency<Payload>
  (policy: TokenPolicy): TokenDependency<Payload | null>
}

/** Dependencies that select a manager for each request. */
export interface ManagerChoice<Payload, Subject = unknown> {
  readonly tokenRequired: TokenDependency<Payload>
  readonly accessTokenRequired: TokenDependency<Payload>
  readonly refreshTokenRequired: TokenDependency<Payload>
  readonly freshTokenRequired: TokenDependency<Payload>
  readonly accessTokenOptional: TokenDependency<Payload | null>
  readonly getCurrentSubject: TokenDependency<Subject>
  readonly require: RequireToken<Payload>
  readonly getTokenFromRequest: (
    request: RequestSource,
    options?: ReadTokenOptions,
  ) => Promise<RequestToken | null>
}

/**
 * Creates dependencies that select a manager once per request: for tenants with keys and stores of their own.
 *
 * If no manager fits a request, `select` throws a token error, such as `TokenIssuerError`. If it returns anything but a
 * manager, the request fails with a `TypeError`, on optional routes too.
 *
 * @example
 * const tenant = chooseManager((request) => managers.get(request.header('host') ?? '') ?? unknownTenant())
 * app.get('/me', enforce(tenant.accessTokenRequired), …)
 */
export function chooseManager<Manager extends ChoosableManager>(
  select: (request: RequestView) => Manager | Promise<Manager>,
): ManagerChoice<
  DependencyValue<Manager['accessTokenRequired']>,
  DependencyValue<Manager['getCurrentSubject']>
> {
  if (typeof select !== 'function') throw new TypeError('chooseManager() takes a function of the request')
  const choose = (view: RequestView): Promise<ChoosableManager> => {
    const known = readAttached(view, choose) as Promise<ChoosableManager> | undefined
    if (known !== undefined) return known
    const chosen = (async () => parseManager(await select(view)))()
    attach(view, choose, chosen)
    return chosen
  }

  const createChoice = (
    type: TokenType | 'any' | null,
    read: (manager: ChoosableManager) => Dependency<unknown>,
    scopes: readonly string[] = [],
  ): TokenDependency<unknown> =>
    createDependency({
      // Which manager it is has to be waited for. The manager's own dependency has a fast lane.
      lane: null,
      type,
      scopes,
      run: async (view) => read(await choose(view))(view),
    })

  const require = (policy: RequirePolicy = {}): TokenDependency<unknown> => {
    // A misspelled demand is an error now, and not with the first request.
    const checked = parsePolicy(policy)
    const made = new WeakMap<ChoosableManager, Dependency<unknown>>()
    const read = (manager: ChoosableManager): Dependency<unknown> => {
      const dependency = made.get(manager) ?? manager.require(checked)
      made.set(manager, dependency)
      return dependency
    }
    return createChoice(checked.type ?? 'access', read, toRouteScopes(checked))
  }

  const choice: ManagerChoice<unknown> = {
    tokenRequired: createChoice('any', (manager) => manager.tokenRequired),
    accessTokenRequired: createChoice('access', (manager) => manager.accessTokenRequired),
    refreshTokenRequired: createChoice('refresh', (manager) => manager.refreshTokenRequired),
    freshTokenRequired: createChoice('access', (manager) => manager.freshTokenRequired),
    accessTokenOptional: createChoice('access', (manager) => manager.accessTokenOptional),
    getCurrentSubject: createChoice(null, (manager) => manager.getCurrentSubject),
    require: require as RequireToken<unknown>,
    async getTokenFromRequest(request, options = {}) {
      const checked = parseReadOptions(options)
      const view = toRequestView(request)
      return (await choose(view)).getTokenFromRequest(view, checked)
    },
  }
  return Object.freeze(choice) as ReturnType<typeof chooseManager<Manager>>
}

// By shape: the manager may come from another copy of this package. Without one, no route may be open.
function parseManager(value: unknown): ChoosableManager {
  const manager = value as Partial<ChoosableManager> | null | undefined
  if (typeof manager?.require === 'function' && typeof manager.accessTokenRequired === 'function') {
    return value as ChoosableManager
  }
  throw new TypeError(
    'The function of chooseManager() must return a TokenManager; throw a token error for a request that none is for',
  )
}
