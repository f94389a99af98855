// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
import { z } from 'zod'
import { type Dependency, type RequestToken, setAccessCookies, TokenConfig, TokenManager } from 'tokenlib'
import { enforce, type FetchHandler, handleErrors, inject, sendCookies } from 'tokenlib/fetch'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...differ: Equal<A, B> extends true ? [] : ['types differ']): void

const config = new TokenConfig({ JWT_SECRET_KEY: 's', JWT_TOKEN_LOCATION: ['cookies'] })
const tokens = new TokenManager({ config, claims: z.object({ age: z.number() }) })
declare const request: Request
declare const getTokenDep: Dependency<RequestToken>

// Values are typed, whatever dependency they come from.
{
  const handler = inject(
    { payload: tokens.accessTokenRequired, token: getTokenDep, path: (source) => source.url ?? '' },
    ({ payload, token, path }, given) => {
      same<typeof payload.age, number>()
      same<typeof token, RequestToken>()
      same<typeof path, string>()
      same<typeof given, Request>()
      // @ts-expect-error there is no such claim
      void payload.agee
      // @ts-expect-error a value is read-only
      payload.age = 1
      return Response.json(payload.age)
    },
  )
  same<typeof handler, FetchHandler>()
  // @ts-expect-error a handler answers with a Response
  inject({ payload: tokens.accessTokenRequired }, () => 'text')
}

// What follows the request is handed through with its types, by every wrapper.
{
  interface RouteContext {
    readonly params: Promise<{ id: string }>
  }
  const route = inject(
    { payload: tokens.accessTokenRequired },
    async ({ payload }, _request, { params }: RouteContext) => {
      const { id } = await params
      same<typeof id, string>()
      return Response.json([id, payload.age])
    },
  )
  const wrapped = handleErrors({ config })(enforce(tokens.accessTokenRequired)(route))
  same<typeof wrapped, FetchHandler<[RouteContext]>>()
  void wrapped(request, { params: Promise.resolve({ id: '1' }) })
  // @ts-expect-error the route's context is part of the handler
  void wrapped(request)
  // @ts-expect-error and has its type
  void wrapped(request, { params: { id: '1' } })
}

// A subclass of Request, such as Next's, can be passed to a handler.
{
  interface NextRequest extends Request {
    readonly nextUrl: URL
  }
  const GET: (request: NextRequest, context: object) => Response | Promise<Response> = inject(
    { payload: tokens.accessTokenOptional },
    ({ payload }) => Response.json(payload?.age ?? null),
  )
  void GET
  enforce(tokens.accessTokenRequired)((request: NextRequest) => new Response(request.nextUrl.pathname))
  handleErrors()(async (request: NextRequest) => new Response(request.nextUrl.pathname))
  const POST = inject({ payload: tokens.accessTokenRequired }, ({ payload }, request: NextRequest) =>
    Response.json([payload.age, request.nextUrl.pathname]),
  )
  // @ts-expect-error this one needs more than a Request
  void POST(new Request('http://localhost/'))
}

// Cookies go onto a response, and what comes back is a response.
{
  const cookies = setAccessCookies(tokens, tokens.createAccessToken({ uid: 'ada', age: 36 }))
  const response = sendCookies(Response.redirect('http://localhost/', 303), cookies)
  same<typeof response, Response>()
  sendCookies(response, [] as const)
  // @ts-expect-error a list, not one text
  sendCookies(response, 'a=1')
  // @ts-expect-error onto a response, not a request
  sendCookies(request, cookies)
  inject({ payload: tokens.accessTokenRequired }, async () => sendCookies(new Response(), cookies))
}

// A dependency that returns nothing checks nothing that anybody waits for.
// @ts-expect-error the promise is dropped
enforce((request) => {
  void tokens.accessTokenRequired(request)
})
// @ts-expect-error the value is dropped
enforce(async (request) => {
  await tokens.accessTokenRequired(request)
})
// @ts-expect-error one of two is enough
enforce(tokens.accessTokenRequired, () => undefined)
// @ts-expect-error nor can it be injected
inject({ payload: tokens.accessTokenRequired, nothing: () => {} }, () => new Response())
enforce(tokens.accessTokenOptional, () => null)
// The request of a dependency that is written in place has its type.
enforce(async (request) => tokens.accessTokenRequired(request))
inject({ found: async (request) => tokens.getTokenFromRequest(request) }, ({ found }) =>
  Response.json(found?.location ?? null),
)
declare const anything: () => ReturnType<typeof JSON.parse>
enforce(anything)
enforce(() => {
  throw new Error('nobody')
})
inject({ maybe: (): string | undefined => undefined, none: () => null }, () => new Response())
