import { type CustomDecorator, type ExecutionContext, SetMetadata, type Type } from '@nestjs/common'
import { MetadataScanner, Reflector } from '@nestjs/core'
import { nameScopes } from '../../requests/authenticate.js'

/** Where the decorators of Nest and of @nestjs/swagger write; no package exports these names. */
export const METADATA = {
  controller: '__controller__',
  gateway: 'websockets:is_gateway',
  guards: '__guards__',
  message: 'websockets:message_mapping',
  method: 'method',
  modulePath: '__module_path__',
  path: 'path',
  pattern: 'microservices:pattern',
  version: '__version__',
  apiExcluded: 'swagger/apiExcludeEndpoint',
  apiOperation: 'swagger/apiOperation',
  apiParameters: 'swagger/apiParameters',
  apiResponses: 'swagger/apiResponse',
  apiSecurity: 'swagger/apiSecurity',
} as const

/** Reads the metadata of handlers and classes. */
export const reflector: Reflector = new Reflector()
const scanner = new MetadataScanner()

/** A method of a controller, a resolver or a gateway. */
export type Handler = () => unknown

/** Every method of a class, those that it inherits included. */
export function listMethods(owner: Type<object>): Handler[] {
  const prototype = owner.prototype as Record<string, Handler>
  return scanner.getAllMethodNames(prototype).map((name) => prototype[name] as Handler)
}

/** The guards of `@UseGuards()` at handlers and classes, in the order of these. */
export function listGuards(...targets: readonly (Handler | Type)[]): unknown[] {
  return reflector.getAll<unknown[]>(METADATA.guards, [...targets]).flat()
}

/** What `TokenGuard` asks of a route. */
export type Access = 'required' | 'optional' | 'public'

const ACCESS = 'tokenlib:access'

/** `TokenGuard` lets every request on to this route or controller. */
export function Public(): CustomDecorator {
  return SetMetadata(ACCESS, 'public' satisfies Access)
}

/** `TokenGuard` lets a request without a token on to this route or controller; an invalid token is rejected. */
export function OptionalAuth(): CustomDecorator {
  return SetMetadata(ACCESS, 'optional' satisfies Access)
}

/** What is written at a handler, else at its class: at that class itself, not at one that it extends. */
export function readAccess(handler: Target, owner: Target): Access {
  return readOwnAccess(handler) ?? readOwnAccess(owner) ?? 'required'
}

type Target = Parameters<Reflector['get']>[1]
type ReadMetadata = (key: string, target: Target) => unknown

// Reflector looks at the classes above too, where a `@Public()` would open the routes of every class below.
function readOwnAccess(target: Target): Access | undefined {
  const { getOwnMetadata } = Reflect as unknown as { getOwnMetadata: ReadMetadata }
  return getOwnMetadata(ACCESS, target) as Access | undefined
}

/** What a guard of this package checks, as far as others have to know. */
export type GuardKind = 'dependency' | 'manager' | 'refresh' | 'token'

// In the global registry, because `instanceof` does not know the guards of another copy of this package: a gateway
// behind one of those must not be taken for a public one.
const KIND = Symbol.for('tokenlib:guard-kind')
const SCOPES = Symbol.for('tokenlib:guard-scopes')

interface Marked {
  readonly [KIND]?: GuardKind
  readonly [SCOPES]?: readonly string[]
}

/** Marks the guards of a class, and of those that extend it. */
export function markGuard(guard: { readonly prototype: object }, kind: GuardKind): void {
  Object.defineProperty(guard.prototype, KIND, { value: kind })
}

/** The kind of a guard, or of the guards of a class; `null` for guards of other packages. */
export function readGuardKind(guard: unknown): GuardKind | null {
  const target: unknown = typeof guard === 'function' ? guard.prototype : guard
  return (target as Marked | null | undefined)?.[KIND] ?? null
}

/** Says which scopes a guard, or the guards of a class, demand. */
export function markGuardScopes(guard: object, scopes: readonly string[]): void {
  Object.defineProperty(guard, SCOPES, { value: scopes })
}

const ofParameters = new WeakMap<object, readonly string[]>()

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
  const handler = context.getHandler() as Handler
  const guards = listGuards(handler, context.getClass()) as (Marked | null | undefined)[]
  const scopes = guards.flatMap((guard) => guard?.[SCOPES] ?? [])
  return nameScopes([...scopes, ...(ofParameters.get(handler) ?? [])], check)
}
