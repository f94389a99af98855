import { parse as parseQuery } from 'node:querystring'
import { text } from 'node:stream/consumers'
import { Router } from '@koa/router'
import Koa, { type Context, type Middleware } from 'koa'
import { serveNode } from '../../../examples/server.js'
import * as adapter from '../../../packages/tokenlib/src/frameworks/koa.js'
import {
  type Call,
  type ErrorClass,
  type Framework,
  PARSERS,
  placeParsers,
  readErrorOptions,
  type Route,
  runRoute,
  sendToServer,
  splitPath,
  type Values,
} from './framework.js'

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
  createHttpError: () =>
    Object.assign(new Error('short and stout'), {
      status: 418,
      expose: true,
      headers: { 'x-reason': 'tea' },
    }),
  withoutDependency: [() => adapter.enforce(), () => adapter.inject({})],
  withDependency: [
    (dependency) => adapter.enforce(dependency),
    (payload) => adapter.inject({ payload }),
    (payload) => adapter.inject({ payload }, () => {}),
  ],
  async start(routes, options) {
    const app = new Koa()
    const errors = readErrorOptions(options)
    if (errors !== null) app.use(adapter.handleErrors(errors))
    if (options.origin !== undefined) app.use(allowKoaOrigin(options.origin))
    if (options.own !== undefined) app.use(catchGone(options.own))
    const router = new Router()
    for (const [path, route] of Object.entries(routes)) mountKoa(app, router, path, route)
    app.use(router.routes() as Middleware)
    const handle = app.callback()
    return sendToServer(await serveNode((req, res) => void handle(req, res), 0))
  },
}

function mountKoa(app: Koa, router: Router, path: string, route: Route): void {
  const { enforceAs = KOA.enforceForms[0], method = 'GET' } = route
  const guard = route.enforce && [adapter.enforce(...route.enforce) as Middleware]
  const { before, guards, after } = placeParsers(route, [parseKoaBody], guard ?? [])
  const answer = async (values: Values, ctx: Context): Promise<void> => {
    ctx.body = await runRoute(route, values, callOfKoa(ctx))
  }
  const last: Middleware[] = []
  if (route.inject === undefined) last.push((ctx) => answer({}, ctx))
  else if (route.injectAs === 'middleware') {
    last.push(adapter.inject(route.inject) as Middleware, (ctx) => answer(ctx.state, ctx))
  } else last.push(adapter.inject(route.inject, answer) as Middleware)

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
    const nested = new Router()
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
    sources: [ctx.req],
    header: (name) => ctx.get(name),
    body: async () => parsed() ?? (JSON.parse(await text(ctx.req)) as unknown),
    text: () => text(ctx.req),
    form: parsed,
    sendCookies: (cookies) => adapter.sendCookies(ctx, cookies),
    setCookie: (name, value) => void ctx.cookies.set(name, value, { httpOnly: false }),
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
  (type: ErrorClass): Middleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      if (!(error instanceof type)) throw error
      ctx.status = 410
    }
  }
