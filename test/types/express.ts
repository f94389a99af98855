// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express'
import { z } from 'zod'
import { type Dependency, type RequestToken, TokenConfig, TokenManager, type TokenPayload } from 'tokenlib'
import { enforce, handleErrors, inject, sendCookies } from 'tokenlib/express'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...differ: Equal<A, B> extends true ? [] : ['types differ']): void

const tokens = new TokenManager({
  config: new TokenConfig({ JWT_SECRET_KEY: 's' }),
  claims: z.object({ age: z.number() }),
})
const getTokenDep: Dependency<RequestToken> = async (request) =>
  (await tokens.getTokenFromRequest(request)) ?? Promise.reject(new Error('none'))
const app = express()

// As middleware, inject types res.locals.
app.get(
  '/me',
  inject({ payload: tokens.accessTokenRequired, token: getTokenDep, one: () => 1 }),
  (_req, res) => {
    same<typeof res.locals.payload.age, number>()
    same<typeof res.locals.token, RequestToken>()
    same<typeof res.locals.one, number>()
    // @ts-expect-error there is no such claim
    void res.locals.payload.agee
    // @ts-expect-error nothing of that name was injected
    void res.locals.user
    res.json(res.locals.payload.age)
  },
)

// Parameters, body and query are inferred as if no guard were there.
app.get('/users/:id', enforce(tokens.accessTokenRequired), (req, res) => {
  same<typeof req.params, { id: string }>()
  // @ts-expect-error the path has no such parameter
  void req.params.name
  res.json(req.params.id)
})
app.get('/users/:id', inject({ payload: tokens.accessTokenOptional }), (req, res) => {
  same<typeof req.params, { id: string }>()
  same<typeof res.locals.payload, TokenPayload<{ age: number }> | null>()
})
app.get(
  '/users/:id',
  enforce(tokens.accessTokenRequired),
  inject({ payload: tokens.accessTokenRequired }),
  (req, res) => {
    same<typeof req.params, { id: string }>()
    same<typeof res.locals.payload.age, number>()
  },
)
app.post<{ id: string }, { ok: boolean }, { title: string }>(
  '/notes/:id',
  enforce(tokens.accessTokenRequired),
  inject({ payload: tokens.accessTokenRequired }),
  (req, res) => {
    same<typeof req.body.title, string>()
    same<typeof req.params.id, string>()
    // @ts-expect-error the answer has another shape
    res.json({ okay: true })
  },
)
app
  .route('/users/:id')
  .get(enforce(tokens.accessTokenRequired), (req) => same<typeof req.params, { id: string }>())
  .post(
    inject({ payload: tokens.accessTokenRequired }, ({ payload }, _req, res) => {
      same<typeof payload.age, number>()
      res.json(payload.age)
    }),
  )

// As a handler, inject hands the values over, and takes what types its handler says.
app.get(
  '/me',
  inject(
    { payload: tokens.accessTokenRequired, token: getTokenDep },
    ({ payload, token }, req, res, next) => {
      same<typeof payload.age, number>()
      same<typeof token, RequestToken>()
      same<typeof req, Request>()
      same<typeof res, Response>()
      // @ts-expect-error there is no such claim
      void payload.agee
      next()
    },
  ),
)
app.post(
  '/notes/:id',
  inject(
    { payload: tokens.accessTokenRequired },
    ({ payload }, req: Request<{ id: string }, unknown, { title: string }>, res: Response<number>) => {
      same<typeof req.params.id, string>()
      same<typeof req.body.title, string>()
      res.json(payload.age)
      // @ts-expect-error the answer is a number
      res.json('text')
    },
  ),
)
app.post<{ id: string }, number, { title: string }>(
  '/notes/:id',
  inject({ payload: tokens.accessTokenRequired }, ({ payload }, req, res) => {
    same<typeof req.params.id, string>()
    same<typeof req.body.title, string>()
    res.json(payload.age)
    // @ts-expect-error the answer is a number
    res.json('text')
  }),
)

// @ts-expect-error a dependency is a function
inject({ payload: 'text' })
// @ts-expect-error and not what a dependency returned
enforce(tokens.accessTokenRequired({ headers: {} }))

// Everything goes where Express takes middleware.
const guards: RequestHandler[] = [
  enforce(tokens.accessTokenRequired),
  inject({ payload: tokens.accessTokenRequired }),
  inject({ payload: tokens.accessTokenRequired }, ({ payload }, _req, res) => res.json(payload.age)),
]
const errors: ErrorRequestHandler = handleErrors({ realm: 'shop' })
app.use(guards, errors)
app.use('/admin', enforce(tokens.require({ scopes: ['admin'] })), express.Router())
app.use(['/a', /^\/b/], inject({ payload: tokens.accessTokenRequired }))

declare const typedResponse: Response<{ ok: boolean }, { user: string }>
sendCookies(typedResponse, ['a=1'] as const)
// @ts-expect-error a request takes no cookies
sendCookies({} as Request, [])
