import { type CanActivate, type ExecutionContext, Injectable, type Type, UseGuards } from '@nestjs/common'
import { attach, readAttached } from '../../http/view.js'
import {
  createEnforcer,
  createInjector,
  type Dependencies,
  type Dependency,
  type Enforcer,
  type Injector,
  requiredScopes,
  requiredTokenType,
} from '../../requests/dependencies.js'
import { parsePolicy, type RequirePolicy, toRouteScopes } from '../../requests/policy.js'
import type { Duration } from '../../time.js'
import type { TokenPayload, TokenType } from '../../tokens/payload.js'
import { type AnyManager, contextReader, InjectTokenManager, readNodeRequest, toView } from './context.js'
import { markGuard, markGuardScopes, nameHandlerScopes, readAccess } from './metadata.js'

type Payload = TokenPayload<object> | null
type PayloadDependency = Dependency<Payload>

/** What a guard found for a handler. */
interface Verified {
  readonly tokens: AnyManager
  readonly payload: Payload
}

/** What the last guard of a handler found with a manager; `undefined` without such a guard. */
export function readVerified(context: ExecutionContext, tokens: AnyManager): Payload | undefined {
  const found = readAttached(toOwner(context), context.getHandler()) as Verified | undefined
  return found?.tokens === tokens ? found.payload : undefined
}

function toOwner(context: ExecutionContext): object {
  return readNodeRequest(context) ?? toView(context)
}

const injectors = new WeakMap<PayloadDependency, Injector<ExecutionContext, { payload: Payload }>>()

/** A guard that takes the manager from the container; extend it for a policy of your own. */
export abstract class ManagerGuard implements CanActivate {
  /** The name of the manager; see `for`. */
  static readonly manager: string | undefined = undefined
  readonly #tokens: AnyManager

  constructor(tokens: AnyManager) {
    this.#tokens = tokens
  }

  /** The same guard with the manager that was registered under a name. */
  static for(this: Type<CanActivate>, name: string): Type<CanActivate> {
    const Guard = class extends this {
      static readonly manager = name
    }
    InjectTokenManager(name)(Guard, undefined, 0)
    return Guard
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const chosen = this.choose(this.#tokens, context)
    if (chosen === null) return true
    let injector = injectors.get(chosen)
    if (injector === undefined) {
      injector = createInjector({ payload: chosen }, contextReader)
      injectors.set(chosen, injector)
    }
    const { payload } =
      injector.resolveNow(context) ?? (await nameHandlerScopes(context, () => injector.resolve(context)))
    // By handler: one GraphQL request runs several, each behind guards of its own.
    attach(toOwner(context), context.getHandler(), { tokens: this.#tokens, payload })
    return true
  }

  /** The dependency that the request must pass; `null` for none. */
  protected abstract choose(tokens: AnyManager, context: ExecutionContext): PayloadDependency | null
}
Injectable()(ManagerGuard)
InjectTokenManager()(ManagerGuard, undefined, 0)
markGuard(ManagerGuard, 'manager')

/** Refuses requests without a genuine, unrevoked access token. */
export class AccessTokenGuard extends ManagerGuard {
  protected override choose(tokens: AnyManager): PayloadDependency {
    return tokens.accessTokenRequired
  }
}

/** Refuses requests without a genuine, unrevoked refresh token. */
export class RefreshTokenGuard extends ManagerGuard {
  protected override choose(tokens: AnyManager): PayloadDependency {
    return tokens.refreshTokenRequired
  }
}
markGuard(RefreshTokenGuard, 'refresh')

/** Refuses requests without an access token from a recent login. */
export class FreshTokenGuard extends ManagerGuard {
  protected override choose(tokens: AnyManager): PayloadDependency {
    return tokens.freshTokenRequired
  }
}

/** For `APP_GUARD`: an access token for every route, unless `@Public()` or `@OptionalAuth()` says otherwise. */
export class TokenGuard extends ManagerGuard {
  protected override choose(tokens: AnyManager, context: ExecutionContext): PayloadDependency | null {
    const access = readAccess(context.getHandler(), context.getClass())
    if (access === 'public') return null
    return access === 'optional' ? tokens.accessTokenOptional : tokens.accessTokenRequired
  }
}
markGuard(TokenGuard, 'token')

/** Guards a route or a controller: the access token must carry every one of the scopes. */
export function RequireScopes(...scopes: readonly string[]): ClassDecorator & MethodDecorator {
  return guardWith('@RequireScopes()', { scopes })
}

/** Guards a route or a controller: the access token must carry at least one of the scopes. */
export function RequireAnyScope(...scopes: readonly string[]): ClassDecorator & MethodDecorator {
  return guardWith('@RequireAnyScope()', { anyScope: scopes })
}

/** Guards a route or a controller: requires an access token from a login that is at most this old. */
export function FreshWithin(age: Duration): ClassDecorator & MethodDecorator {
  if (typeof age === 'boolean' || age === undefined)
    throw new TypeError("@FreshWithin() takes a duration: '2m'")
  return guardWith('@FreshWithin()', { fresh: age })
}

function guardWith(decorator: string, demands: RequirePolicy): ClassDecorator & MethodDecorator {
  const policy = parsePolicy(demands, decorator)
  class PolicyGuard extends ManagerGuard {
    #dependency: PayloadDependency | undefined

    protected override choose(tokens: AnyManager): PayloadDependency {
      return (this.#dependency ??= tokens.require(policy))
    }
  }
  markGuardScopes(PolicyGuard, toRouteScopes(policy))
  return UseGuards(PolicyGuard)
}

/** For `@UseGuards`: lets a request on only after every dependency has passed. */
export function enforce<Values extends readonly unknown[]>(
  ...dependencies: Dependencies<Values>
): CanActivate {
  return new DependencyGuard(dependencies)
}

/** What `enforce` gives to Nest. */
export class DependencyGuard implements CanActivate {
  /** The type of token that the dependencies need. */
  readonly type: TokenType | 'any'
  readonly #enforcer: Enforcer<ExecutionContext>

  constructor(dependencies: readonly Dependency<unknown>[]) {
    this.type = requiredTokenType(dependencies)
    this.#enforcer = createEnforcer(dependencies, contextReader)
    markGuardScopes(this, requiredScopes(dependencies))
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (!this.#enforcer.passesNow(context)) {
      await nameHandlerScopes(context, () => this.#enforcer.enforce(context))
    }
    return true
  }
}
markGuard(DependencyGuard, 'dependency')
