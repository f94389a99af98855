import { text } from 'node:stream/consumers'
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express'
import { serveNode } from '../../../examples/server.js'
import * as adapter from '../../../packages/tokenlib/src/frameworks/express.js'
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

export const EXPRESS: Framework = {
  name: 'Express',
  enforceForms: ['a handler of the route', 'app.use(path)', 'a handler of a router'],
  injectForms: ['a handler', 'middleware'],
  bodyReaders: PARSERS,
  isMultipartRead: false,
  isInjectedInOrder: true,
  // In the environment `test`.
  isErrorLogged: false,
  createHttpError: () =>
    Object.assign(new Error('short and stout'), { status: 418, headers: { 'x-reason': 'tea' } }),
  withoutDependency: [() => adapter.enforce(), () => adapter.inject({})],
  withDependency: [
    (dependency) => adapter.enforce(dependency),
    (payload) => adapter.inject({ payload }),
    (payload) => adapter.inject({ payload }, () => {}),
  ],
  async start(routes, options) {
    const app = express()
    if (options.origin !== undefined) app.use(allowExpressOrigin(options.origin))
    for (const [path, route] of Object.entries(routes)) mountExpress(app, path, route)
    if (options.own !== undefined) app.use(answerGone(options.own))
    const errors = readErrorOptions(options)
    if (errors !== null) app.use(adapter.handleErrors(errors))
    return sendToServer(await serveNode(app, 0))
  },
}

function mountExpress(app: express.Express, path: string, route: Route): void {
  const { enforceAs = EXPRESS.enforceForms[0], method = 'GET' } = route
  const parsers = [express.json(), express.urlencoded()]
  const guard = route.enforce && [adapter.enforce(...route.enforce) as RequestHandler]
  const { before, guards, after } = placeParsers(route, parsers, guard ?? [])
  const answer = async (values: Values, req: Request, res: Response): Promise<void> => {
    res.json(await runRoute(route, values, callOfExpress(req, res)))
  }
  const last: RequestHandler[] = []
  if (route.inject === undefined) last.push((req, res) => answer({}, req, res))
  else if (route.injectAs === 'middleware') {
    last.push(adapter.inject(route.inject), (req, res) => answer(res.locals, req, res))
  } else last.push(adapter.inject(route.inject, answer))

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
  sources: [req],
  header: (name) => req.get(name),
  body: async () =>
    req.body === undefined ? (JSON.parse(await text(req)) as unknown) : (req.body as unknown),
  text: () => text(req),
  form: () => req.body as unknown,
  sendCookies: (cookies) => adapter.sendCookies(res, cookies),
  setCookie: (name, value) => void res.cookie(name, value),
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
  (type: ErrorClass): ErrorRequestHandler =>
  (error, _req, res, next) => {
    if (error instanceof type) res.status(410).end()
    else next(error)
  }
