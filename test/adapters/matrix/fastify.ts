import cors from '@fastify/cors'
import formbody from '@fastify/formbody'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import * as adapter from '../../../packages/tokenlib/src/frameworks/fastify.js'
import {
  type Call,
  type Framework,
  readErrorOptions,
  type Routes,
  runRoute,
  sendToServer,
  type Values,
} from './framework.js'

const HOOKS = ['onRequest', 'preValidation', 'preHandler'] as const

export const FASTIFY: Framework = {
  name: 'Fastify',
  enforceForms: [
    ...HOOKS.map((hook) => `${hook} of the route`),
    ...HOOKS.map((hook) => `${hook} of a context`),
  ],
  injectForms: ['a handler'],
  bodyReaders: [
    { name: 'preValidation', enforceAs: 'preValidation of the route', malformed: 400, empty: 400 },
    { name: 'preHandler', enforceAs: 'preHandler of the route', malformed: 400, empty: 400 },
    { name: 'inject', injectAs: 'a handler', malformed: 400, empty: 400 },
  ],
  isMultipartRead: false,
  isInjectedInOrder: true,
  isErrorLogged: true,
  createHttpError: () => Object.assign(new Error('short and stout'), { statusCode: 418 }),
  withoutDependency: [() => adapter.enforce(), () => adapter.inject({}, () => 'ran')],
  withDependency: [
    (dependency) => adapter.enforce(dependency),
    (payload) => adapter.inject({ payload }, () => 'ran'),
  ],
  async start(routes, options) {
    const stream = { write: (line: string) => options.log?.(line) }
    const app = Fastify({ forceCloseConnections: true, logger: { level: 'error', stream } })
    const errors = readErrorOptions(options)
    const standard = errors === null ? null : adapter.handleErrors(errors)
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
        : adapter.inject(route.inject, answer)
    const guard = route.enforce && adapter.enforce(...route.enforce)
    const hook = HOOKS.find((name) => enforceAs.startsWith(name)) ?? 'onRequest'
    if (guard === undefined) app.route({ method, url, handler })
    else if (enforceAs.endsWith('of a context')) {
      await app.register(async (context) => {
        context.addHook(hook as 'onRequest', guard)
        // A context inside it is guarded too.
        await context.register(async (inner) => void inner.route({ method, url, handler }))
      })
    } else app.route({ method, url, handler, [hook]: guard })
  }
}

const callOfFastify = (request: FastifyRequest, reply: FastifyReply): Call => ({
  sources: [request, request.raw],
  header: (name) => request.headers[name],
  body: () => request.body,
  text: () => Promise.reject(new TypeError('Fastify has parsed the body')),
  form: () => request.body,
  sendCookies: (cookies) => adapter.sendCookies(reply, cookies),
  setCookie: (name, value) => void reply.header('set-cookie', `${name}=${value}; Path=/`),
})
