import express, { type Express } from 'express'
import { enforce, handleErrors, inject, mount } from 'tokenlib/express'
import { type Application, describeToken } from './application.js'
import type { ExampleOptions } from './options.js'
import { type RunningServer, serveNode } from './server.js'

/** The specification's application in Express, listening. */
export function start(application: Application, options: ExampleOptions): Promise<RunningServer> {
  return serveNode(createApp(application, options), options.port)
}

function createApp(application: Application, options: ExampleOptions): Express {
  const { tokens, getTokenDep, getOptionalTokenDep } = application
  const app = express()
  // In every other environment Express logs unhandled errors.
  app.set('env', 'test')
  for (const routes of application.routes) app.use(mount(routes))

  app.get(
    '/token/mandatory',
    enforce(tokens.accessTokenRequired),
    inject({ token: getTokenDep }, ({ token }, _req, res) => res.json(describeToken(token))),
  )
  app.get(
    '/token/optional',
    inject({ token: getOptionalTokenDep }, ({ token }, _req, res) => res.json(describeToken(token))),
  )

  if (options.profile === 'payload') {
    app.get('/profile', inject({ payload: tokens.accessTokenRequired }), (_req, res) => {
      const { sub, age, foo } = res.locals.payload
      res.json({ id: sub, age, foo })
    })
  } else {
    app.get('/profile', enforce(tokens.accessTokenRequired), (_req, res) => {
      res.json('You are authenticated')
    })
  }
  app.get(
    '/me',
    enforce(tokens.accessTokenRequired),
    inject({ payload: tokens.accessTokenRequired }),
    (_req, res) => {
      const { sub, age, foo } = res.locals.payload
      res.json({ id: sub, age, foo })
    },
  )

  app.get('/token', (_req, res) => {
    res.json({ access_token: tokens.createAccessToken({ uid: 'ada', foo: 'bar', age: 36 }) })
  })
  // Express 5 waits for the promise that a handler returns.
  app.post('/login', express.text({ type: 'application/json' }), (req, res) =>
    application
      .login(String(req.body ?? ''), { request: req })
      .then((issued) =>
        issued === null ? res.status(400).json('uid must be a non-empty string') : res.json(issued),
      ),
  )
  app.post(
    '/refresh',
    inject({ issued: application.refresh }, ({ issued }, _req, res) => res.json(issued)),
  )
  app.delete(
    '/logout',
    inject(
      { payload: tokens.accessTokenRequired, token: getTokenDep },
      async ({ token, payload }, _req, res) => {
        await application.logout(token, payload)
        res.json('OK')
      },
    ),
  )

  if (options.handleErrors) app.use(handleErrors({ config: tokens.config }))
  return app
}
