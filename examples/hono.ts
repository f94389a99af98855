import { Hono } from 'hono'
import { enforce, handleErrors, inject, mount } from 'tokenlib/hono'
import { type Application, describeToken } from './application.js'
import type { ExampleOptions } from './options.js'
import { type RunningServer, serveFetch } from './server.js'

/** The specification's application in Hono, listening. */
export function start(application: Application, options: ExampleOptions): Promise<RunningServer> {
  return serveFetch(createApp(application, options).fetch, options.port)
}

function createApp(application: Application, options: ExampleOptions): Hono {
  const { tokens, getTokenDep, getOptionalTokenDep } = application
  const app = new Hono()
  for (const routes of application.routes) app.use(mount(routes))
  if (options.handleErrors) app.onError(handleErrors({ config: tokens.config }))

  app.get(
    '/token/mandatory',
    enforce(tokens.accessTokenRequired),
    inject({ token: getTokenDep }, ({ token }, c) => c.json(describeToken(token))),
  )
  app.get(
    '/token/optional',
    inject({ token: getOptionalTokenDep }, ({ token }, c) => c.json(describeToken(token))),
  )

  if (options.profile === 'payload') {
    app.get('/profile', inject({ payload: tokens.accessTokenRequired }), (c) => {
      const { sub, age, foo } = c.var.payload
      return c.json({ id: sub, age, foo })
    })
  } else {
    app.get('/profile', enforce(tokens.accessTokenRequired), (c) => c.json('You are authenticated'))
  }
  app.get(
    '/me',
    enforce(tokens.accessTokenRequired),
    inject({ payload: tokens.accessTokenRequired }),
    (c) => {
      const { sub, age, foo } = c.var.payload
      return c.json({ id: sub, age, foo })
    },
  )

  app.get('/token', (c) =>
    c.json({ access_token: tokens.createAccessToken({ uid: 'ada', foo: 'bar', age: 36 }) }),
  )
  app.post('/login', async (c) => {
    const issued = await application.login(await c.req.text(), { request: c.req.raw })
    return issued === null ? c.json('uid must be a non-empty string', 400) : c.json(issued)
  })
  app.post(
    '/refresh',
    inject({ issued: application.refresh }, ({ issued }, c) => c.json(issued)),
  )
  app.delete(
    '/logout',
    inject({ payload: tokens.accessTokenRequired, token: getTokenDep }, async ({ token, payload }, c) => {
      await application.logout(token, payload)
      return c.json('OK')
    }),
  )
  return app
}
