import Fastify, { type FastifyInstance } from 'fastify'
import { enforce, handleErrors, inject, mount } from 'tokenlib/fastify'
import { type Application, describeToken } from './application.js'
import type { ExampleOptions } from './options.js'
import type { RunningServer } from './server.js'

/** The specification's application in Fastify, listening. */
export async function start(application: Application, options: ExampleOptions): Promise<RunningServer> {
  const app = createApp(application, options)
  const url = await app.listen({ host: '127.0.0.1', port: options.port })
  return { url, close: () => app.close() }
}

function createApp(application: Application, options: ExampleOptions): FastifyInstance {
  const { tokens, getTokenDep, getOptionalTokenDep } = application
  const app = Fastify({ forceCloseConnections: true })
  if (options.handleErrors) app.setErrorHandler(handleErrors({ config: tokens.config }))
  for (const routes of application.routes) void app.register(mount(routes))
  // Fastify sends a string as plain text; here every response is JSON.
  app.addHook('onRequest', async (_request, reply) => {
    reply.type('application/json; charset=utf-8').serializer(JSON.stringify)
  })

  app.get(
    '/token/mandatory',
    { onRequest: enforce(tokens.accessTokenRequired) },
    inject({ token: getTokenDep }, ({ token }) => describeToken(token)),
  )
  app.get(
    '/token/optional',
    inject({ token: getOptionalTokenDep }, ({ token }) => describeToken(token)),
  )

  const me = inject({ payload: tokens.accessTokenRequired }, ({ payload }) => ({
    id: payload.sub,
    age: payload.age,
    foo: payload.foo,
  }))
  if (options.profile === 'payload') app.get('/profile', me)
  else {
    app.get('/profile', { onRequest: enforce(tokens.accessTokenRequired) }, () => 'You are authenticated')
  }
  app.get('/me', { onRequest: enforce(tokens.accessTokenRequired) }, me)

  app.get('/token', () => ({
    access_token: tokens.createAccessToken({ uid: 'ada', foo: 'bar', age: 36 }),
  }))
  app.post('/login', async (request, reply) => {
    const issued = await application.login(JSON.stringify(request.body ?? {}), { request: request.raw })
    return issued ?? reply.code(400).send('uid must be a non-empty string')
  })
  app.post(
    '/refresh',
    inject({ issued: application.refresh }, ({ issued }) => issued),
  )
  app.delete(
    '/logout',
    inject({ payload: tokens.accessTokenRequired, token: getTokenDep }, async ({ token, payload }) => {
      await application.logout(token, payload)
      return 'OK'
    }),
  )
  return app
}
