import type { TokenManager } from '../manager.js'
import { internalsOf } from '../sessions/internals.js'
import { createRoute, createRouter, type Methods, type MountableRoutes, type Route } from './router.js'
import { createErrorAnswer } from './session-routes/answers.js'
import { answerLogin, answerRefresh, answerStepUp } from './session-routes/login.js'
import { answerDeviceRefresh, answerDeviceRegister } from './session-routes/device-bound.js'
import { DEVICE_ROUTES, type DeviceRouteName, type RouteName, ROUTES } from './session-routes/route-table.js'
import {
  assertBindable,
  assertManager,
  assertRouteOptions,
  type RouteParts,
  type SessionRoutesOptions,
} from './session-routes/options.js'
import {
  answerEndOtherSessions,
  answerEndSession,
  answerLogout,
  answerLogoutEverywhere,
  answerRenameSession,
  answerSession,
  answerSessions,
} from './session-routes/sessions.js'

export type { OpenApiContent, OpenApiOperation, OpenApiParameter, OpenApiSchema } from './openapi.js'
export type { MountableRoutes } from './router.js'
export type { SessionAnswer, SessionRouteErrorCode } from './session-routes/answers.js'
export {
  describeSessionRoutes,
  type DescribedManager,
  type SessionRoutesDescription,
} from './session-routes/openapi.js'
export type {
  Credentials,
  LoginAttempt,
  LoginOutcome,
  LoginRateLimit,
  LoginResult,
  RememberLifetimes,
  SessionRoutesOptions,
} from './session-routes/options.js'

/** A route on its own; it answers token errors itself, and other methods than its own with 405. */
export type SessionRoute = Route

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
  /** `PATCH sessions/:id` */
  readonly renameSession: (request: Request, id: string) => Promise<Response>
  /** `DELETE sessions` */
  readonly endOtherSessions: SessionRoute
  /** `POST step-up` */
  readonly stepUp: SessionRoute
}

type Answer = (parts: RouteParts, request: Request, id: string) => Promise<Response>

const ANSWERS: Readonly<Record<RouteName, Answer>> = {
  login: answerLogin,
  refresh: answerRefresh,
  logout: answerLogout,
  logoutEverywhere: answerLogoutEverywhere,
  session: answerSession,
  sessions: answerSessions,
  endSession: answerEndSession,
  renameSession: answerRenameSession,
  endOtherSessions: answerEndOtherSessions,
  stepUp: answerStepUp,
}

const DEVICE_ANSWERS: Readonly<Record<DeviceRouteName, Answer>> = {
  deviceRegister: answerDeviceRegister,
  deviceRefresh: answerDeviceRefresh,
}

/**
 * Routes for login, refresh, logout and the list of sessions. Mount them with the `mount` of an adapter.
 *
 * @example
 * const routes = createSessionRoutes(tokens, {
 *   logIn: async ({ name, password }) => findUser(name, password),
 * })
 */
export function createSessionRoutes<
  Input extends object,
  Output extends object,
  Subject,
  Data extends object,
>(
  tokens: TokenManager<Input, Output, Subject, Data>,
  options: NoInfer<SessionRoutesOptions<Input, Input, Data>>,
): SessionRoutes {
  assertRouteOptions(options)
  const { path = '/auth', deviceBound = false } = options
  assertManager(tokens, path)
  if (deviceBound) assertBindable(tokens.config)
  if (options.describeUser !== undefined) internalsOf(tokens).setDescribeUser(options.describeUser)
  const accessTokenRequired = tokens.require({ issuer: 'own' })
  const parts = { tokens, accessTokenRequired, options } as unknown as RouteParts
  const all = Object.keys(ANSWERS) as readonly RouteName[]
  // The route checks its method itself: an application could mount it for GET, which needs no CSRF value.
  const createFor = (
    answers: readonly (readonly [method: string, answer: Answer])[],
  ): Route<[id?: string]> => {
    const methods = answers.map(([method, answer]) => [
      method,
      (request: Request, id = '') => answer(parts, request, id),
    ])
    return createRoute(Object.fromEntries(methods) as Methods<[id?: string]>, (error) =>
      createErrorAnswer(parts, error),
    )
  }
  const create = (names: readonly RouteName[]): Route<[id?: string]> =>
    createFor(names.map((name) => [ROUTES[name].method, ANSWERS[name]]))
  const single = Object.fromEntries(all.map((name) => [name, create([name])])) as Record<
    RouteName,
    Route<[id?: string]>
  >
  // Without the id, a handler that forgets it would answer 404 to everything.
  const withId =
    (name: 'endSession' | 'renameSession') =>
    async (request: Request, id: string): Promise<Response> => {
      if (typeof id !== 'string') throw new TypeError(`${name}() takes a request and the id of a session`)
      return single[name](request, id)
    }
  const ofSession = create(['endSession', 'renameSession'])
  const routes = all.map((name) => [
    `/${ROUTES[name].path}`,
    create(all.filter((other) => ROUTES[other].path === ROUTES[name].path)),
  ])
  const devices = (Object.keys(DEVICE_ANSWERS) as DeviceRouteName[]).map((name) => [
    `/${DEVICE_ROUTES[name].path}`,
    createFor([[DEVICE_ROUTES[name].method, DEVICE_ANSWERS[name]]]),
  ])
  const router = createRouter({
    path,
    routes: Object.fromEntries(deviceBound ? [...routes, ...devices] : routes) as Record<string, Route>,
    find(rest) {
      const id = SESSION_PATH.exec(rest)?.[1]
      return id === undefined ? null : (request) => ofSession(request, decode(id))
    },
  })

  const byId = { endSession: withId('endSession'), renameSession: withId('renameSession') }
  return Object.freeze({ ...single, ...byId, ...router })
}

// At least one character: `DELETE sessions/` must not be taken for `DELETE sessions`.
const SESSION_PATH = /^\/sessions\/([^/]+)$/

// An id that is not valid percent-encoding stays as it is: no session has it.
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
