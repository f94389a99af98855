import { defineHandler, H3, type H3Event, handleCors, HTTPError, readBody, readFormData } from 'h3'
import { toNodeHandler } from 'h3/node'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { HTTPException } from 'hono/http-exception'
import { serveNode } from '../../../examples/server.js'
import * as forFetch from '../../../src/adapters/fetch.js'
import * as forH3 from '../../../src/adapters/h3.js'
import * as forHono from '../../../src/adapters/hono.js'
import {
  type BodyReader,
  type Call,
  callInProcess,
  type Fetch,
  type Framework,
  readErrorOptions,
  type Route,
  type Routes,
  runRoute,
  type Send,
  sendToServer,
  serveOnNode,
  splitPath,
  type StartOptions,
  type Values,
  withFirstForms,
} from './framework.js'

const createReader = (name: string, isRaw = false): BodyReader => ({
  name,
  malformed: 401,
  empty: 401,
  isRaw,
})

/** What a framework has in common wherever it runs. */
type Common = Omit<Framework, 'name' | 'start'>

const FETCH: Common = {
  enforceForms: ['a wrapper'],
  injectForms: ['a handler'],
  bodyReaders: [createReader('request.json()'), createReader('request.text()', true)],
  isMultipartRead: true,
  isInjectedInOrder: true,
  isErrorLogged: false,
  withoutDependency: [() => forFetch.enforce(), () => forFetch.inject({}, () => new Response())],
  withDependency: [
    (dependency) => forFetch.enforce(dependency),
    (payload) => forFetch.inject({ payload }, () => new Response()),
  ],
}

function createFetchHandler(routes: Routes, options: StartOptions): Fetch {
  const { own, origin } = options
  const handlers = Object.entries(routes).map(
    ([path, route]) => [`${route.method ?? 'GET'} ${path}`, createFetchRoute(route)] as const,
  )
  const table = new Map<string, Fetch>(handlers)
  const find: Fetch = (request) => {
    const handler = table.get(`${request.method} ${new URL(request.url).pathname}`)
    return handler === undefined ? new Response(null, { status: 404 }) : handler(request)
  }
  const catchOwn: Fetch = async (request) => {
    try {
      return await find(request)
    } catch (error) {
      if (own !== undefined && error instanceof own) return new Response(null, { status: 410 })
      throw error
    }
  }
  const errors = readErrorOptions(options)
  const handle = errors === null ? catchOwn : forFetch.handleErrors(errors)(catchOwn)
  if (origin === undefined) return handle
  return async (request) => {
    const response =
      request.method === 'OPTIONS' ? new Response(null, { status: 204 }) : await handle(request)
    response.headers.set('access-control-allow-origin', origin)
    return response
  }
}

function createFetchRoute(route: Route): Fetch {
  const answer = async (values: Values, request: Request): Promise<Response> => {
    const steps: ((response: Response) => Response)[] = []
    const value = await runRoute(route, values, {
      source: request,
      header: (name) => request.headers.get(name),
      body: () => request.json(),
      text: () => request.text(),
      form: async () => Object.fromEntries(await request.formData()),
      sendCookies: (cookies) => steps.push((response) => forFetch.sendCookies(response, cookies)),
      setCookie: (cookie) =>
        steps.push((response) => {
          response.headers.append('set-cookie', cookie)
          return response
        }),
    })
    return steps.reduce((response, step) => step(response), Response.json(value))
  }
  const handler: Fetch =
    route.inject === undefined ? (request) => answer({}, request) : forFetch.inject(route.inject, answer)
  return route.enforce === undefined ? handler : forFetch.enforce(...route.enforce)(handler)
}

const HONO_READERS: Readonly<Record<string, (c: Context) => Promise<unknown>>> = {
  'c.req.json()': (c) => c.req.json(),
  'c.req.text()': async (c) => JSON.parse(await c.req.text()) as unknown,
  'c.req.arrayBuffer()': async (c) =>
    JSON.parse(Buffer.from(await c.req.arrayBuffer()).toString()) as unknown,
  'c.req.blob()': async (c) => JSON.parse(await (await c.req.blob()).text()) as unknown,
}

const HONO: Common = {
  enforceForms: ['middleware of the route', 'app.use(path)', 'middleware of a sub-application'],
  injectForms: ['a handler', 'middleware'],
  bodyReaders: Object.keys(HONO_READERS).map((name) => createReader(name, name === 'c.req.text()')),
  isMultipartRead: true,
  isInjectedInOrder: true,
  isErrorLogged: true,
  createTeapot: () => new HTTPException(418, { message: 'short and stout' }),
  withoutDependency: [() => forHono.enforce(), () => forHono.inject({})],
  withDependency: [
    (dependency) => forHono.enforce(dependency),
    (payload) => forHono.inject({ payload }),
    (payload) => forHono.inject({ payload }, () => new Response()),
  ],
}

function createHono(routes: Routes, options: StartOptions): Fetch {
  const app = new Hono()
  const errors = readErrorOptions(options)
  const standard = errors === null ? null : forHono.handleErrors(errors)
  const { own, origin } = options
  if (standard !== null) {
    app.onError((error, c) =>
      own !== undefined && error instanceof own ? c.text('own', 410) : standard(error, c),
    )
  }
  if (origin !== undefined) app.use(cors({ origin }))
  for (const [path, route] of Object.entries(routes)) mountHono(app, path, route)
  return (request) => app.fetch(request)
}

function mountHono(app: Hono, path: string, route: Route): void {
  const { method = 'GET', enforceAs, inject } = route
  const read = HONO_READERS[route.reader ?? ''] ?? ((c: Context) => c.req.json())
  const answer = async (values: Values, c: Context): Promise<Response> => {
    const call: Call = {
      source: c.req.raw,
      header: (name) => c.req.header(name),
      body: () => read(c),
      text: () => c.req.text(),
      form: () => c.req.parseBody(),
      sendCookies: (cookies) => forHono.sendCookies(c, cookies),
      setCookie: (cookie) => c.header('set-cookie', cookie, { append: true }),
    }
    return c.json(await runRoute(route, values, call))
  }
  const last: MiddlewareHandler[] = []
  if (inject === undefined) last.push((c) => answer({}, c))
  else if (route.injectAs === 'middleware') last.push(forHono.inject(inject), (c) => answer(c.var, c))
  else last.push(forHono.inject(inject, answer))

  const guards = route.enforce === undefined ? [] : [forHono.enforce(...route.enforce)]
  if (enforceAs === 'app.use(path)') {
    app.use(path, ...guards)
    app.on(method, [path], ...last)
  } else if (enforceAs === 'middleware of a sub-application') {
    const [parent, child] = splitPath(path)
    const sub = new Hono()
    sub.use(...guards)
    sub.on(method, [child], ...last)
    app.route(parent, sub)
  } else app.on(method, [path], ...guards, ...last)
}

const H3_READERS: Readonly<Record<string, (event: H3Event) => Promise<unknown>>> = {
  'readBody(event)': (event) => readBody(event),
  'event.req.json()': (event) => event.req.json(),
  'event.req.text()': async (event) => JSON.parse(await event.req.text()) as unknown,
}

const H3_COMMON: Common = {
  enforceForms: ['middleware of the route', 'app.use(path)', 'defineHandler', 'a mounted application'],
  injectForms: ['a handler'],
  bodyReaders: Object.keys(H3_READERS).map((name) => createReader(name, name === 'event.req.text()')),
  isMultipartRead: true,
  isInjectedInOrder: true,
  isErrorLogged: true,
  createTeapot: () => new HTTPError({ status: 418, message: 'short and stout' }),
  withoutDependency: [() => forH3.enforce(), () => forH3.inject({}, () => 'ran')],
  withDependency: [
    (dependency) => forH3.enforce(dependency),
    (payload) => forH3.inject({ payload }, () => 'ran'),
  ],
}

function createH3(routes: Routes, options: StartOptions): H3 {
  const { own, origin } = options
  const app = new H3()
  if (origin !== undefined) {
    app.use((event) => {
      const answer = handleCors(event, { origin: [origin] })
      return answer === false ? undefined : answer
    })
  }
  const errors = readErrorOptions(options)
  if (errors !== null) app.use(forH3.handleErrors(errors))
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
  for (const [path, route] of Object.entries(routes)) mountH3(app, path, route)
  return app
}

function mountH3(app: H3, path: string, route: Route): void {
  const { method = 'GET', enforceAs, inject } = route
  const read = H3_READERS[route.reader ?? ''] ?? ((event: H3Event) => readBody(event))
  const answer = (values: Values, event: H3Event): Promise<object> =>
    runRoute(route, values, {
      source: event.req,
      header: (name) => event.req.headers.get(name),
      body: () => read(event),
      text: () => event.req.text(),
      form: async () => Object.fromEntries(await readFormData(event)),
      sendCookies: (cookies) => forH3.sendCookies(event, cookies),
      setCookie: (cookie) => event.res.headers.append('set-cookie', cookie),
    })
  const handler = inject === undefined ? (event: H3Event) => answer({}, event) : forH3.inject(inject, answer)
  const middleware = route.enforce === undefined ? [] : [forH3.enforce(...route.enforce)]
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

/** Every framework of the Fetch standard, by itself and on Node. */
export const FETCH_FRAMEWORKS: readonly Framework[] = [
  ...createPair('Fetch', FETCH, createFetchHandler),
  ...createPair('Hono', HONO, createHono),
  ...createPair(
    'h3',
    H3_COMMON,
    (routes, options) => (request) => createH3(routes, options).fetch(request),
    (routes, options) => serveNode(toNodeHandler(createH3(routes, options)), 0).then(sendToServer),
  ),
]

function createPair(
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
