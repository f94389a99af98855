import type { TokenType } from '../claims/payload.js'
import type { Dependency } from './dependencies.js'

const types = new WeakMap<Dependency<unknown>, TokenType | 'any'>()

/** Notes which type of token a dependency needs, for descriptions of routes; returns the dependency. */
export function rememberType<Given extends Dependency<unknown>>(
  dependency: Given,
  type: TokenType | 'any' = 'access',
): Given {
  types.set(dependency, type)
  return dependency
}

/** The type of token that dependencies need: that of the first that is known, else `access`. */
export function typeOf(dependencies: readonly Dependency<unknown>[]): TokenType | 'any' {
  const known = dependencies.find((dependency) => types.has(dependency))
  return (known && types.get(known)) ?? 'access'
}
