import { enforce, type FetchHandler, handleErrors, inject, mount } from 'tokenlib/fetch'
import { type Application, describeToken } from './application.js'
import type { ExampleOptions } from './options.js'
import { type RunningServer, serveFetch } from './server.js'

/** The specification's application as one function from `Request` to `Response`, listening. */
export function start(application: Application, options: ExampleOptions): Promise<RunningServer> {
  return serveFetch(createApp(application, options), options.port)
}

function createApp(application: Application, options: ExampleOptions): FetchHandler {
  const { tokens, getTokenDep, getOptionalTokenDep } = application

  const guard = enforce(tokens.accessTokenRequired)
  const me = guard(
    inject({ payload: tokens.accessTokenRequired }, ({ payload }) =>
      Response.json({ id: payload.sub, age: payload.age, foo: payload.foo }),
    ),
  )
  const routes: Readonly<Record<string, FetchHandler>> = {
    'GET /token/mandatory': guard(
      inject({ token: getTokenDep }, ({ token }) => Response.json(describeToken(token))),
    ),
    'GET /token/optional': inject({ token: getOptionalTokenDep }, ({ token }) =>
      Response.json(describeToken(token)),
    ),
    'GET /profile': options.profile === 'payload' ? me : guard(() => Response.json('You are authenticated')),
    'GET /me': me,
    'GET /token': () =>
      Response.json({ access_token: tokens.createAccessToken({ uid: 'ada', foo: 'bar', age: 36 }) }),
    'POST /login': async (request) => {
      const issued = await application.login(await request.text(), { request })
      return issued === null
        ? Response.json('uid must be a non-empty string', { status: 400 })
        : Response.json(issued)
    },
    'POST /refresh': inject({ issued: application.refresh }, ({ issued }) => Response.json(issued)),
    'DELETE /logout': inject(
      { payload: tokens.accessTokenRequired, token: getTokenDep },
      async ({ token, payload }) => {
        await application.logout(token, payload)
        return Response.json('OK')
      },
    ),
  }

  const route: FetchHandler = (request) => {
    const handler = routes[`${request.method} ${new URL(request.url).pathname}`]
    return handler === undefined ? new Response('Not Found', { status: 404 }) : handler(request)
  }
  const handler = options.handleErrors ? handleErrors({ config: tokens.config })(route) : route
  return application.routes.reduce((rest, routes) => mount(routes, rest), handler)
}
