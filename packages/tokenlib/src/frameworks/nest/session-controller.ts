import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type CallHandler,
  Controller,
  createParamDecorator,
  Delete,
  type ExecutionContext,
  Get,
  Inject,
  type NestInterceptor,
  NotFoundException,
  Param,
  Patch,
  Post,
  Put,
  type RequestMethod,
  Res,
  SetMetadata,
  type Type,
  UseInterceptors,
  VERSION_NEUTRAL,
} from '@nestjs/common'
import { lastValueFrom, type Observable, of } from 'rxjs'
import type { SessionRoutes } from '../../routes/session-routes.js'
import { type RouteName, ROUTES } from '../../routes/session-routes/route-table.js'
import { sendFetchResponse, sendReply, toFetchRequest } from '../node-bridge.js'
import { type PlatformResponse, toNode } from './context.js'
import { METADATA, Public, readAccess, reflector } from './metadata.js'

/** Holds the routes of a controller. They are created when the application initialises and their path is known. */
export class SessionRoutesSource {
  routes: SessionRoutes | null = null
}

/**
 * The session routes as a controller of Nest. A class that extends it overrides a method to change what a route does, and
 * decorates it or the class with guards, interceptors and the like; `SessionModule` makes it a controller.
 *
 * @example
 * class AuthController extends SessionController {
 *   override async login(request: Request): Promise<Response> {
 *     const response = await super.login(request)
 *     if (response.ok) this.#mails.tellAboutLogin()
 *     return response
 *   }
 * }
 */
export class SessionController {
  /** Set by Nest. */
  declare protected readonly routesSource: SessionRoutesSource

  /** The routes that the methods call; set when the application initialises. */
  protected get routes(): SessionRoutes {
    const { routes } = this.routesSource
    if (routes === null) throw new TypeError('The session routes are there after app.init()')
    return routes
  }

  /** `POST login` */
  login(request: Request): Promise<Response> {
    return this.routes.login(request)
  }

  /** `POST refresh` */
  refresh(request: Request): Promise<Response> {
    return this.routes.refresh(request)
  }

  /** `POST logout` */
  logout(request: Request): Promise<Response> {
    return this.routes.logout(request)
  }

  /** `POST logout-everywhere` */
  logoutEverywhere(request: Request): Promise<Response> {
    return this.routes.logoutEverywhere(request)
  }

  /** `GET session` */
  session(request: Request): Promise<Response> {
    return this.routes.session(request)
  }

  /** `GET sessions` */
  sessions(request: Request): Promise<Response> {
    return this.routes.sessions(request)
  }

  /** `DELETE sessions/:id` */
  endSession(request: Request, id: string): Promise<Response> {
    return this.routes.endSession(request, id)
  }

  /** `PATCH sessions/:id` */
  renameSession(request: Request, id: string): Promise<Response> {
    return this.routes.renameSession(request, id)
  }

  /** `DELETE sessions` */
  endOtherSessions(request: Request): Promise<Response> {
    return this.routes.endOtherSessions(request)
  }

  /** `POST step-up` */
  stepUp(request: Request): Promise<Response> {
    return this.routes.stepUp(request)
  }
}
// Injected as a property: the constructor belongs to subclasses.
Inject(SessionRoutesSource)(SessionController.prototype, 'routesSource')

/** What Express' request and Fastify's have in common. */
interface PlatformRequest {
  readonly method: string
  readonly originalUrl: string
  readonly protocol: string
  readonly host: string
  readonly ip?: string
  readonly body?: unknown
  /** With `rawBody: true`: the body as it came. */
  readonly rawBody?: Uint8Array
}

const FetchRequest = createParamDecorator((_: unknown, context: ExecutionContext): Request => {
  const request = context.switchToHttp().getRequest<PlatformRequest & IncomingMessage>()
  const { method, originalUrl: url, protocol, host, ip, rawBody, body } = request
  // Express takes `DELETE sessions/` for `DELETE sessions`, which ends every other session.
  if (url.split('?', 1)[0]?.endsWith('/') === true) throw new NotFoundException(`Cannot ${method} ${url}`)
  const response = context.switchToHttp().getResponse<PlatformResponse>()
  const facts = { url, origin: `${protocol}://${host}`, ip, body: rawBody ?? body }
  return toFetchRequest(toNode(request), toNode(response), facts)
})

/** Sends the Fetch responses that session routes return. Nest handles the results of any other method. */
const sendResponses: NestInterceptor = {
  async intercept(context: ExecutionContext, next: CallHandler<unknown>): Promise<Observable<unknown>> {
    if (!responders.has(context.getHandler())) return next.handle()
    const response = await lastValueFrom(next.handle())
    // By its tag: the class may come from a polyfill.
    if (Object.prototype.toString.call(response) !== '[object Response]') {
      throw new TypeError(`${context.getHandler().name}() of a SessionController must return a Response`)
    }
    const target = context.switchToHttp().getResponse<PlatformResponse>()
    // Does nothing if the response was already sent, for example by a timeout.
    if (!toNode<ServerResponse>(target).headersSent) {
      if ('raw' in target) sendReply(response as Response, target)
      else await sendFetchResponse(response as Response, target)
    }
    // The response is already sent, so hide it from global interceptors.
    return of(undefined)
  },
}
UseInterceptors(sendResponses)(SessionController)

const responders = new WeakSet<object>()

// Comes after any parameter that a subclass might add. It tells Nest that the response is already sent.
const RESPONSE_INDEX = 15

type Verb = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
const VERBS = { GET: Get, POST: Post, PUT: Put, PATCH: Patch, DELETE: Delete } as const

/** A route: the name of its handler, its HTTP method and its path below the controller, in Nest's syntax. */
export const SESSION_ROUTES: readonly (readonly [name: RouteName, verb: Verb, path: string])[] =
  Object.entries(ROUTES).map(([name, { method, path }]) => [
    name as RouteName,
    method,
    path.replace(/\{(\w+)\}/, ':$1'),
  ])

/**
 * Creates a Nest controller with the routes of a class, at a path. It is a new class each time, so that two managers can
 * mount the same class.
 */
export function mountController(base: Type<SessionController>, path: string): Type<SessionController> {
  assertController(base, path)
  class MountedController extends base {
    // Routes reject unknown methods themselves.
    async refuse(name: RouteName, allow: string, request: Request): Promise<Response> {
      const response = await this.routes[name](request, '')
      response.headers.set('allow', allow)
      return response
    }
  }
  Object.defineProperty(MountedController, 'name', { value: base.name })
  // Inherits host and scope from the base class, if that has a decorator.
  if (reflector.get(METADATA.controller, base) !== true) Controller()(MountedController)
  SetMetadata(METADATA.path, path)(MountedController)
  // Session cookies are shared by all API versions.
  SetMetadata(METADATA.version, VERSION_NEUTRAL)(MountedController)

  const prototype = MountedController.prototype as unknown as Record<string, RouteHandler>
  for (const [name, verb, below] of SESSION_ROUTES) addRoute(prototype, name, verb, below)
  for (const [name, , below] of SESSION_ROUTES) {
    const own = SESSION_ROUTES.filter(([, , path]) => path === below).map(([, verb]) => verb)
    const allow = own.flatMap((verb) => (verb === 'GET' ? ['GET', 'HEAD'] : [verb])).join(', ')
    for (const verb of Object.keys(VERBS) as Verb[]) {
      const refusal = `refuse ${verb} ${below}`
      if (own.includes(verb) || Object.hasOwn(prototype, refusal)) continue
      // Wrap each handler: Nest stores the route's path and method on the function.
      prototype[refusal] = function refuse(this: MountedController, request) {
        return this.refuse(name, allow, request)
      }
      addRoute(prototype, refusal, verb, below)
      SetMetadata(METADATA.apiExcluded, { disable: true })(prototype[refusal])
    }
  }
  return MountedController
}

type RouteHandler = (this: never, request: Request) => Promise<Response>

// An overriding method does not inherit metadata.
function addRoute(prototype: Record<string, RouteHandler>, name: string, verb: Verb, path: string): void {
  const handler = prototype[name] as RouteHandler
  const descriptor = { value: handler }
  if (reflector.get<RequestMethod | undefined>(METADATA.method, handler) === undefined) {
    VERBS[verb]([path])(prototype, name, descriptor)
  }
  // The routes check tokens themselves: a login has none, and a logout may have an expired one.
  if (readAccess(handler, handler) === 'required') Public()(prototype, name, descriptor)
  // Converts the request for the handler, and sends the Fetch response it returns.
  responders.add(handler)
  FetchRequest()(prototype, name, 0)
  if (path.endsWith(':id')) Param('id')(prototype, name, 1)
  Res()(prototype, name, RESPONSE_INDEX)
}

/** Whether a value is `SessionController` or a class that extends it. */
export function isSessionController(value: unknown): boolean {
  return (
    value === SessionController ||
    (value as Type<object> | null | undefined)?.prototype instanceof SessionController
  )
}

function assertController(base: Type<SessionController>, path: string): void {
  const own = reflector.get<string | string[] | undefined>(METADATA.path, base)
  if (own !== undefined && own !== '/' && `/${String(own)}`.replace('//', '/') !== path) {
    throw new TypeError(
      `@Controller('${String(own)}') of ${base.name}: set the path with SessionModule.forRoot({ path })`,
    )
  }
  const prototype = base.prototype as unknown as Record<string, RouteHandler>
  const targets = [base, ...SESSION_ROUTES.map(([name]) => prototype[name] as RouteHandler)]
  if (targets.some((target) => reflector.get<unknown>(METADATA.version, target) !== undefined)) {
    throw new TypeError(`${base.name} must not have a version: the session routes belong to all of them`)
  }
}
