// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
import { type Context, Elysia, t } from 'elysia'
import { z } from 'zod'
import { type Dependency, type RequestToken, TokenConfig, TokenManager } from 'tokenlib'
import { enforce, handleErrors, inject, sendCookies } from 'tokenlib/elysia'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...differ: Equal<A, B> extends true ? [] : ['types differ']): void

const tokens = new TokenManager({
  config: new TokenConfig({ JWT_SECRET_KEY: 's' }),
  claims: z.object({ age: z.number() }),
})
const getTokenDep: Dependency<RequestToken> = async (request) =>
  (await tokens.getTokenFromRequest(request)) ?? Promise.reject(new Error('none'))
const app = new Elysia().decorate('db', { name: 'main' })

// A macro gives the values to the routes that ask for it, and leaves Elysia's own inference alone.
app
  .macro({
    auth: { resolve: inject({ payload: tokens.accessTokenRequired, token: getTokenDep, one: () => 1 }) },
  })
  .post(
    '/users/:id',
    (context) => {
      same<typeof context.payload.age, number>()
      same<typeof context.token, RequestToken>()
      same<typeof context.one, number>()
      same<typeof context.params.id, string>()
      same<typeof context.body, { title: string }>()
      same<typeof context.query.page, number>()
      same<typeof context.db.name, string>()
      // @ts-expect-error there is no such claim
      void context.payload.agee
      // @ts-expect-error nothing of that name was injected
      void context.user
      return context.body.title
    },
    {
      auth: true,
      body: t.Object({ title: t.String() }),
      query: t.Object({ page: t.Number() }),
      response: t.String(),
    },
  )
  // @ts-expect-error this route does not ask for it
  .get('/open', ({ payload }) => payload)

// So does a resolver of an instance, and one inside a guard.
app.resolve(inject({ payload: tokens.accessTokenOptional })).get('/', ({ payload }) => {
  same<typeof payload extends null | { age: infer Age } ? Age : never, number>()
  // @ts-expect-error there may be no token
  void payload.age
  return payload?.age ?? null
})
app.guard({ beforeHandle: enforce(tokens.accessTokenRequired) }, (guarded) =>
  guarded
    .resolve({ as: 'scoped' }, inject({ payload: tokens.accessTokenRequired }))
    .get('/guarded/:id', ({ payload, params }) => [payload.age satisfies number, params.id satisfies string]),
)

// A handler gets the values first. Its context is Elysia's, without what the route's schema adds.
app.get(
  '/users/:id',
  inject({ payload: tokens.accessTokenRequired, token: getTokenDep }, ({ payload, token }, context) => {
    same<typeof payload.age, number>()
    same<typeof token, RequestToken>()
    same<typeof context, Context>()
    // @ts-expect-error there is no such claim
    void payload.agee
    sendCookies(context.set, [])
    return context.status(404)
  }),
)
// It can say what it needs of its context, and that is checked against the route.
app.post(
  '/posts/:id',
  inject(
    { payload: tokens.accessTokenRequired },
    (_, { body, params }: { body: { title: string }; params: { id: string } }) => body.title + params.id,
  ),
  { body: t.Object({ title: t.String() }), response: t.String() },
)
app.post(
  '/posts',
  // @ts-expect-error the schema says otherwise
  inject({ payload: tokens.accessTokenRequired }, (_, { body }: { body: { title: number } }) => body.title),
  { body: t.Object({ title: t.String() }) },
)
app.get(
  '/posts',
  // @ts-expect-error so does the path
  inject({ payload: tokens.accessTokenRequired }, (_, { params }: { params: { id: string } }) => params.id),
)

app.get('/', 'text', { beforeHandle: [enforce(tokens.accessTokenRequired)], transform: enforce(getTokenDep) })
app.onBeforeHandle({ as: 'global' }, enforce(tokens.accessTokenRequired))
app.onError(handleErrors()).onError({ as: 'global' }, handleErrors({ realm: 'shop' }))
// @ts-expect-error a request that has no route yet is no place for a guard
app.onRequest(enforce(tokens.accessTokenRequired))

// A macro of scopes, as the guide has it, takes no empty list.
const scoped = new Elysia().macro({
  scopes: (scopes: [string, ...string[]]) => ({
    resolve: inject({ payload: tokens.require({ scopes: [...scopes] }) }),
  }),
})
scoped.get('/reports', ({ payload }) => payload.age, { scopes: ['reports'] })
// @ts-expect-error at least one scope
scoped.get('/open', () => 'ran', { scopes: [] })
