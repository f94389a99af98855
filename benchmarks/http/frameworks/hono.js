import { once } from 'node:events'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { jwt } from 'hono/jwt'
import { handleErrors, inject } from 'tokenlib/hono'
import { BARE_ANSWER } from './bare-answer.js'

/** @type {import('../contestants.js').Framework} */
export const hono = {
  bare() {
    const app = new Hono()
    app.get('/me', (c) => c.json(BARE_ANSWER))
    return listen(app)
  },

  empty() {
    const app = new Hono()
    app.get(
      '/me',
      async (_c, next) => {
        await next()
      },
      (c) => c.json(BARE_ANSWER),
    )
    return listen(app)
  },

  ours(tokens) {
    const app = new Hono()
    app.onError(handleErrors({ config: tokens.config }))
    app.get(
      '/me',
      inject({ payload: tokens.accessTokenRequired }, ({ payload }, c) => c.json({ id: payload.sub })),
    )
    return listen(app)
  },

  peers: {
    'hono/jwt'(secret, isRevoked) {
      const app = new Hono()
      const guards = [jwt({ secret, alg: 'HS256' })]
      if (isRevoked !== null) {
        guards.push(async (c, next) => {
          if (await isRevoked(c.get('jwtPayload').jti)) return c.text('Unauthorized', 401)
          await next()
        })
      }
      app.get('/me', ...guards, (c) => c.json({ id: c.get('jwtPayload').sub }))
      return listen(app)
    },
  },
}

async function listen(app) {
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 })
  if (!server.listening) await once(server, 'listening')
  return server
}
