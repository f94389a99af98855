import { type CustomDecorator, SetMetadata } from '@nestjs/common'
import type { Reflector } from '@nestjs/core'

/** What `TokenGuard` asks of a route. */
export type Access = 'required' | 'optional' | 'public'

const ACCESS = 'tokenlib:access'

/** `TokenGuard` lets every request on to this route or controller. */
export function Public(): CustomDecorator {
  return SetMetadata(ACCESS, 'public' satisfies Access)
}

/** `TokenGuard` lets a request without a token on to this route or controller; a bad token is refused. */
export function OptionalAuth(): CustomDecorator {
  return SetMetadata(ACCESS, 'optional' satisfies Access)
}

/** What is written at a handler, else at its class: at that class itself, not at one that it extends. */
export function readAccess(handler: Target, controller: Target): Access {
  return readOwn(handler) ?? readOwn(controller) ?? 'required'
}

type Target = Parameters<Reflector['get']>[1]
type ReadMetadata = (key: string, target: Target) => unknown

// Reflector looks at the classes above too, where a `@Public()` would open the routes of every class below.
function readOwn(target: Target): Access | undefined {
  const { getOwnMetadata } = Reflect as unknown as { getOwnMetadata: ReadMetadata }
  return getOwnMetadata(ACCESS, target) as Access | undefined
}
