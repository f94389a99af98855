import fastifyJwt from '@fastify/jwt'
import Fastify from 'fastify'
import { enforce, handleErrors, inject } from 'tokenlib/fastify'
import { importTypeScript } from '../../../tools/shared/import-typescript.js'
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
    // The least that a check has to do, with our fastest code: the MAC, the JSON and the expiry.
    async 'by hand'(secret) {
      const { createFastMacCheck } = await importTypeScript('packages/tokenlib/src/tokens/hmac-sha256.ts')
      const { readBase64urlText } = await importTypeScript('packages/tokenlib/src/encoding.ts')
      const isGenuine = createFastMacCheck(Buffer.from(secret))
      if (isGenuine === null) throw new Error('Our own MAC is not used for this secret, or in FIPS mode')
      const app = Fastify()
      app.get('/me', (request, reply) => {
        const token = request.headers.authorization?.slice('Bearer '.length) ?? ''
        const end = token.lastIndexOf('.')
        if (!isGenuine(token.slice(0, end), token.slice(end + 1))) return reply.code(401).send()
        const claims = JSON.parse(readBase64urlText(token.slice(token.indexOf('.') + 1, end)))
        return claims.exp * 1000 > Date.now() ? { id: claims.sub } : reply.code(401).send()
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
