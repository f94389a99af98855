// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
import { type Context, Hono } from 'hono'
import { hc } from 'hono/client'
import { z } from 'zod'
import {
  type Dependency,
  type RequestToken,
  setAccessCookies,
  TokenConfig,
  TokenManager,
  type TokenPayload,
} from 'tokenlib'
import { enforce, fromContext, handleErrors, inject, sendCookies } from 'tokenlib/hono'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...differ: Equal<A, B> extends true ? [] : ['types differ']): void

const config = new TokenConfig({ JWT_SECRET_KEY: 's', JWT_TOKEN_LOCATION: ['cookies'] })
const tokens = new TokenManager({ config, claims: z.object({ age: z.number() }) })
declare const getTokenDep: Dependency<RequestToken>

interface AppEnv {
  Bindings: { SECRET: string }
  Variables: { requestId: string }
}
declare const tokensFor: (env: AppEnv['Bindings']) => typeof tokens

// A dependency chosen by the context has the type of what it chooses.
{
  const required = fromContext((c: Context<AppEnv>) => {
    same<typeof c.env.SECRET, string>()
    same<typeof c.var.requestId, string>()
    return tokensFor(c.env).accessTokenRequired
  })
  same<typeof required, Dependency<TokenPayload<{ age: number }>>>()
  const optional = fromContext((c: Context<AppEnv>) => tokensFor(c.env).accessTokenOptional)
  const user = fromContext((c) => () => ({ name: c.req.path }))
  same<typeof user, Dependency<{ name: string }>>()

  const app = new Hono<AppEnv>()
  app.use(enforce(required))
  app.get(
    '/users/:id',
    enforce(fromContext((c) => tokensFor(c.env).accessTokenRequired)),
    inject({ payload: required, visitor: optional, user }),
    (c) => {
      same<typeof c.var.payload.age, number>()
      same<typeof c.var.user, { name: string }>()
      same<typeof c.var.requestId, string>()
      same<typeof c.env.SECRET, string>()
      const id = c.req.param('id')
      same<typeof id, string>()
      // @ts-expect-error there is no such claim
      void c.var.payload.agee
      // @ts-expect-error a visitor may have no token
      void c.var.visitor.age
      return c.json(c.var.payload.age)
    },
  )
  app.get(
    '/users/:id/posts',
    inject(
      { payload: fromContext((c) => tokensFor(c.env).accessTokenRequired), token: getTokenDep },
      ({ payload, token }, c) => {
        same<typeof payload.age, number>()
        same<typeof token, RequestToken>()
        return c.json(payload.age)
      },
    ),
  )
  // A handler that is wrapped names its context itself; it cannot see the application that it is for.
  app.get(
    '/friends/:id',
    inject({ payload: required }, ({ payload }, c: Context<AppEnv, '/friends/:id'>) => {
      const id = c.req.param('id')
      same<[typeof id, typeof c.env.SECRET, typeof c.var.requestId], [string, string, string]>()
      return c.json([id, payload.age])
    }),
  )
  // @ts-expect-error a dependency is chosen, not its value
  fromContext((c: Context<AppEnv>) => c.env.SECRET)
  // @ts-expect-error the environment has no such binding
  fromContext((c: Context<AppEnv>) => tokensFor({ SECRET: c.env.SECRT }).accessTokenRequired)
}

// Errors take their options, or a function of the context that gives them.
{
  const app = new Hono<AppEnv>()
  app.onError(handleErrors())
  app.onError(handleErrors({ config, realm: 'shop' }))
  app.onError(handleErrors((c) => ({ realm: c.req.path })))
  app.onError(handleErrors((c: Context<AppEnv>) => ({ config: tokensFor(c.env).config })))
  // @ts-expect-error an unknown option
  handleErrors({ relm: 'shop' })
  // @ts-expect-error options, not a text
  handleErrors(() => 'shop')
}

// Cookies go onto any context.
{
  const cookies = setAccessCookies(tokens, tokens.createAccessToken({ uid: 'ada', age: 36 }))
  new Hono<AppEnv>().post('/login/:id', (c) => {
    sendCookies(c, cookies)
    // @ts-expect-error a list, not one text
    sendCookies(c, 'a=1')
    // @ts-expect-error onto the context, not the response
    sendCookies(c.res, cookies)
    return c.json('ok')
  })
}

// Guards do not hide what a route answers from Hono's client.
{
  const app = new Hono()
    .get('/me', enforce(tokens.accessTokenRequired), (c) => c.json({ id: 7 }))
    .get('/age', inject({ payload: tokens.accessTokenRequired }), (c) => c.json({ age: c.var.payload.age }))
    .get(
      '/users/:id',
      inject({ payload: tokens.accessTokenRequired }, async ({ payload }, c) =>
        c.json({ old: payload.age > 36 }),
      ),
    )
  const client = hc<typeof app>('http://localhost')
  const me = await (await client.me.$get()).json()
  same<typeof me, { id: number }>()
  const age = await (await client.age.$get()).json()
  same<typeof age, { age: number }>()
  const user = await (await client.users[':id'].$get({ param: { id: '7' } })).json()
  same<typeof user, { old: boolean }>()
}
