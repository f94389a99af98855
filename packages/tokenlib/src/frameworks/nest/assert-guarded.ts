import type { Type } from '@nestjs/common'
import { type ApplicationConfig, MetadataScanner, type ModulesContainer, Reflector } from '@nestjs/core'
import { ConfigurationError } from '../../errors.js'
import { TokenManager } from '../../manager.js'
import { readAccess } from './access.js'
import { type GuardKind, readGuardKind } from './guard-kind.js'
import { isProtected } from './protect-sockets.js'

// Where @WebSocketGateway(), @SubscribeMessage(), @MessagePattern(), @EventPattern() and @UseGuards() write; no package
// exports these names.
const GATEWAY_METADATA = 'websockets:is_gateway'
const SUBSCRIBE_METADATA = 'websockets:message_mapping'
const PATTERN_METADATA = 'microservices:pattern'
const GUARDS_METADATA = '__guards__'

const reflector = new Reflector()
const scanner = new MetadataScanner()

type Handler = () => unknown

/**
 * Throws `ConfigurationError` for gateways and message handlers that look guarded by a global guard of this package, but
 * are open: Nest 11 runs no global guards for gateways, and no version runs them for the microservices of a hybrid
 * application without `inheritAppConfig`.
 */
export function assertGuarded(modules: ModulesContainer, application: ApplicationConfig): void {
  const globals = readGlobalKinds(modules, application)
  assertGateways(modules, application, globals)
  assertMessageHandlers(modules, globals)
}

function assertGateways(
  modules: ModulesContainer,
  application: ApplicationConfig,
  globals: readonly GuardKind[],
): void {
  const adapter = application.getIoAdapter() as ReturnType<ApplicationConfig['getIoAdapter']> | null
  // Without an adapter Nest has connected no gateway.
  if (adapter === null || adapter === undefined || isProtected(adapter)) return
  for (const module of modules.values()) {
    for (const { metatype } of module.providers.values()) {
      if (!isGateway(metatype)) continue
      const handlers = listHandlers(metatype, SUBSCRIBE_METADATA)
      // A gateway without messages still sends what it likes to whoever is connected.
      const isOpen = (handlers.length === 0 ? [metatype] : handlers).every(
        (target) => !isMeantGuarded(globals, target, metatype),
      )
      if (isOpen && ![metatype, ...handlers].some(hasOwnGuard)) continue
      const otherwise = globals.length === 0 ? '' : `, or ${toExemption(globals, 'gateway')}`
      throw new ConfigurationError(
        `The sockets of ${metatype.name} are not authenticated: app.useWebSocketAdapter(protectSockets(new WsAdapter(app), tokens))${otherwise}`,
      )
    }
  }
}

function assertMessageHandlers(modules: ModulesContainer, globals: readonly GuardKind[]): void {
  for (const module of modules.values()) {
    for (const { metatype } of module.controllers.values()) {
      const controller = metatype as Type<object>
      const open = listHandlers(controller, PATTERN_METADATA).find(
        (handler) => isMeantGuarded(globals, handler, controller) && ![controller, handler].some(hasOwnGuard),
      )
      if (open === undefined) continue
      throw new ConfigurationError(
        `No global guard protects ${controller.name}.${open.name}(): messages of a microservice carry no token, and without inheritAppConfig Nest does not run the guard. To start, ${toExemption(globals, 'handler')}; guard it with a guard of your own if it needs one`,
      )
    }
  }
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
  return typeof metatype === 'function' && reflector.get<unknown>(GATEWAY_METADATA, metatype as Type) === true
}

function listHandlers(owner: Type<object>, metadata: string): Handler[] {
  const prototype = owner.prototype as Record<string, Handler>
  return scanner
    .getAllMethodNames(prototype)
    .map((name) => prototype[name] as Handler)
    .filter((method) => reflector.get<unknown>(metadata, method) !== undefined)
}

function hasOwnGuard(target: Type | Handler): boolean {
  const guards = reflector.get<unknown[] | undefined>(GUARDS_METADATA, target) ?? []
  return guards.some((guard) => readGuardKind(guard) !== null)
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
  if (token === TokenManager || String(token).startsWith(`${TokenManager.name}:`)) return 'manager'
  const metatypes = [...modules.values()].map(({ providers }) => providers.get(token as string)?.metatype)
  return [token, ...metatypes].map(readGuardKind).find((kind) => kind !== null) ?? null
}

function toToken(injected: unknown): unknown {
  const isOptional = typeof injected === 'object' && injected !== null && 'token' in injected
  return isOptional ? injected.token : injected
}
