import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  type NestInterceptor,
  NotFoundException,
  Param,
  Res,
  UseInterceptors,
} from '@nestjs/common'
import { lastValueFrom, type Observable, of } from 'rxjs'
import type { MountableRoutes } from '../../routes/router.js'
import { sendFetchResponse, toFetchRequest, toNodeBody } from '../node-bridge.js'
import type { SessionRoutes } from '../../routes/session-routes.js'

/** The names of the methods that are routes. */
export type SessionRouteName = Exclude<keyof SessionRoutes, keyof MountableRoutes>

/** Where a controller finds its routes: they are made when the application is initialised and their path is known. */
export class SessionRoutesSource {
  #routes: SessionRoutes | null = null

  get routes(): SessionRoutes {
    if (this.#routes === null) throw new TypeError('The session routes are there after app.init()')
    return this.#routes
  }

  open(routes: SessionRoutes): void {
    this.#routes = routes
  }
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

  /** What the methods call; there once the application is initialised. */
  protected get routes(): SessionRoutes {
    return this.routesSource.routes
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

  /** `DELETE sessions` */
  endOtherSessions(request: Request): Promise<Response> {
    return this.routes.endOtherSessions(request)
  }

  /** `POST step-up` */
  stepUp(request: Request): Promise<Response> {
    return this.routes.stepUp(request)
  }
}
// At a property: the constructor belongs to the classes that extend this one.
Inject(SessionRoutesSource)(SessionController.prototype, 'routesSource')

/** What Express' request and Fastify's have in common; Fastify keeps Node's in `raw`. */
interface PlatformRequest {
  readonly raw?: IncomingMessage
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
  const request = context.switchToHttp().getRequest<PlatformRequest>()
  const { method, originalUrl: url, protocol, host, ip, rawBody, body } = request
  // Express takes `DELETE sessions/` for `DELETE sessions`, which ends every other session.
  if (url.split('?', 1)[0]?.endsWith('/') === true) throw new NotFoundException(`Cannot ${method} ${url}`)
  const message = request.raw ?? (request as unknown as IncomingMessage)
  const response = context.switchToHttp().getResponse<ServerResponse | FastifyReply>()
  const raw = 'raw' in response ? response.raw : response
  return toFetchRequest(message, raw, { url, origin: `${protocol}://${host}`, ip, body: rawBody ?? body })
})

type FastifyReply = {
  readonly raw: ServerResponse
  code(status: number): unknown
  header(name: string, value: string): unknown
  send(body: unknown): unknown
}

/** Sends the Fetch responses that the routes of a controller return; whatever another method of it returns is Nest's. */
const sendResponses: NestInterceptor = {
  async intercept(context: ExecutionContext, next: CallHandler<unknown>): Promise<Observable<unknown>> {
    if (!responders.has(context.getHandler())) return next.handle()
    const response = await lastValueFrom(next.handle())
    // By its tag: the class may be that of a polyfill.
    if (Object.prototype.toString.call(response) !== '[object Response]') {
      throw new TypeError(`${context.getHandler().name}() of a SessionController must return a Response`)
    }
    await send(response as Response, context.switchToHttp().getResponse<ServerResponse | FastifyReply>())
    // The response is sent; interceptors of the whole application have nothing to change or to keep.
    return of(undefined)
  },
}
UseInterceptors(sendResponses)(SessionController)

async function send(response: Response, target: ServerResponse | FastifyReply): Promise<void> {
  const raw = 'raw' in target ? target.raw : target
  // Something else has answered, such as a timeout.
  if (raw.headersSent) return
  if (!('raw' in target)) return sendFetchResponse(response, target)
  target.code(response.status)
  for (const [name, value] of response.headers) target.header(name, value)
  target.send(toNodeBody(response))
}

const responders = new WeakSet<object>()

// Behind every parameter that a class might add. It tells Nest that the response is sent already.
const RESPONSE_INDEX = 15

/** Makes a method take a Fetch request, and its Fetch response the answer. */
export function respond(prototype: object, name: string, handler: object): void {
  responders.add(handler)
  FetchRequest()(prototype, name, 0)
  if (name === ('endSession' satisfies SessionRouteName)) Param('id')(prototype, name, 1)
  Res()(prototype, name, RESPONSE_INDEX)
}
