import { type CanActivate, createParamDecorator, type ExecutionContext } from '@nestjs/common'
import type { TokenType } from '../../tokens/payload.js'
import {
  type Answering,
  callDependency,
  createEnforcer,
  type Dependencies,
  type Dependency,
  type Enforcer,
  requiredScopes,
  requiredTokenType,
} from '../../requests/dependencies.js'
import { markGuard } from './guard-kind.js'
import { addHandlerScopes, markGuardScopes, nameHandlerScopes } from './handler-scopes.js'
import { contextReader, toView } from './request-view.js'

/** A decorator for parameters that can hold `Value`; at any other it does not compile. */
export type ParameterFor<Value> = <Target extends object, Key extends keyof Target, Index extends number>(
  target: Target,
  key: Key,
  index: [Value] extends [ParameterAt<Target[Key], Index>] ? Index : ['The parameter cannot hold', Value],
) => void

type ParameterAt<Method, Index extends number> = Method extends (...parameters: infer Types) => unknown
  ? Types[Index]
  : never

/** For `@UseGuards`: lets a request on only after every dependency has passed. */
export function enforce<Values extends readonly unknown[]>(
  ...dependencies: Dependencies<Values>
): CanActivate {
  return new DependencyGuard(dependencies)
}

/** A parameter with the value of a dependency; the route does not run when that throws. */
export function Depends<Value>(dependency: Dependency<Value> & Answering<Value>): ParameterFor<Value> {
  const decorate = resolve(callDependency<unknown>(dependency))
  const scopes = requiredScopes([dependency])
  const decorateParameter: ParameterDecorator = (target, key, index) => {
    const handler = (target as Record<PropertyKey, object | undefined>)[key ?? '']
    if (handler !== undefined) addHandlerScopes(handler, scopes)
    decorate(target, key, index)
  }
  return decorateParameter as unknown as ParameterFor<Value>
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

const resolve = createParamDecorator((call: ReturnType<typeof callDependency>, context) =>
  nameHandlerScopes(context, () => call(toView(context))),
)
