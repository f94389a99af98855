import { type CustomDecorator, SetMetadata } from '@nestjs/common'
import { Reflector } from '@nestjs/core'

/** What `TokenGuard` asks of a route. */
export type Access = 'required' | 'optional' | 'public'

const ACCESS = 'tokenlib:access'
const reflector = new Reflector()

/** `TokenGuard` lets every request on to this route or controller. */
export function Public(): CustomDecorator {
  return SetMetadata(ACCESS, 'public' satisfies Access)
}

/** `TokenGuard` lets a request without a token on to this route or controller; a bad token is refused. */
export function OptionalAuth(): CustomDecorator {
  return SetMetadata(ACCESS, 'optional' satisfies Access)
}

/** What is written at a handler, else at its class. */
export function readAccess(...targets: Parameters<Reflector['get']>[1][]): Access {
  return reflector.getAllAndOverride<Access | undefined>(ACCESS, targets) ?? 'required'
}
