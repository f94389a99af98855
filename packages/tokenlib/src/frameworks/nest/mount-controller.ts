import {
  Controller,
  Delete,
  Get,
  Patch,
  Post,
  Put,
  type RequestMethod,
  SetMetadata,
  type Type,
  VERSION_NEUTRAL,
} from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import { Public, readAccess } from './access.js'
import { respond, SessionController, type SessionRouteName } from './session-controller.js'

type Verb = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
const VERBS = { GET: Get, POST: Post, PUT: Put, PATCH: Patch, DELETE: Delete } as const

/** A route: the method of its handler, its HTTP method and its path below that of the controller. */
export const SESSION_ROUTES: readonly (readonly [name: SessionRouteName, verb: Verb, path: string])[] = [
  ['login', 'POST', 'login'],
  ['refresh', 'POST', 'refresh'],
  ['logout', 'POST', 'logout'],
  ['logoutEverywhere', 'POST', 'logout-everywhere'],
  ['session', 'GET', 'session'],
  ['sessions', 'GET', 'sessions'],
  ['endSession', 'DELETE', 'sessions/:id'],
  ['endOtherSessions', 'DELETE', 'sessions'],
  ['stepUp', 'POST', 'step-up'],
]

// Where Nest's decorators and those of @nestjs/swagger write; no package exports these names.
const CONTROLLER_METADATA = '__controller__'
const PATH_METADATA = 'path'
const METHOD_METADATA = 'method'
const VERSION_METADATA = '__version__'
const EXCLUDED_METADATA = 'swagger/apiExcludeEndpoint'

const reflector = new Reflector()

/**
 * A controller of Nest with the routes of a class, at a path. It is a class of its own, so that two managers can have
 * controllers of the same class.
 */
export function mountController(base: Type<SessionController>, path: string): Type<SessionController> {
  assertController(base, path)
  class MountedController extends base {
    // Of a route that does not have the method of the request, which it therefore refuses.
    async refuse(name: SessionRouteName, allow: string, request: Request): Promise<Response> {
      const response = await (name === 'endSession'
        ? this.routes.endSession(request, '')
        : this.routes[name](request))
      response.headers.set('allow', allow)
      return response
    }
  }
  Object.defineProperty(MountedController, 'name', { value: base.name })
  // Its host and scope are inherited, unless there is no decorator to inherit from.
  if (reflector.get(CONTROLLER_METADATA, base) !== true) Controller()(MountedController)
  SetMetadata(PATH_METADATA, path)(MountedController)
  // Cookies of a session belong to every version.
  SetMetadata(VERSION_METADATA, VERSION_NEUTRAL)(MountedController)

  const prototype = MountedController.prototype as unknown as Record<string, Handler>
  for (const [name, verb, below] of SESSION_ROUTES) addRoute(prototype, name, verb, [below])
  for (const [name, , below] of SESSION_ROUTES) {
    const own = SESSION_ROUTES.filter(([, , path]) => path === below).map(([, verb]) => verb)
    const allow = own.flatMap((verb) => (verb === 'GET' ? ['GET', 'HEAD'] : [verb])).join(', ')
    for (const verb of Object.keys(VERBS) as Verb[]) {
      const refusal = `refuse ${verb} ${below}`
      if (own.includes(verb) || Object.hasOwn(prototype, refusal)) continue
      // Each is a function of its own: Nest keeps the path and the method of a route at its handler.
      prototype[refusal] = function refuse(this: MountedController, request) {
        return this.refuse(name, allow, request)
      }
      addRoute(prototype, refusal, verb, [below])
      SetMetadata(EXCLUDED_METADATA, { disable: true })(prototype[refusal])
    }
  }
  return MountedController
}

type Handler = (this: never, request: Request) => Promise<Response>

// A method that overrides another has none of its metadata.
function addRoute(prototype: Record<string, Handler>, name: string, verb: Verb, paths: string[]): void {
  const handler = prototype[name] as Handler
  const descriptor = { value: handler }
  if (reflector.get<RequestMethod | undefined>(METHOD_METADATA, handler) === undefined) {
    VERBS[verb](paths)(prototype, name, descriptor)
  }
  // The routes check tokens themselves: a log-in has none, and a log-out may have an expired one.
  if (readAccess(handler, handler) === 'required') Public()(prototype, name, descriptor)
  respond(prototype, name, handler)
}

function assertController(base: Type<SessionController>, path: string): void {
  if (base !== SessionController && !(base?.prototype instanceof SessionController)) {
    throw new TypeError('controller must be a class that extends SessionController')
  }
  const own = reflector.get<string | string[] | undefined>(PATH_METADATA, base)
  if (own !== undefined && own !== '/' && `/${String(own)}`.replace('//', '/') !== path) {
    throw new TypeError(
      `@Controller('${String(own)}') of ${base.name}: set the path with SessionModule.forRoot({ path })`,
    )
  }
  const prototype = base.prototype as unknown as Record<string, Handler>
  const targets = [base, ...SESSION_ROUTES.map(([name]) => prototype[name] as Handler)]
  if (targets.some((target) => reflector.get<unknown>(VERSION_METADATA, target) !== undefined)) {
    throw new TypeError(`${base.name} must not have a version: the session routes belong to all of them`)
  }
}
