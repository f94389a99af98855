import { isTokenError } from '../errors.js'

/** What a policy says about scopes. */
interface ScopeDemands {
  readonly scopes?: readonly string[]
  readonly anyScope?: readonly string[]
}

/** The scopes that give access to what a policy guards. */
export function toRouteScopes({ scopes = [], anyScope = [] }: ScopeDemands): readonly string[] {
  return [...new Set([...scopes, ...anyScope])]
}

/** Runs a check. An error of it names the scopes that its route demands, so that the challenge can. */
export async function nameScopes<Value>(
  scopes: readonly string[],
  check: () => Promise<Value>,
): Promise<Value> {
  try {
    return await check()
  } catch (error) {
    if (scopes.length > 0 && isTokenError(error)) {
      const value = Object.freeze([...new Set([...(error.routeScopes ?? []), ...scopes])])
      // Reflect, because an assignment would throw where the application has frozen an error of its own.
      Reflect.defineProperty(error, 'routeScopes', { value, configurable: true, enumerable: true })
    }
    throw error
  }
}
