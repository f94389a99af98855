import { createServer } from 'node:http'
import express from 'express'
import { expressjwt } from 'express-jwt'
import { handleErrors, inject } from 'tokenlib/express'
import { BARE_ANSWER, listen } from './bare-answer.js'

/** @type {import('../contestants.js').Framework} */
export const expressFramework = {
  bare() {
    const app = createApp()
    app.get('/me', (_req, res) => res.json(BARE_ANSWER))
    return listen(createServer(app))
  },

  empty() {
    const app = createApp()
    app.get(
      '/me',
      (_req, _res, next) => next(),
      (_req, res) => res.json(BARE_ANSWER),
    )
    return listen(createServer(app))
  },

  ours(tokens) {
    const app = createApp()
    app.get(
      '/me',
      inject({ payload: tokens.accessTokenRequired }, ({ payload }, _req, res) =>
        res.json({ id: payload.sub }),
      ),
    )
    app.use(handleErrors({ config: tokens.config }))
    return listen(createServer(app))
  },

  peers: {
    'express-jwt'(secret, isRevoked) {
      const app = createApp()
      const guard = expressjwt({
        secret,
        algorithms: ['HS256'],
        ...(isRevoked !== null && { isRevoked: async (_req, token) => isRevoked(token.payload.jti) }),
      })
      app.get('/me', guard, (req, res) => res.json({ id: req.auth.sub }))
      return listen(createServer(app))
    },
  },
}

function createApp() {
  const app = express()
  // In every other environment Express logs the errors that nobody handles, and the checks bring some about.
  app.set('env', 'test')
  return app
}
