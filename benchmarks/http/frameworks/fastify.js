import { createSecretKey } from 'node:crypto'
import fastifyJwt from '@fastify/jwt'
import Fastify from 'fastify'
import { enforce, handleErrors, inject } from 'tokenlib/fastify'
import { createByHand } from '../../process/by-hand.js'
import { BARE_ANSWER } from './bare-answer.js'

/** @type {import('../contestants.js').Framework} */
export const fastify = {
  bare() {
    const app = Fastify()
    app.get('/me', () => BARE_ANSWER)
    return listen(app)
  },

  empty() {
    const app = Fastify()
    app.get('/me', { onRequest: (_request, _reply, done) => done() }, () => BARE_ANSWER)
    return listen(app)
  },

  ours(tokens) {
    const app = Fastify()
    app.setErrorHandler(handleErrors({ config: tokens.config }))
    app.get(
      '/me',
      inject({ payload: tokens.accessTokenRequired }, ({ payload }) => ({ id: payload.sub })),
    )
    return listen(app)
  },

  hook(tokens) {
    const app = Fastify()
    app.setErrorHandler(handleErrors({ config: tokens.config }))
    app.get('/me', { onRequest: enforce(tokens.accessTokenRequired) }, () => BARE_ANSWER)
    return listen(app)
  },

  peers: {
    async 'by hand'(secret) {
      const { verify } = createByHand({ algorithm: 'HS256', publicKey: createSecretKey(Buffer.from(secret)) })
      const app = Fastify()
      app.get('/me', (request, reply) => {
        try {
          return { id: verify(request.headers.authorization.slice('Bearer '.length)).sub }
        } catch {
          return reply.code(401).send()
        }
      })
      return listen(app)
    },
    async '@fastify/jwt'(secret, isRevoked) {
      const app = Fastify()
      await app.register(fastifyJwt, {
        secret,
        verify: { algorithms: ['HS256'] },
        ...(isRevoked !== null && { trusted: async (_request, { jti }) => !(await isRevoked(jti)) }),
      })
      app.get('/me', { onRequest: (request) => request.jwtVerify() }, (request) => ({ id: request.user.sub }))
      return listen(app)
    },
  },
}

async function listen(app) {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return app.server
}
