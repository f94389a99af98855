import type { Type } from '@nestjs/common'
import { type ApplicationConfig, MetadataScanner, type ModulesContainer, Reflector } from '@nestjs/core'
import { ConfigurationError } from '../../errors.js'
import { readAccess } from './access.js'
import { DependencyGuard } from './depends.js'
import { isProtected } from './protect-sockets.js'
import { ManagerGuard, TokenGuard } from './token-guards.js'

// Where @WebSocketGateway(), @SubscribeMessage() and @UseGuards() write; no package exports these names.
const GATEWAY_METADATA = 'websockets:is_gateway'
const MESSAGE_METADATA = 'websockets:message_mapping'
const GUARDS_METADATA = '__guards__'

const reflector = new Reflector()
const scanner = new MetadataScanner()

/**
 * Throws `ConfigurationError` for a gateway that is meant to be guarded while its sockets are not authenticated.
 *
 * Nest 11 runs no global guards for the messages of gateways, so behind `TokenGuard` it would be open without a word.
 */
export function assertGateways(modules: ModulesContainer, application: ApplicationConfig): void {
  const adapter = application.getIoAdapter() as ReturnType<ApplicationConfig['getIoAdapter']> | null
  // Without an adapter Nest has connected no gateway.
  if (adapter === null || adapter === undefined || isProtected(adapter)) return
  const isGlobal = hasTokenGuard(application)
  for (const module of modules.values()) {
    for (const { metatype } of module.providers.values()) {
      if (isGateway(metatype) && isExposed(metatype, isGlobal)) throw unprotected(metatype.name)
    }
  }
}

function unprotected(gateway: string): ConfigurationError {
  return new ConfigurationError(
    `The sockets of ${gateway} are not authenticated: app.useWebSocketAdapter(protectSockets(new WsAdapter(app), tokens)), or mark the gateway with @Public()`,
  )
}

function hasTokenGuard(application: ApplicationConfig): boolean {
  const scoped = application.getGlobalRequestGuards().map(({ metatype }) => metatype as unknown)
  return (
    application.getGlobalGuards().some((guard) => guard instanceof TokenGuard) ||
    scoped.some((guard) => typeof guard === 'function' && isA(TokenGuard, guard))
  )
}

function isGateway(metatype: unknown): metatype is Type<object> {
  return typeof metatype === 'function' && reflector.get<unknown>(GATEWAY_METADATA, metatype as Type) === true
}

// A gateway without messages of its own still sends what it likes to whoever is connected.
function isExposed(gateway: Type<object>, isGlobal: boolean): boolean {
  const prototype = gateway.prototype as Record<string, () => unknown>
  const handlers = scanner
    .getAllMethodNames(prototype)
    .map((name) => prototype[name] as () => unknown)
    .filter((method) => reflector.get<unknown>(MESSAGE_METADATA, method) === true)
  const isOpen = (target: Type | (() => unknown)): boolean => readAccess(target, gateway) === 'public'
  const isPublic = handlers.length === 0 ? isOpen(gateway) : handlers.every(isOpen)
  return (isGlobal && !isPublic) || [gateway, ...handlers].some(hasOwnGuard)
}

function hasOwnGuard(target: Type | (() => unknown)): boolean {
  const guards = reflector.get<unknown[] | undefined>(GUARDS_METADATA, target) ?? []
  return guards.some(
    (guard) =>
      guard instanceof DependencyGuard ||
      guard instanceof ManagerGuard ||
      (typeof guard === 'function' && isA(ManagerGuard, guard)),
  )
}

function isA(base: typeof ManagerGuard, guard: { readonly prototype?: unknown }): boolean {
  return guard === base || guard.prototype instanceof base
}
