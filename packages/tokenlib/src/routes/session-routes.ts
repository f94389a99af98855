import type { MountableRoutes } from './mountable-routes.js'
import type { AnyClaims } from '../tokens/payload.js'
import type { DescribeUser } from '../sessions/describe-user.js'
import type { TokenManager } from '../manager.js'
import { answerLogin } from './session-routes/login.js'
import { assertManager, assertRouteOptions, type SessionRoutesOptions } from './session-routes/options.js'
import { type RouteParts, toErrorAnswer } from './session-routes/parts.js'
import { answerRefresh, answerStepUp } from './session-routes/refresh.js'
import { RefusedRequest } from './session-routes/refused-request.js'
import {
  answerEndOtherSessions,
  answerEndSession,
  answerLogout,
  answerLogoutEverywhere,
  answerSession,
  answerSessions,
} from './session-routes/sessions.js'

export type { MountableRoutes } from './mountable-routes.js'
export type { SessionAnswer } from './session-routes/answers.js'
export type {
  Credentials,
  LoginAttempt,
  LoginOutcome,
  LoginRateLimit,
  LoginResult,
  RememberLifetimes,
  SessionRoutesOptions,
} from './session-routes/options.js'
export {
  describeSessionRoutes,
  type DescribedManager,
  type OpenApiContent,
  type OpenApiOperation,
  type OpenApiParameter,
  type OpenApiSchema,
  type SessionRoutesDescription,
} from './session-routes/openapi.js'
export type { SessionRouteErrorCode } from './session-routes/refused-request.js'

/** A route on its own; it answers token errors itself, and another method than its own with 405. */
export type SessionRoute = (request: Request) => Promise<Response>

/** The routes of sessions, together and one by one. All of them are bound functions. */
export interface SessionRoutes extends MountableRoutes {
  /** `POST login` */
  readonly login: SessionRoute
  /** `POST refresh` */
  readonly refresh: SessionRoute
  /** `POST logout` */
  readonly logout: SessionRoute
  /** `POST logout-everywhere` */
  readonly logoutEverywhere: SessionRoute
  /** `GET session` */
  readonly session: SessionRoute
  /** `GET sessions` */
  readonly sessions: SessionRoute
  /** `DELETE sessions/:id` */
  readonly endSession: (request: Request, id: string) => Promise<Response>
  /** `DELETE sessions` */
  readonly endOtherSessions: SessionRoute
  /** `POST step-up` */
  readonly stepUp: SessionRoute
}

/**
 * Routes for log-in, refresh, log-out and the list of sessions; mount them with the `mount` of an adapter.
 *
 * @example
 * const routes = createSessionRoutes(tokens, {
 *   logIn: async ({ name, password }) => findUser(name, password),
 * })
 */
export function createSessionRoutes<Input extends object, Output extends object, Subject>(
  tokens: TokenManager<Input, Output, Subject>,
  options: NoInfer<SessionRoutesOptions<Input>>,
): SessionRoutes {
  assertRouteOptions(options)
  const { path = '/auth' } = options
  assertManager(tokens, path)
  if (options.describeUser !== undefined)
    tokens.setDescribeUser(options.describeUser as DescribeUser<Input, AnyClaims>)
  const accessTokenRequired = tokens.require({ issuer: 'own' })
  const parts = { tokens, accessTokenRequired, options } as unknown as RouteParts
  const bind = createBinder(parts)

  const routes = {
    login: bind('POST', answerLogin),
    refresh: bind('POST', answerRefresh),
    logout: bind('POST', answerLogout),
    logoutEverywhere: bind('POST', answerLogoutEverywhere),
    session: bind('GET', answerSession),
    sessions: bind('GET', answerSessions),
    endSession: async (request: Request, id: string): Promise<Response> => {
      if (typeof id !== 'string') throw new TypeError('endSession() takes a request and the id of a session')
      return bind('DELETE', () => answerEndSession(parts, request, id))(request)
    },
    endOtherSessions: bind('DELETE', answerEndOtherSessions),
    stepUp: bind('POST', answerStepUp),
  } satisfies Omit<SessionRoutes, keyof MountableRoutes>

  const table: Readonly<Record<string, MethodTable>> = {
    login: { POST: routes.login },
    refresh: { POST: routes.refresh },
    logout: { POST: routes.logout },
    'logout-everywhere': { POST: routes.logoutEverywhere },
    session: { GET: routes.session },
    sessions: { GET: routes.sessions, DELETE: routes.endOtherSessions },
    'step-up': { POST: routes.stepUp },
  }

  const findRoute = (name: string): MethodTable | null => {
    if (Object.hasOwn(table, name)) return table[name] as MethodTable
    const id = SESSION_PATH.exec(name)?.[1]
    return id === undefined ? null : { DELETE: (request) => routes.endSession(request, decode(id)) }
  }

  return Object.freeze({
    ...routes,
    path,
    async handle(request: Request): Promise<Response | null> {
      const { pathname } = new URL(request.url)
      // The application answers pre-flights: it alone knows who may call it.
      if (!pathname.startsWith(`${path}/`) || request.method === 'OPTIONS') return null
      const methods = findRoute(pathname.slice(path.length + 1))
      if (methods === null) return null
      const route = methods[request.method === 'HEAD' ? 'GET' : request.method]
      return route === undefined ? methodNotAllowed(Object.keys(methods)).toResponse(tokens) : route(request)
    },
  })
}

type MethodTable = { readonly [method: string]: SessionRoute | undefined }

// With a slash at its end, `sessions/` is no route: it must not be taken for `DELETE sessions`.
const SESSION_PATH = /^sessions\/([^/]+)$/

// What is no percent-encoding is no id either; as it is, no session has it.
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

type Answer = (parts: RouteParts, request: Request) => Promise<Response>

// The method is checked here too: a route that an application mounts itself, for GET, would need no CSRF value.
function createBinder(parts: RouteParts): (method: string, answer: Answer) => SessionRoute {
  return (method, answer) => async (request) => {
    const isHead = method === 'GET' && request.method === 'HEAD'
    try {
      if (request.method !== method && !isHead) throw methodNotAllowed([method])
      const response = await answer(parts, request)
      return isHead ? new Response(null, response) : response
    } catch (error) {
      return toErrorAnswer(parts, error)
    }
  }
}

function methodNotAllowed(methods: readonly string[]): RefusedRequest {
  const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
  return new RefusedRequest(405, 'METHOD_NOT_ALLOWED', `The method must be one of ${allow}`, { allow })
}
