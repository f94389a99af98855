import { defineHandler, H3, type H3Event, handleCors, HTTPError, readBody, readFormData, setCookie } from 'h3'
import { toNodeHandler } from 'h3/node'
import { serveNode } from '../../../examples/server.js'
import * as adapter from '../../../packages/tokenlib/src/frameworks/h3.js'
import {
  type Common,
  createPair,
  createReader,
  readErrorOptions,
  type Route,
  type Routes,
  runRoute,
  sendToServer,
  splitPath,
  type StartOptions,
  type Values,
} from './framework.js'

const READERS: Readonly<Record<string, (event: H3Event) => Promise<unknown>>> = {
  'readBody(event)': (event) => readBody(event),
  'event.req.json()': (event) => event.req.json(),
  'event.req.text()': async (event) => JSON.parse(await event.req.text()) as unknown,
}

const COMMON: Common = {
  enforceForms: ['middleware of the route', 'app.use(path)', 'defineHandler', 'a mounted application'],
  injectForms: ['a handler'],
  bodyReaders: Object.keys(READERS).map((name) => createReader(name, name === 'event.req.text()')),
  isMultipartRead: true,
  isInjectedInOrder: true,
  isErrorLogged: true,
  createHttpError: () => new HTTPError({ status: 418, message: 'short and stout' }),
  withoutDependency: [() => adapter.enforce(), () => adapter.inject({}, () => 'ran')],
  withDependency: [
    (dependency) => adapter.enforce(dependency),
    (payload) => adapter.inject({ payload }, () => 'ran'),
  ],
}

/** h3 by itself, and on a Node server of its own making. */
export const H3_FRAMEWORKS = createPair(
  'h3',
  COMMON,
  (routes, options) => {
    const app = createApp(routes, options)
    return (request) => app.fetch(request)
  },
  async (routes, options) => sendToServer(await serveNode(toNodeHandler(createApp(routes, options)), 0)),
)

function createApp(routes: Routes, options: StartOptions): H3 {
  const { own, origin } = options
  const app = new H3()
  if (origin !== undefined) {
    app.use((event) => {
      const answer = handleCors(event, { origin: [origin] })
      return answer === false ? undefined : answer
    })
  }
  const errors = readErrorOptions(options)
  if (errors !== null) app.use(adapter.handleErrors(errors))
  if (own !== undefined) {
    app.use(async (_event, next) => {
      try {
        return await next()
      } catch (error) {
        if (error instanceof own) return new Response(null, { status: 410 })
        throw error
      }
    })
  }
  for (const [path, route] of Object.entries(routes)) mount(app, path, route)
  return app
}

function mount(app: H3, path: string, route: Route): void {
  const { method = 'GET', enforceAs, inject } = route
  const read = READERS[route.reader ?? ''] ?? ((event: H3Event) => readBody(event))
  const answer = (values: Values, event: H3Event): Promise<object> =>
    runRoute(route, values, {
      sources: [event.req],
      header: (name) => event.req.headers.get(name),
      body: () => read(event),
      text: () => event.req.text(),
      form: async () => Object.fromEntries(await readFormData(event)),
      sendCookies: (cookies) => adapter.sendCookies(event, cookies),
      setCookie: (name, value) => setCookie(event, name, value),
    })
  const handler =
    inject === undefined ? (event: H3Event) => answer({}, event) : adapter.inject(inject, answer)
  const middleware = route.enforce === undefined ? [] : [adapter.enforce(...route.enforce)]
  if (enforceAs === 'app.use(path)') {
    for (const guard of middleware) app.use(path, guard)
    app.on(method, path, handler)
  } else if (enforceAs === 'defineHandler') app.on(method, path, defineHandler({ middleware, handler }))
  else if (enforceAs === 'a mounted application') {
    const [parent, child] = splitPath(path)
    const mounted = new H3()
    for (const guard of middleware) mounted.use(guard)
    app.mount(parent, mounted.on(method, child, handler))
  } else app.on(method, path, handler, { middleware })
}
