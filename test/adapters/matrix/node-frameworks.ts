import { parse as parseQuery } from 'node:querystring'
import { text } from 'node:stream/consumers'
import cors from '@fastify/cors'
import formbody from '@fastify/formbody'
import { Router as KoaRouter } from '@koa/router'
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import Koa, { type Context, type Middleware } from 'koa'
import { serveNode } from '../../../examples/server.js'
import * as forExpress from '../../../src/adapters/express.js'
import * as forFastify from '../../../src/adapters/fastify.js'
import * as forKoa from '../../../src/adapters/koa.js'
import {
  type BodyReader,
  type Call,
  type Framework,
  readErrorOptions,
  type Route,
  type Routes,
  runRoute,
  sendToServer,
  splitPath,
  type StartOptions,
  type Values,
} from './framework.js'

const PARSED_FIRST = 'a body parser before the guard'
const PARSED_LATER = 'a body parser behind the guard'
const UNPARSED = 'no body parser'

/** Where Express and Koa may have their body parser. */
const PARSERS: readonly BodyReader[] = [
  { name: PARSED_FIRST, malformed: 400, empty: 401 },
  { name: PARSED_LATER, malformed: 401, empty: 401 },
  { name: UNPARSED, malformed: 401, empty: 401, isRaw: true },
]

/** A guard between what parses a body, as the reader of the route wants it. */
function placeParsers<Handler>(route: Route, parsers: readonly Handler[], guards: readonly Handler[]) {
  return {
    before: route.reader === PARSED_FIRST ? parsers : [],
    guards,
    after: route.reader === PARSED_LATER ? parsers : [],
  }
}

export const EXPRESS: Framework = {
  name: 'Express',
  enforceForms: ['a handler of the route', 'app.use(path)', 'a handler of a router'],
  injectForms: ['a handler', 'middleware'],
  bodyReaders: PARSERS,
  isMultipartRead: false,
  isInjectedInOrder: true,
  // In the environment `test`.
  isErrorLogged: false,
  createTeapot: () => Object.assign(new Error('short and stout'), { status: 418 }),
  withoutDependency: [() => forExpress.enforce(), () => forExpress.inject({})],
  withDependency: [
    (dependency) => forExpress.enforce(dependency),
    (payload) => forExpress.inject({ payload }),
    (payload) => forExpress.inject({ payload }, () => {}),
  ],
  async start(routes, options) {
    const app = express()
    if (options.origin !== undefined) app.use(allowExpressOrigin(options.origin))
    for (const [path, route] of Object.entries(routes)) mountExpress(app, path, route)
    if (options.own !== undefined) app.use(answerGone(options.own))
    const errors = readErrorOptions(options)
    if (errors !== null) app.use(forExpress.handleErrors(errors))
    return sendToServer(await serveNode(app, 0))
  },
}

function mountExpress(app: express.Express, path: string, route: Route): void {
  const { enforceAs = EXPRESS.enforceForms[0], method = 'GET' } = route
  const parsers = [express.json(), express.urlencoded()]
  const guard = route.enforce && [forExpress.enforce(...route.enforce) as RequestHandler]
  const { before, guards, after } = placeParsers(route, parsers, guard ?? [])
  const answer = async (values: Values, req: Request, res: Response): Promise<void> => {
    res.json(await runRoute(route, values, callOfExpress(req, res)))
  }
  const last: RequestHandler[] = []
  if (route.inject === undefined) last.push((req, res) => answer({}, req, res))
  else if (route.injectAs === 'middleware') {
    last.push(forExpress.inject(route.inject), (req, res) => answer(res.locals, req, res))
  } else last.push(forExpress.inject(route.inject, answer))

  const verb = method === 'GET' ? 'get' : 'post'
  if (enforceAs === 'app.use(path)') {
    if (guards.length > 0) app.use(path, ...before, ...guards)
    app[verb](path, ...after, ...last)
  } else if (enforceAs === 'a handler of a router') {
    const [parent, child] = splitPath(path)
    const router = express.Router()
    router.use(...before, ...guards, ...after)
    router[verb](child, ...last)
    app.use(parent, router)
  } else app[verb](path, ...before, ...guards, ...after, ...last)
}

const callOfExpress = (req: Request, res: Response): Call => ({
  source: req,
  header: (name) => req.get(name),
  body: async () =>
    req.body === undefined ? (JSON.parse(await text(req)) as unknown) : (req.body as unknown),
  text: () => text(req),
  form: () => req.body as unknown,
  sendCookies: (cookies) => forExpress.sendCookies(res, cookies),
  setCookie: (cookie) => void res.append('set-cookie', cookie),
})

// What the `cors` package does.
const allowExpressOrigin =
  (origin: string): RequestHandler =>
  (req, res, next) => {
    res.set('access-control-allow-origin', origin)
    if (req.method === 'OPTIONS') res.status(204).end()
    else next()
  }

const answerGone =
  (type: NonNullable<StartOptions['own']>): ErrorRequestHandler =>
  (error, _req, res, next) => {
    if (error instanceof type) res.status(410).end()
    else next(error)
  }

export const KOA: Framework = {
  name: 'Koa',
  enforceForms: [
    'middleware of the route',
    'router.use(path)',
    'app.use',
    'middleware before a nested router',
  ],
  injectForms: ['a handler', 'middleware'],
  bodyReaders: PARSERS,
  isMultipartRead: false,
  isInjectedInOrder: true,
  isErrorLogged: true,
  createTeapot: () => Object.assign(new Error('short and stout'), { status: 418, expose: true }),
  withoutDependency: [() => forKoa.enforce(), () => forKoa.inject({})],
  withDependency: [
    (dependency) => forKoa.enforce(dependency),
    (payload) => forKoa.inject({ payload }),
    (payload) => forKoa.inject({ payload }, () => {}),
  ],
  async start(routes, options) {
    const app = new Koa()
    const errors = readErrorOptions(options)
    if (errors !== null) app.use(forKoa.handleErrors(errors))
    if (options.origin !== undefined) app.use(allowKoaOrigin(options.origin))
    if (options.own !== undefined) app.use(catchGone(options.own))
    const router = new KoaRouter()
    for (const [path, route] of Object.entries(routes)) mountKoa(app, router, path, route)
    app.use(router.routes() as Middleware)
    const handle = app.callback()
    return sendToServer(await serveNode((req, res) => void handle(req, res), 0))
  },
}

function mountKoa(app: Koa, router: KoaRouter, path: string, route: Route): void {
  const { enforceAs = KOA.enforceForms[0], method = 'GET' } = route
  const guard = route.enforce && [forKoa.enforce(...route.enforce) as Middleware]
  const { before, guards, after } = placeParsers(route, [parseKoaBody], guard ?? [])
  const answer = async (values: Values, ctx: Context): Promise<void> => {
    ctx.body = await runRoute(route, values, callOfKoa(ctx))
  }
  const last: Middleware[] = []
  if (route.inject === undefined) last.push((ctx) => answer({}, ctx))
  else if (route.injectAs === 'middleware') {
    last.push(forKoa.inject(route.inject) as Middleware, (ctx) => answer(ctx.state, ctx))
  } else last.push(forKoa.inject(route.inject, answer) as Middleware)

  const verb = method === 'GET' ? 'get' : 'post'
  if (enforceAs === 'router.use(path)') {
    if (guards.length > 0) router.use(path, ...before, ...guards)
    router[verb](path, ...after, ...last)
  } else if (enforceAs === 'app.use') {
    for (const one of [...before, ...guards])
      app.use((ctx, next) => (ctx.path === path ? one(ctx, next) : next()))
    router[verb](path, ...after, ...last)
  } else if (enforceAs === 'middleware before a nested router') {
    const [parent, child] = splitPath(path)
    const nested = new KoaRouter()
    nested[verb](child, ...after, ...last)
    router.use(parent, ...before, ...guards, nested.routes() as Middleware)
  } else router[verb](path, ...before, ...guards, ...after, ...last)
}

// What Koa's body parsers do: read the stream once, and leave what they made of it at ctx.request.
const parseKoaBody: Middleware = async (ctx, next) => {
  const request = ctx.request as { body?: unknown }
  const body = await text(ctx.req)
  if (ctx.is('urlencoded')) request.body = { ...parseQuery(body) }
  else {
    try {
      request.body = body === '' ? {} : (JSON.parse(body) as unknown)
    } catch {
      ctx.throw(400)
    }
  }
  await next()
}

const callOfKoa = (ctx: Context): Call => {
  const parsed = (): unknown => (ctx.request as { body?: unknown }).body
  return {
    source: ctx.req,
    header: (name) => ctx.get(name),
    body: async () => parsed() ?? (JSON.parse(await text(ctx.req)) as unknown),
    text: () => text(ctx.req),
    form: parsed,
    sendCookies: (cookies) => forKoa.sendCookies(ctx, cookies),
    setCookie: (cookie) => ctx.append('set-cookie', cookie),
  }
}

// What @koa/cors does.
const allowKoaOrigin =
  (origin: string): Middleware =>
  (ctx, next) => {
    ctx.set('access-control-allow-origin', origin)
    return ctx.method === 'OPTIONS' ? void (ctx.status = 204) : next()
  }

const catchGone =
  (type: NonNullable<StartOptions['own']>): Middleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      if (!(error instanceof type)) throw error
      ctx.status = 410
    }
  }

export const FASTIFY: Framework = {
  name: 'Fastify',
  enforceForms: ['onRequest', 'preValidation', 'preHandler', 'a hook of a context'],
  injectForms: ['a handler'],
  bodyReaders: [
    { name: 'preValidation', enforceAs: 'preValidation', malformed: 400, empty: 400 },
    { name: 'preHandler', enforceAs: 'preHandler', malformed: 400, empty: 400 },
    { name: 'inject', injectAs: 'a handler', malformed: 400, empty: 400 },
  ],
  isMultipartRead: false,
  isInjectedInOrder: true,
  isErrorLogged: true,
  createTeapot: () => Object.assign(new Error('short and stout'), { statusCode: 418 }),
  withoutDependency: [() => forFastify.enforce(), () => forFastify.inject({}, () => 'ran')],
  withDependency: [
    (dependency) => forFastify.enforce(dependency),
    (payload) => forFastify.inject({ payload }, () => 'ran'),
  ],
  async start(routes, options) {
    const stream = { write: (line: string) => options.log?.(line) }
    const app = Fastify({ forceCloseConnections: true, logger: { level: 'error', stream } })
    const errors = readErrorOptions(options)
    const standard = errors === null ? null : forFastify.handleErrors(errors)
    const { own, origin } = options
    if (standard !== null) {
      app.setErrorHandler((error, request, reply) =>
        own !== undefined && error instanceof own
          ? reply.code(410).send({ own: true })
          : standard(error, request, reply),
      )
    }
    if (origin !== undefined) await app.register(cors, { origin })
    await app.register(formbody)
    await app.register(async (instance) => mountFastify(instance, routes))
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    return sendToServer({ url, close: () => app.close() })
  },
}

async function mountFastify(app: FastifyInstance, routes: Routes): Promise<void> {
  for (const [url, route] of Object.entries(routes)) {
    const { method = 'GET', enforceAs = FASTIFY.enforceForms[0] ?? '' } = route
    const answer = (values: Values, request: FastifyRequest, reply: FastifyReply): Promise<object> =>
      runRoute(route, values, callOfFastify(request, reply))
    const handler =
      route.inject === undefined
        ? (request: FastifyRequest, reply: FastifyReply) => answer({}, request, reply)
        : forFastify.inject(route.inject, answer)
    const guard = route.enforce && forFastify.enforce(...route.enforce)
    if (guard === undefined) app.route({ method, url, handler })
    else if (enforceAs === 'a hook of a context') {
      await app.register(async (context) => {
        context.addHook('onRequest', guard)
        // A context inside it is guarded too.
        await context.register(async (inner) => void inner.route({ method, url, handler }))
      })
    } else app.route({ method, url, handler, [enforceAs]: guard })
  }
}

const callOfFastify = (request: FastifyRequest, reply: FastifyReply): Call => ({
  source: request,
  header: (name) => request.headers[name],
  body: () => request.body,
  text: () => Promise.reject(new TypeError('Fastify has parsed the body')),
  form: () => request.body,
  sendCookies: (cookies) => forFastify.sendCookies(reply, cookies),
  setCookie: (cookie) => void reply.header('set-cookie', cookie),
})
