import type { ExecutionContext } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import { nameScopes } from '../../requests/authenticate.js'

// Where @UseGuards() writes; no package exports this name.
const GUARDS_METADATA = '__guards__'
// In the global registry, like the kind of a guard: another copy of this package has guards too.
const SCOPES = Symbol.for('tokenlib:guard-scopes')

const reflector = new Reflector()
const ofParameters = new WeakMap<object, readonly string[]>()

/** Says which scopes a guard, or the guards of a class, demand. */
export function markGuardScopes(guard: object, scopes: readonly string[]): void {
  Object.defineProperty(guard, SCOPES, { value: scopes })
}

/** Says which scopes a parameter of a handler demands. */
export function addHandlerScopes(handler: object, scopes: readonly string[]): void {
  ofParameters.set(handler, [...(ofParameters.get(handler) ?? []), ...scopes])
}

/**
 * Runs a check for a handler. An error of it names the scopes that all guards and parameters of the handler demand: the
 * guard that refuses a request, often a global one, is not the one that knows them.
 */
export function nameHandlerScopes<Value>(
  context: ExecutionContext,
  check: () => Promise<Value>,
): Promise<Value> {
  const handler = context.getHandler()
  const guards = reflector.getAll<unknown[]>(GUARDS_METADATA, [handler, context.getClass()]).flat()
  const scopes = [...guards.flatMap(readGuardScopes), ...(ofParameters.get(handler) ?? [])]
  return nameScopes(scopes, check)
}

function readGuardScopes(guard: unknown): readonly string[] {
  return (guard as { readonly [SCOPES]?: readonly string[] } | null | undefined)?.[SCOPES] ?? []
}
