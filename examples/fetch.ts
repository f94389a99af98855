import { enforce, type FetchHandler, handleErrors, inject } from 'tokenlib/fetch'
import { type Application, describeToken } from './application.js'
import type { ExampleOptions } from './options.js'

/** The specification's application as one function from `Request` to `Response`. */
export function createApp(application: Application, options: ExampleOptions): { fetch: FetchHandler } {
  const { tokens, getTokenDep, getOptionalTokenDep } = application

  const me = inject({ payload: tokens.accessTokenRequired }, ({ payload }) =>
    Response.json({ id: payload.sub, age: payload.age, foo: payload.foo }),
  )
  const routes: Readonly<Record<string, FetchHandler>> = {
    'GET /token/mandatory': enforce(tokens.accessTokenRequired)(
      inject({ token: getTokenDep }, ({ token }) => Response.json(describeToken(token))),
    ),
    'GET /token/optional': inject({ token: getOptionalTokenDep }, ({ token }) =>
      Response.json(describeToken(token)),
    ),
    'GET /profile':
      options.profile === 'payload'
        ? me
        : enforce(tokens.accessTokenRequired)(() => Response.json('You are authenticated')),
    'GET /me': me,
    'GET /token': () =>
      Response.json({ access_token: tokens.createAccessToken({ uid: 'ada', foo: 'bar', age: 36 }) }),
    'POST /login': async (request) => {
      const issued = await application.login(await request.text())
      return issued === null
        ? Response.json('uid must be a non-empty string', { status: 400 })
        : Response.json(issued)
    },
    'POST /refresh': inject(
      { payload: tokens.refreshTokenRequired, token: getTokenDep },
      async ({ payload, token }) => Response.json(await application.refresh(token, payload)),
    ),
    'DELETE /logout': inject(
      { token: getTokenDep, payload: tokens.accessTokenRequired },
      ({ token, payload }) => {
        application.logout(token, payload)
        return Response.json('OK')
      },
    ),
  }

  const route: FetchHandler = (request) => {
    const handler = routes[`${request.method} ${new URL(request.url).pathname}`]
    return handler === undefined ? new Response('Not Found', { status: 404 }) : handler(request)
  }
  return { fetch: options.handleErrors ? handleErrors({ config: tokens.config })(route) : route }
}
