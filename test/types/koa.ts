// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
import Koa, { type Context, type Middleware } from 'koa'
import { Router, type RouterContext } from '@koa/router'
import { z } from 'zod'
import { type Dependency, type RequestToken, TokenConfig, TokenManager, type TokenPayload } from 'tokenlib'
import { enforce, handleErrors, inject, sendCookies } from 'tokenlib/koa'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...differ: Equal<A, B> extends true ? [] : ['types differ']): void

interface State {
  readonly user: string
}
interface Extras {
  readonly db: { readonly name: string }
}

const tokens = new TokenManager({
  config: new TokenConfig({ JWT_SECRET_KEY: 's' }),
  claims: z.object({ age: z.number() }),
})
const getTokenDep: Dependency<RequestToken> = async (request) =>
  (await tokens.getTokenFromRequest(request)) ?? Promise.reject(new Error('none'))

// As middleware, inject types ctx.state; the router's parameters are inferred as without it.
{
  const router = new Router()
  router.get(
    '/users/:id',
    enforce(tokens.accessTokenRequired),
    inject({ payload: tokens.accessTokenRequired, token: getTokenDep, one: () => 1 }),
    (ctx) => {
      same<typeof ctx.state.payload.age, number>()
      same<typeof ctx.state.token, RequestToken>()
      same<typeof ctx.state.one, number>()
      same<typeof ctx.params, Record<string, string>>()
      // @ts-expect-error there is no such claim
      void ctx.state.payload.agee
      ctx.body = ctx.state.payload.age
    },
  )
  router.get('/optional', inject({ payload: tokens.accessTokenOptional }), (ctx) => {
    same<typeof ctx.state.payload, TokenPayload<{ age: number }> | null>()
  })
  router.use('/admin', enforce(tokens.require({ scopes: ['admin'] })))
}

// An application's own state and context stay.
{
  const router = new Router<State, Extras>()
  router.get(
    '/',
    enforce(tokens.accessTokenRequired),
    inject({ payload: tokens.accessTokenRequired }),
    (ctx) => {
      same<typeof ctx.state.payload.age, number>()
      same<typeof ctx.state.user, string>()
      same<typeof ctx.db.name, string>()
      // @ts-expect-error nobody put this there
      void ctx.state.other
    },
  )
  const app = new Koa<State, Extras>()
  app
    .use(handleErrors())
    .use(enforce(tokens.accessTokenRequired))
    .use(inject({ payload: tokens.accessTokenRequired }))
    .use(inject({ token: getTokenDep }))
    .use((ctx) => {
      same<typeof ctx.state.payload.age, number>()
      same<typeof ctx.state.token, RequestToken>()
      same<typeof ctx.state.user, string>()
      same<typeof ctx.db.name, string>()
      // @ts-expect-error nobody put this there
      void ctx.state.other
    })
}

// As a handler, inject hands the values over, and takes what context its handler says.
{
  const router = new Router<State, Extras>()
  router.get(
    '/me',
    inject({ payload: tokens.accessTokenRequired, token: getTokenDep }, ({ payload, token }, ctx, next) => {
      same<typeof payload.age, number>()
      same<typeof token, RequestToken>()
      same<typeof ctx, Context>()
      // @ts-expect-error there is no such claim
      void payload.agee
      return next()
    }),
  )
  router.get(
    '/users/:id',
    inject({ payload: tokens.accessTokenRequired }, ({ payload }, ctx: RouterContext<State, Extras>) => {
      same<typeof ctx.params, Record<string, string>>()
      same<typeof ctx.state.user, string>()
      same<typeof ctx.db.name, string>()
      ctx.body = payload.age
    }),
  )
}

// @ts-expect-error a dependency is a function
inject({ payload: 'text' })
// @ts-expect-error and not what a dependency returned
enforce(tokens.accessTokenRequired({ headers: {} }))

// Everything goes where Koa takes middleware.
const middleware: Middleware[] = [
  handleErrors({ realm: 'shop' }),
  enforce(tokens.accessTokenRequired),
  inject({ payload: tokens.accessTokenRequired }),
  inject({ payload: tokens.accessTokenRequired }, ({ payload }, ctx) => void (ctx.body = payload.age)),
]
void middleware

declare const routerContext: RouterContext<State, Extras>
sendCookies(routerContext, ['a=1'] as const)
