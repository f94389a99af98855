import { onTestFinished } from 'vitest'
import { type RunningServer, serveFetch } from '../../../examples/server.js'
import type { Dependency, RequestSource } from '../../../packages/tokenlib/src/index.js'
import type { ErrorResponseOptions } from '../../../packages/tokenlib/src/kit.js'

/** The values of dependencies, by name. */
export type Values = Readonly<Record<string, unknown>>

/** What a route of any framework can do with its request and its response. */
export interface Call {
  /** Whatever stands for the request when the route calls a dependency by hand. */
  readonly sources: readonly [RequestSource, ...RequestSource[]]
  header(name: string): unknown
  /** The parsed body, as the reader of the route gives it. */
  body(): unknown
  /** The body as text, where the reader of the route is raw. */
  text(): Promise<string>
  /** The fields of a form. */
  form(): unknown
  sendCookies(cookies: readonly string[]): void
  /** Sets a cookie for the path `/`, in the way of the framework. */
  setCookie(name: string, value: string): void
}

/** A route of a test. Its path has two segments; the answer of `run` is sent as JSON. */
export interface Route {
  readonly method?: 'GET' | 'POST'
  readonly enforce?: readonly Dependency<unknown>[]
  /** One of the framework's `enforceForms`; the first unless given. */
  readonly enforceAs?: string
  readonly inject?: Readonly<Record<string, Dependency<unknown>>>
  /** One of the framework's `injectForms`; the first unless given. */
  readonly injectAs?: string
  /** The name of a `BodyReader`. */
  readonly reader?: string
  readonly run?: (values: Values, call: Call) => unknown
}

/** The routes of an application, by path. */
export type Routes = Readonly<Record<string, Route>>

/** How the application of a test differs from the plain one. */
export interface StartOptions {
  readonly handleErrors?: boolean | ErrorResponseOptions
  /** Errors of this class are answered with 410 by the application, before `handleErrors`. */
  readonly own?: ErrorClass
  /** Pages of this origin may read the answers. */
  readonly origin?: string
  /** Is given what the framework logs as an error, unless that goes to `console.error`. */
  readonly log?: (...logged: unknown[]) => void
}

export type ErrorClass = abstract new (...given: never[]) => Error

/** A place of the guard next to what reads the body, with the status of a JSON body that nobody can parse. */
export interface BodyReader extends Pick<Route, 'enforceAs' | 'injectAs'> {
  readonly name: string
  /** Is 401 where the guard comes before a parser. */
  readonly malformed: 400 | 401 | 500
  readonly empty: 400 | 401 | 500
  /** The route reads the body as text, after the guard. */
  readonly isRaw?: boolean
}

const PARSED_FIRST = 'a body parser before the guard'
const PARSED_LATER = 'a body parser behind the guard'

/** Where Express and Koa may have their body parser. */
export const PARSERS: readonly BodyReader[] = [
  { name: PARSED_FIRST, malformed: 400, empty: 401 },
  { name: PARSED_LATER, malformed: 401, empty: 401 },
  { name: 'no body parser', malformed: 401, empty: 401, isRaw: true },
]

/** A guard between what parses a body, as the reader of the route wants it. */
export function placeParsers<Handler>(route: Route, parsers: readonly Handler[], guards: readonly Handler[]) {
  return {
    before: route.reader === PARSED_FIRST ? parsers : [],
    guards,
    after: route.reader === PARSED_LATER ? parsers : [],
  }
}

/** Sends a request to an application, `authorization` from a token. */
export type Send = (path: string, init?: RequestInit & { readonly token?: string }) => Promise<Response>

/** How one framework mounts what every adapter has in common. */
export interface Framework {
  readonly name: string
  readonly enforceForms: readonly string[]
  readonly injectForms: readonly string[]
  readonly bodyReaders: readonly BodyReader[]
  /** The framework, or this library, parses multipart forms. */
  readonly isMultipartRead: boolean
  /** The framework resolves the dependencies of one route one after the other. */
  readonly isInjectedInOrder: boolean
  /** The framework logs errors that nobody handles. */
  readonly isErrorLogged: boolean
  /** An error of the framework's own for the status 418; without one, any error ends as a 500. */
  readonly createHttpError?: () => Error
  /** The media type of the answer to an unknown path, where any error handler at all changes it. */
  readonly unknownPathType?: string
  /** Calls that lack a dependency. */
  readonly withoutDependency: readonly (() => unknown)[]
  /** Calls that take one dependency. */
  readonly withDependency: readonly ((dependency: never) => unknown)[]
  start(routes: Routes, options: StartOptions): Promise<Send>
}

/** For `describe.each`, with the name as its title. */
export function byName(frameworks: readonly Framework[]): [name: string, framework: Framework][] {
  return frameworks.map((framework) => [framework.name, framework])
}

/** The same framework on another server: the forms are shown by the first. */
export function withFirstForms(framework: Framework): Framework {
  const { enforceForms, injectForms } = framework
  return { ...framework, enforceForms: enforceForms.slice(0, 1), injectForms: injectForms.slice(0, 1) }
}

/** A function from `Request` to `Response`. */
export type Fetch = (request: Request) => Response | Promise<Response>

/** A body that the guard has read before the route, and that the framework parses for neither. */
export const createReader = (name: string, isRaw = false): BodyReader => ({
  name,
  malformed: 401,
  empty: 401,
  isRaw,
})

/** What a framework has in common wherever it runs. */
export type Common = Omit<Framework, 'name' | 'start'>

/** A framework of the Fetch standard, by itself and on Node. */
export function createPair(
  name: string,
  common: Common,
  create: (routes: Routes, options: StartOptions) => Fetch,
  serve: Framework['start'] = (routes, options): Promise<Send> => serveOnNode(create(routes, options)),
): readonly Framework[] {
  return [
    { ...common, name, start: (routes, options) => callInProcess(create(routes, options)) },
    withFirstForms({ ...common, name: `${name} on Node`, start: serve }),
  ]
}

/** The path before the last segment, and the last segment. */
export function splitPath(path: string): readonly [parent: string, child: string] {
  const at = path.lastIndexOf('/')
  return [path.slice(0, at), path.slice(at)]
}

/** The options of `handleErrors`, or `null` where errors are not handled. */
export function readErrorOptions({ handleErrors = false }: StartOptions): ErrorResponseOptions | null {
  if (handleErrors === true) return {}
  return handleErrors === false ? null : handleErrors
}

/** The answer of a route. */
export async function runRoute(route: Route, values: Values, call: Call): Promise<object> {
  return (await (route.run ?? answerRan)(values, call)) as object
}

const answerRan = (): object => ({ ran: true })

/** Sends to a server, which is closed when the test ends. */
export function sendToServer(server: RunningServer): Send {
  onTestFinished(() => server.close())
  return (path, init) => fetch(server.url + path, toInit(init))
}

/** Serves a function from `Request` to `Response` on Node. */
export async function serveOnNode(handle: Fetch): Promise<Send> {
  return sendToServer(await serveFetch(handle, 0))
}

/** Hands requests to the function itself; one that rejects is the 500 of any server. */
export async function callInProcess(handle: Fetch): Promise<Send> {
  return async (path, init) => {
    try {
      return await handle(new Request(`http://localhost${path}`, toInit(init)))
    } catch {
      return new Response(null, { status: 500 })
    }
  }
}

function toInit({ token, ...init }: NonNullable<Parameters<Send>[1]> = {}): RequestInit {
  const headers = new Headers(init.headers)
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  return { ...init, headers }
}
