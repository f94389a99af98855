import { type CanActivate, createParamDecorator, type ExecutionContext } from '@nestjs/common'
import {
  assertDependencies,
  type Dependency,
  enforceDependencies,
  resolveDependencies,
} from '../../manager/dependencies.js'
import { toView } from './request-view.js'

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
export function enforce(...dependencies: readonly Dependency<unknown>[]): CanActivate {
  assertDependencies(dependencies)
  return new DependencyGuard(dependencies)
}

/** A parameter with the value of a dependency; the route does not run when that throws. */
export function Depends<Value>(dependency: Dependency<Value>): ParameterFor<Value> {
  assertDependencies([dependency])
  return resolve(dependency) as unknown as ParameterFor<Value>
}

/** What `enforce` gives to Nest. */
export class DependencyGuard implements CanActivate {
  readonly #dependencies: readonly Dependency<unknown>[]

  constructor(dependencies: readonly Dependency<unknown>[]) {
    this.#dependencies = dependencies
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    await enforceDependencies(this.#dependencies, toView(context))
    return true
  }
}

const resolve = createParamDecorator(async (value: Dependency<unknown>, context) => {
  const values = await resolveDependencies({ value }, toView(context))
  return values.value
})
