import { type Context, Elysia } from 'elysia'
import * as adapter from '../../../packages/tokenlib/src/frameworks/elysia.js'
import {
  type BodyReader,
  type Call,
  callInProcess,
  type Framework,
  readErrorOptions,
  type Route,
  type Routes,
  runRoute,
  serveOnNode,
  type StartOptions,
  type Values,
  withFirstForms,
} from './framework.js'

type Config = Pick<NonNullable<ConstructorParameters<typeof Elysia>[0]>, 'aot'>

const RAW = 'request.text()'
// Elysia compiles a route so that its body is left alone if the route does not use it.
const COMPILED_READERS: readonly BodyReader[] = [
  { name: 'body', malformed: 400, empty: 400 },
  { name: 'body behind inject', injectAs: 'a handler', malformed: 400, empty: 400 },
  { name: RAW, malformed: 401, empty: 401, isRaw: true },
]
// With `aot` off it parses every body, and what it cannot parse is an error like any other.
const READERS: readonly BodyReader[] = [
  { name: 'body', malformed: 500, empty: 500 },
  { name: 'body behind inject', injectAs: 'a handler', malformed: 500, empty: 500 },
]

const createFramework = (name: string, isCompiled: boolean, start: Framework['start']): Framework => ({
  name,
  enforceForms: ['beforeHandle', 'transform', 'onBeforeHandle', 'guard', 'a macro'],
  injectForms: ['a handler', 'resolve', 'derive', 'a macro with resolve'],
  bodyReaders: isCompiled ? COMPILED_READERS : READERS,
  isMultipartRead: true,
  isInjectedInOrder: true,
  isErrorLogged: false,
  createHttpError: () => Object.assign(new Error('short and stout'), { status: 418 }),
  // Compiled without an error handler, Elysia has a response of its own for unknown paths.
  ...(isCompiled && { unknownPathType: 'text/plain' }),
  withoutDependency: [() => adapter.enforce(), () => adapter.inject({})],
  withDependency: [
    (dependency) => adapter.enforce(dependency),
    (payload) => adapter.inject({ payload }),
    (payload) => adapter.inject({ payload }, () => 'ran'),
  ],
  start,
})

/** Elysia in the ways it can run on Node. With `aot` off it runs routes by other code than with it. */
export const ELYSIA: readonly Framework[] = [
  createFramework('Elysia', true, (routes, options) => {
    const app = createApp(routes, options)
    return callInProcess((request) => app.handle(request))
  }),
  createFramework('Elysia with aot: false', false, (routes, options) => {
    const app = createApp(routes, options, { aot: false })
    return callInProcess((request) => app.handle(request))
  }),
  withFirstForms(
    createFramework('Elysia on Node', true, (routes, options) =>
      serveOnNode(createApp(routes, options).fetch),
    ),
  ),
]

function createApp(routes: Routes, options: StartOptions, config: Config = {}): Elysia {
  const { own, origin } = options
  const app = new Elysia(config)
  if (origin !== undefined) {
    app.onRequest(({ request, set }) => {
      set.headers['access-control-allow-origin'] = origin
      return request.method === 'OPTIONS' ? new Response(null, { status: 204 }) : undefined
    })
  }
  if (own !== undefined) {
    app.onError(({ error, set }) => {
      if (!(error instanceof own)) return undefined
      set.status = 410
      return 'own'
    })
  }
  const errors = readErrorOptions(options)
  if (errors !== null) app.onError(adapter.handleErrors(errors))
  for (const [path, route] of Object.entries(routes)) app.use(createInstance(path, route, config))
  return app
}

/** An instance of its own for each route, because hooks are for an instance. */
function createInstance(path: string, route: Route, config: Config): Elysia {
  const { method = 'GET', enforceAs = 'beforeHandle', injectAs = 'a handler', inject } = route
  const handler = createHandler(route, injectAs) as () => object
  const hooks: Record<string, unknown> = {}
  const app = new Elysia(config)
  if (inject !== undefined) {
    if (injectAs === 'resolve') app.resolve(adapter.inject(inject))
    if (injectAs === 'derive') app.derive(adapter.inject(inject))
    if (injectAs === 'a macro with resolve') {
      app.macro({ injected: { resolve: adapter.inject(inject) } })
      hooks['injected'] = true
    }
  }
  if (route.enforce !== undefined) {
    const guard = adapter.enforce(...route.enforce)
    if (enforceAs === 'guard') {
      app.guard({ beforeHandle: guard }, (inner) => inner.route(method, path, handler, hooks))
      return app
    }
    if (enforceAs === 'onBeforeHandle') app.onBeforeHandle(guard)
    else if (enforceAs === 'a macro') {
      app.macro({ guarded: { beforeHandle: guard } })
      hooks['guarded'] = true
    } else hooks[enforceAs] = guard
  }
  app.route(method, path, handler, hooks)
  return app
}

function createHandler(route: Route, injectAs: string): unknown {
  const answer = (values: Values, context: Pick<Context, 'request' | 'set'> & { body?: unknown }): unknown =>
    runRoute(route, values, callOfElysia(context))
  if (route.inject !== undefined && injectAs === 'a handler') return adapter.inject(route.inject, answer)
  // Elysia reads the source of a handler to see what it uses.
  if (route.reader === RAW) {
    return ({ request, set }: Context) => answer({}, { request, set })
  }
  return (context: Context) => answer(context, context)
}

const callOfElysia = ({
  request,
  set,
  body,
}: Pick<Context, 'request' | 'set'> & { body?: unknown }): Call => ({
  sources: [request],
  header: (name) => request.headers.get(name),
  body: () => body ?? request.json(),
  text: () => request.text(),
  form: () => body,
  sendCookies: (cookies) => adapter.sendCookies(set, cookies),
  setCookie: (name, value) => {
    set.cookie = { ...set.cookie, [name]: { value, path: '/' } }
  },
})
