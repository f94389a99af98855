import { RequestMethod, SetMetadata, type Type } from '@nestjs/common'
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core'
import type { TokenConfig } from '../../config/config.js'
import { ConfigurationError } from '../../errors.js'
import { TokenManager } from '../../manager.js'
import { securityRequirements } from '../../routes/openapi.js'
import type { TokenType } from '../../tokens/payload.js'
import { getTokenManagerToken } from './context.js'
import type { DependencyGuard, ManagerGuard } from './guards.js'
import {
  type Access,
  type GuardKind,
  type Handler,
  listGuards,
  listMethods,
  METADATA,
  readAccess,
  readGuardKind,
  reflector,
} from './metadata.js'
import { isProtected } from './sockets.js'

/**
 * Throws `ConfigurationError` for gateways and message handlers that look guarded by a global guard of this package, but
 * are open: Nest 11 runs no global guards for gateways, and no version runs them for the microservices of a hybrid
 * application without `inheritAppConfig`.
 */
export function assertGuarded(modules: ModulesContainer, application: ApplicationConfig): void {
  const globals = readGlobalKinds(modules, application)
  const adapter = application.getIoAdapter() as ReturnType<ApplicationConfig['getIoAdapter']> | null
  // Without an adapter Nest has connected no gateway.
  const hasOpenSockets = adapter !== null && adapter !== undefined && !isProtected(adapter)
  if (hasOpenSockets) for (const metatype of listProviders(modules)) assertGateway(metatype, globals)
  for (const controller of listControllers(modules)) assertMessageHandlers(controller, globals)
}

const listProviders = (modules: ModulesContainer): unknown[] =>
  [...modules.values()].flatMap(({ providers }) => [...providers.values()].map(({ metatype }) => metatype))

const listControllers = (modules: ModulesContainer): Type<object>[] =>
  [...modules.values()].flatMap(({ controllers }) =>
    [...controllers.values()].map(({ metatype }) => metatype as Type<object>),
  )

function assertGateway(metatype: unknown, globals: readonly GuardKind[]): void {
  if (!isGateway(metatype)) return
  const handlers = listDecorated(metatype, METADATA.message)
  // A gateway without messages may still send data to every client.
  const isOpen = (handlers.length === 0 ? [metatype] : handlers).every(
    (target) => !isMeantGuarded(globals, target, metatype),
  )
  if (isOpen && !hasOwnGuard(metatype, ...handlers)) return
  const otherwise = globals.length === 0 ? '' : `, or ${toExemption(globals, 'gateway')}`
  throw new ConfigurationError(
    `The sockets of ${metatype.name} are not authenticated: app.useWebSocketAdapter(protectSockets(new WsAdapter(app), tokens))${otherwise}`,
  )
}

function assertMessageHandlers(controller: Type<object>, globals: readonly GuardKind[]): void {
  const open = listDecorated(controller, METADATA.pattern).find(
    (handler) => isMeantGuarded(globals, handler, controller) && !hasOwnGuard(controller, handler),
  )
  if (open === undefined) return
  throw new ConfigurationError(
    `No global guard protects ${controller.name}.${open.name}(): messages of a microservice carry no token, and without inheritAppConfig Nest does not run the guard. To start, ${toExemption(globals, 'handler')}; guard it with a guard of your own if it needs one`,
  )
}

/** Whether a global guard of ours is meant for a handler: `@Public()` is an exemption from `TokenGuard` alone. */
function isMeantGuarded(globals: readonly GuardKind[], target: Type | Handler, owner: Type<object>): boolean {
  const isPublic = readAccess(target, owner) === 'public'
  return globals.some((kind) => kind !== 'token' || !isPublic)
}

function toExemption(globals: readonly GuardKind[], what: string): string {
  const isToken = globals.every((kind) => kind === 'token')
  return `${isToken ? '' : 'make TokenGuard the global guard and '}mark the ${what} with @Public()`
}

function isGateway(metatype: unknown): metatype is Type<object> {
  return typeof metatype === 'function' && reflector.get<unknown>(METADATA.gateway, metatype as Type) === true
}

function listDecorated(owner: Type<object>, key: string): Handler[] {
  return listMethods(owner).filter((method) => reflector.get<unknown>(key, method) !== undefined)
}

function hasOwnGuard(...targets: readonly (Type | Handler)[]): boolean {
  return listGuards(...targets).some((guard) => readGuardKind(guard) !== null)
}

function readGlobalKinds(modules: ModulesContainer, application: ApplicationConfig): GuardKind[] {
  const kinds = application.getGlobalGuards().map(readGuardKind)
  // A guard of scope REQUEST does not exist yet: its class says what it will be, else what its alias or factory injects.
  const scoped = application
    .getGlobalRequestGuards()
    .flatMap(({ metatype, inject }) => [metatype as unknown, ...(inject ?? []).map(toToken)])
    .map((token) => readProviderKind(modules, token))
  return [...kinds, ...scoped].filter((kind) => kind !== null)
}

function readProviderKind(modules: ModulesContainer, token: unknown): GuardKind | null {
  if (token === TokenManager || String(token).startsWith(String(getTokenManagerToken('')))) return 'manager'
  const metatypes = [...modules.values()].map(({ providers }) => providers.get(token as string)?.metatype)
  return [token, ...metatypes].map(readGuardKind).find((kind) => kind !== null) ?? null
}

function toToken(injected: unknown): unknown {
  const isOptional = typeof injected === 'object' && injected !== null && 'token' in injected
  return isOptional ? injected.token : injected
}

/** Tells @nestjs/swagger which routes a manager guards, except those that tell it something themselves. */
export function markSecurity(modules: ModulesContainer, config: TokenConfig, manager?: string): void {
  // Guards of routes are not registered as providers. One that is, is there for APP_GUARD.
  const globals = listProviders(modules).filter((guard) => readGuardKind(guard) === 'token')
  for (const controller of listControllers(modules)) {
    for (const handler of listMethods(controller)) {
      const guards = [...globals, ...listGuards(handler, controller)]
      const own = guards.filter((guard) => usesManager(guard, manager))
      markRoute([handler, controller], own, config)
    }
  }
}

function markRoute(
  [handler, controller]: readonly [Handler, Type],
  guards: readonly unknown[],
  config: TokenConfig,
): void {
  const access = readGuarded(guards, handler, controller)
  const method = RequestMethod[reflector.get<RequestMethod>(METADATA.method, handler)]
  const stated = reflector.getAllAndOverride<unknown>(METADATA.apiSecurity, [handler, controller])
  if (access === 'public' || method === undefined || stated !== undefined) return
  const security = securityRequirements(config, method, readType(guards))
  // Tokens in a JSON body only: an empty list would say that the route is open.
  if (security.length === 0) return
  SetMetadata(METADATA.apiSecurity, access === 'optional' ? [{}, ...security] : security)(handler)
}

function readGuarded(guards: readonly unknown[], handler: Handler, controller: Type): Access {
  if (guards.some((guard) => readGuardKind(guard) !== 'token')) return 'required'
  return guards.length === 0 ? 'public' : readAccess(handler, controller)
}

// The guards of a route come before the guards of its controller.
function readType(guards: readonly unknown[]): TokenType | 'any' {
  const guard = guards.find((one) => readGuardKind(one) === 'refresh' || isDependencyGuard(one))
  if (guard === undefined) return 'access'
  return isDependencyGuard(guard) ? guard.type : 'refresh'
}

function usesManager(guard: unknown, manager: string | undefined): boolean {
  if (isDependencyGuard(guard)) return manager === undefined
  // Routes name classes of these, and instances of the other.
  const isManagerGuard = typeof guard === 'function' && readGuardKind(guard) !== null
  return isManagerGuard && (guard as unknown as typeof ManagerGuard).manager === manager
}

function isDependencyGuard(guard: unknown): guard is DependencyGuard {
  return readGuardKind(guard) === 'dependency'
}
