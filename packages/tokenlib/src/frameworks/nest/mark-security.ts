import { RequestMethod, SetMetadata, type Type } from '@nestjs/common'
import { MetadataScanner, type ModulesContainer, Reflector } from '@nestjs/core'
import type { TokenType } from '../../tokens/payload.js'
import { securityRequirements } from '../../routes/openapi.js'
import type { TokenConfig } from '../../config/config.js'
import { type Access, readAccess } from './access.js'
import type { DependencyGuard } from './depends.js'
import { readGuardKind } from './guard-kind.js'
import type { ManagerGuard } from './token-guards.js'

// Where @UseGuards(), @Get() and @ApiSecurity() write; no package exports these names.
const GUARDS_METADATA = '__guards__'
const METHOD_METADATA = 'method'
const SECURITY_METADATA = 'swagger/apiSecurity'

const reflector = new Reflector()
const scanner = new MetadataScanner()

/** Tells @nestjs/swagger which routes a manager guards, except those that tell it something themselves. */
export function markSecurity(modules: ModulesContainer, config: TokenConfig, manager?: string): void {
  const loaded = [...modules.values()]
  // The guards of routes are no providers; one that is, is there for APP_GUARD.
  const providers = loaded.flatMap((module) => [...module.providers.values()])
  const globals = providers
    .map(({ metatype }) => metatype)
    .filter((guard) => readGuardKind(guard) === 'token')
  for (const { metatype } of loaded.flatMap((module) => [...module.controllers.values()])) {
    const controller = metatype as Type<object>
    const prototype = controller.prototype as Record<string, () => unknown>
    for (const name of scanner.getAllMethodNames(prototype)) {
      const targets = [prototype[name] as () => unknown, controller] as const
      const guards = [...globals, ...reflector.getAll<unknown[]>(GUARDS_METADATA, [...targets]).flat()]
      const own = guards.filter((guard) => usesManager(guard, manager))
      markRoute(targets, readGuarded(own, ...targets), readType(own), config)
    }
  }
}

function markRoute(
  [handler, controller]: readonly [() => unknown, Type],
  access: Access,
  type: TokenType | 'any',
  config: TokenConfig,
): void {
  const method = RequestMethod[reflector.get<RequestMethod>(METHOD_METADATA, handler)]
  const stated = reflector.getAllAndOverride<unknown>(SECURITY_METADATA, [handler, controller])
  if (access === 'public' || method === undefined || stated !== undefined) return
  const security = securityRequirements(config, method, type)
  // Tokens in a JSON body only: an empty list would say that the route is open.
  if (security.length === 0) return
  SetMetadata(SECURITY_METADATA, access === 'optional' ? [{}, ...security] : security)(handler)
}

function readGuarded(guards: readonly unknown[], handler: () => unknown, controller: Type): Access {
  if (guards.some((guard) => readGuardKind(guard) !== 'token')) return 'required'
  return guards.length === 0 ? 'public' : readAccess(handler, controller)
}

// The guards of the route come before those of its controller.
function readType(guards: readonly unknown[]): TokenType | 'any' {
  const guard = guards.find((one) => readGuardKind(one) === 'refresh' || isDependencyGuard(one))
  if (guard === undefined) return 'access'
  return isDependencyGuard(guard) ? guard.type : 'refresh'
}

function usesManager(guard: unknown, manager: string | undefined): boolean {
  if (isDependencyGuard(guard)) return manager === undefined
  return isManagerGuard(guard) && guard.manager === manager
}

function isDependencyGuard(guard: unknown): guard is DependencyGuard {
  return readGuardKind(guard) === 'dependency'
}

// Routes name classes of these, and instances of the other.
function isManagerGuard(guard: unknown): guard is typeof ManagerGuard {
  return typeof guard === 'function' && readGuardKind(guard) !== null
}
