import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { setCookie } from 'hono/cookie'
import { cors } from 'hono/cors'
import { HTTPException } from 'hono/http-exception'
import * as adapter from '../../../packages/tokenlib/src/frameworks/hono.js'
import {
  type Call,
  type Common,
  createPair,
  createReader,
  type Fetch,
  readErrorOptions,
  type Route,
  type Routes,
  runRoute,
  splitPath,
  type StartOptions,
  type Values,
} from './framework.js'

const READERS: Readonly<Record<string, (c: Context) => Promise<unknown>>> = {
  'c.req.json()': (c) => c.req.json(),
  'c.req.text()': async (c) => JSON.parse(await c.req.text()) as unknown,
  'c.req.arrayBuffer()': async (c) =>
    JSON.parse(Buffer.from(await c.req.arrayBuffer()).toString()) as unknown,
  'c.req.blob()': async (c) => JSON.parse(await (await c.req.blob()).text()) as unknown,
}

const COMMON: Common = {
  enforceForms: ['middleware of the route', 'app.use(path)', 'middleware of a sub-application'],
  injectForms: ['a handler', 'middleware'],
  bodyReaders: Object.keys(READERS).map((name) => createReader(name, name === 'c.req.text()')),
  isMultipartRead: true,
  isInjectedInOrder: true,
  isErrorLogged: true,
  createHttpError: () => new HTTPException(418, { message: 'short and stout' }),
  withoutDependency: [() => adapter.enforce(), () => adapter.inject({})],
  withDependency: [
    (dependency) => adapter.enforce(dependency),
    (payload) => adapter.inject({ payload }),
    (payload) => adapter.inject({ payload }, () => new Response()),
  ],
}

/** Hono by itself, and on Node. */
export const HONO = createPair('Hono', COMMON, createApp)

function createApp(routes: Routes, options: StartOptions): Fetch {
  const app = new Hono()
  const errors = readErrorOptions(options)
  const standard = errors === null ? null : adapter.handleErrors(errors)
  const { own, origin } = options
  if (standard !== null) {
    app.onError((error, c) =>
      own !== undefined && error instanceof own ? c.text('own', 410) : standard(error, c),
    )
  }
  if (origin !== undefined) app.use(cors({ origin }))
  for (const [path, route] of Object.entries(routes)) mount(app, path, route)
  return (request) => app.fetch(request)
}

function mount(app: Hono, path: string, route: Route): void {
  const { method = 'GET', enforceAs, inject } = route
  const read = READERS[route.reader ?? ''] ?? ((c: Context) => c.req.json())
  const answer = async (values: Values, c: Context): Promise<Response> => {
    const call: Call = {
      sources: [c.req.raw],
      header: (name) => c.req.header(name),
      body: () => read(c),
      text: () => c.req.text(),
      form: () => c.req.parseBody(),
      sendCookies: (cookies) => adapter.sendCookies(c, cookies),
      setCookie: (name, value) => setCookie(c, name, value),
    }
    return c.json(await runRoute(route, values, call))
  }
  const last: MiddlewareHandler[] = []
  if (inject === undefined) last.push((c) => answer({}, c))
  else if (route.injectAs === 'middleware') last.push(adapter.inject(inject), (c) => answer(c.var, c))
  else last.push(adapter.inject(inject, answer))

  const guards = route.enforce === undefined ? [] : [adapter.enforce(...route.enforce)]
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
