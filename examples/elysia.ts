import { Elysia, t } from 'elysia'
import { enforce, handleErrors, inject, mount } from 'tokenlib/elysia'
import { type Application, describeToken } from './application.js'
import type { ExampleOptions } from './options.js'
import { type RunningServer, serveFetch } from './server.js'

/** The specification's application in Elysia, listening. */
export function start(application: Application, options: ExampleOptions): Promise<RunningServer> {
  const { tokens, getTokenDep, getOptionalTokenDep } = application

  const app = new Elysia()
    .macro({ auth: { resolve: inject({ payload: tokens.accessTokenRequired }) } })
    // First: it is for the routes that come after it.
    .onError(options.handleErrors ? handleErrors({ config: tokens.config }) : () => {})
    // A string would be sent as it is; the routes of the specification return JSON.
    .get(
      '/token/mandatory',
      inject({ token: getTokenDep }, ({ token }) => Response.json(describeToken(token))),
      { beforeHandle: enforce(tokens.accessTokenRequired) },
    )
    .get(
      '/token/optional',
      inject({ token: getOptionalTokenDep }, ({ token }) => Response.json(describeToken(token))),
    )
    .get('/me', ({ payload: { sub, age, foo } }) => ({ id: sub, age, foo }), {
      auth: true,
      beforeHandle: enforce(tokens.accessTokenRequired),
    })
    .get('/token', () => ({
      access_token: tokens.createAccessToken({ uid: 'ada', foo: 'bar', age: 36 }),
    }))
    .post(
      '/login',
      async ({ body, request, status }) =>
        (await application.login(body, { request })) ?? status(400, 'uid must be a non-empty string'),
      { parse: 'text', body: t.String() },
    )
    .post(
      '/refresh',
      inject({ issued: application.refresh }, ({ issued }) => issued),
    )
    .delete(
      '/logout',
      inject({ payload: tokens.accessTokenRequired, token: getTokenDep }, async ({ token, payload }) => {
        await application.logout(token, payload)
        return Response.json('OK')
      }),
    )

  if (options.profile === 'payload') {
    app.get('/profile', ({ payload: { sub, age, foo } }) => ({ id: sub, age, foo }), { auth: true })
  } else {
    app.get('/profile', () => Response.json('You are authenticated'), {
      beforeHandle: enforce(tokens.accessTokenRequired),
    })
  }
  for (const routes of application.routes) app.use(mount(routes))
  return serveFetch(app.fetch, options.port)
}
