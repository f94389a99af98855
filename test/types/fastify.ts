// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
import Fastify, { type FastifyRequest, type FastifyTypeProvider, type RouteHandlerMethod } from 'fastify'
import { z } from 'zod'
import { type Dependency, type RequestToken, TokenConfig, TokenManager, type TokenPayload } from 'tokenlib'
import { describeSecurity, enforce, handleErrors, inject, sendCookies } from 'tokenlib/fastify'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...differ: Equal<A, B> extends true ? [] : ['types differ']): void

const config = new TokenConfig({ JWT_SECRET_KEY: 's' })
const tokens = new TokenManager({ config, claims: z.object({ age: z.number() }) })
const getTokenDep: Dependency<RequestToken> = async (request) =>
  (await tokens.getTokenFromRequest(request)) ?? Promise.reject(new Error('none'))
const app = Fastify()
const guard = enforce(tokens.accessTokenRequired)

// Values have the types of their dependencies.
app.get(
  '/me',
  inject(
    { payload: tokens.accessTokenRequired, token: getTokenDep, one: () => 1 },
    ({ payload, token, one }, request, reply) => {
      same<typeof payload.age, number>()
      same<typeof token, RequestToken>()
      same<typeof one, number>()
      same<typeof request.params, unknown>()
      // @ts-expect-error there is no such claim
      void payload.agee
      return reply.code(201).send(payload.age)
    },
  ),
)
app.get(
  '/optional',
  inject({ payload: tokens.accessTokenOptional }, ({ payload }) => {
    same<typeof payload, TokenPayload<{ age: number }> | null>()
    // @ts-expect-error there may be no payload
    void payload.age
    return payload?.age ?? null
  }),
)
app.get(
  '/none',
  // @ts-expect-error nothing of that name was injected
  inject({ payload: tokens.accessTokenRequired }, ({ user }) => user),
)

// The generics of a route reach the handler.
interface Route {
  Params: { id: string }
  Querystring: { page: number }
  Body: { title: string }
  Reply: { kind: 'a' | 'b' }
}
app.post<Route>(
  '/:id',
  { preValidation: [guard] },
  inject({ payload: tokens.accessTokenRequired }, ({ payload }, request, reply) => {
    same<typeof request.params.id, string>()
    same<typeof request.query.page, number>()
    same<typeof request.body, { title: string }>()
    same<typeof payload.age, number>()
    // @ts-expect-error the route has no such parameter
    void request.params.name
    // @ts-expect-error the route sends no such answer
    void reply.send({ kind: 'c' })
    return { kind: 'a' }
  }),
)
app.post<Route>(
  '/wrong',
  // @ts-expect-error the route gives no such answer
  inject({ payload: tokens.accessTokenRequired }, () => ({ kind: 'c' })),
)
app.route<Route>({
  method: 'GET',
  url: '/:id',
  onRequest: guard,
  handler: inject({ payload: tokens.accessTokenRequired }, async function ({ payload }, request) {
    same<typeof request.params.id, string>()
    same<typeof this.prefix, string>()
    return { kind: payload.age > 1 ? 'a' : 'b' }
  }),
})

// A handler on its own, with Fastify's defaults or the types it says itself.
const alone = inject({ payload: tokens.accessTokenRequired }, ({ payload }, request, reply) => {
  same<typeof payload.age, number>()
  same<typeof request, FastifyRequest>()
  return reply.code(200).send(request.id)
})
app.get('/alone', { preHandler: guard }, alone)
const handler: RouteHandlerMethod = inject({ token: getTokenDep }, ({ token }) => token.location)
app.get('/handler', handler)

// A type provider types the request from its schema.
interface Provider extends FastifyTypeProvider {
  validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown
  serializer: this['schema'] extends z.ZodType ? z.input<this['schema']> : unknown
}
const typed = app.withTypeProvider<Provider>()
typed.post(
  '/typed',
  {
    onRequest: guard,
    schema: { body: z.object({ title: z.string() }), response: { 200: z.object({ size: z.number() }) } },
  },
  inject({ payload: tokens.accessTokenRequired }, ({ payload }, request, reply) => {
    same<typeof request.body, { title: string }>()
    same<typeof payload.age, number>()
    sendCookies(reply, [])
    return { size: request.body.title.length }
  }),
)
typed.addHook('preHandler', guard)
typed.setErrorHandler(handleErrors())
describeSecurity(typed, config)

// HTTP/2 has a request and a reply of its own.
const http2 = Fastify({ http2: true })
http2.addHook('onRequest', guard)
http2.addHook('preValidation', guard)
http2.addHook('preHandler', guard)
http2.setErrorHandler(handleErrors({ config }))
http2.get<{ Params: { id: string } }>(
  '/:id',
  { onRequest: guard },
  inject({ payload: tokens.accessTokenRequired }, ({ payload }, request, reply) => {
    same<typeof request.params.id, string>()
    void request.raw.stream
    sendCookies(reply, [])
    return payload.age
  }),
)
describeSecurity(http2, config)

// Dependencies can be called with the request, or with the one under it.
app.get('/hand', (request) => {
  const payload = tokens.accessTokenRequired(request)
  same<Awaited<typeof payload>['age'], number>()
  return tokens.accessTokenRequired(request.raw)
})

app.register(async (child) => {
  child.addHook('onRequest', guard)
  child.setErrorHandler(handleErrors())
  describeSecurity(child, config, { everyRoute: true })
})

// @ts-expect-error a dependency is a function
enforce('accessTokenRequired')
// @ts-expect-error an unknown option
handleErrors({ status: 401 })
