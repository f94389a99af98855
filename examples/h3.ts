import { H3 } from 'h3'
import { toNodeHandler } from 'h3/node'
import { enforce, handleErrors, inject, mount } from 'tokenlib/h3'
import { type Application, describeToken } from './application.js'
import type { ExampleOptions } from './options.js'
import { type RunningServer, serveNode } from './server.js'

/** The specification's application in h3, listening. */
export function start(application: Application, options: ExampleOptions): Promise<RunningServer> {
  return serveNode(toNodeHandler(createApp(application, options)), options.port)
}

function createApp(application: Application, options: ExampleOptions): H3 {
  const { tokens, getTokenDep, getOptionalTokenDep } = application
  const guarded = { middleware: [enforce(tokens.accessTokenRequired)] }
  const app = new H3({ silent: true })
  if (options.handleErrors) app.use(handleErrors({ config: tokens.config }))

  for (const routes of application.routes) app.use(mount(routes))

  // A string would be sent as it is; the routes of the specification return JSON.
  app.get(
    '/token/mandatory',
    inject({ token: getTokenDep }, ({ token }) => Response.json(describeToken(token))),
    guarded,
  )
  app.get(
    '/token/optional',
    inject({ token: getOptionalTokenDep }, ({ token }) => Response.json(describeToken(token))),
  )

  const me = inject({ payload: tokens.accessTokenRequired }, ({ payload: { sub, age, foo } }) => ({
    id: sub,
    age,
    foo,
  }))
  app.get('/me', me, guarded)
  if (options.profile === 'payload') app.get('/profile', me)
  else app.get('/profile', () => Response.json('You are authenticated'), guarded)

  app.get('/token', () => ({
    access_token: tokens.createAccessToken({ uid: 'ada', foo: 'bar', age: 36 }),
  }))
  app.post('/login', async (event) => {
    const issued = await application.login(await event.req.text(), { request: event.req })
    if (issued !== null) return issued
    event.res.status = 400
    return { message: 'uid must be a non-empty string' }
  })
  app.post(
    '/refresh',
    inject({ issued: application.refresh }, ({ issued }) => issued),
  )
  app.delete(
    '/logout',
    inject({ payload: tokens.accessTokenRequired, token: getTokenDep }, async ({ token, payload }) => {
      await application.logout(token, payload)
      return Response.json('OK')
    }),
  )
  return app
}
