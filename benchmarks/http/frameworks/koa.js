import { createServer } from 'node:http'
import { Router } from '@koa/router'
import Koa from 'koa'
import jwt from 'koa-jwt'
import { handleErrors, inject } from 'tokenlib/koa'
import { BARE_ANSWER, listen } from './bare-answer.js'

/** @type {import('../contestants.js').Framework} */
export const koa = {
  bare() {
    const router = new Router()
    router.get('/me', (ctx) => {
      ctx.body = BARE_ANSWER
    })
    return serve(router)
  },

  empty() {
    const router = new Router()
    router.get(
      '/me',
      async (_ctx, next) => {
        await next()
      },
      (ctx) => {
        ctx.body = BARE_ANSWER
      },
    )
    return serve(router)
  },

  ours(tokens) {
    const router = new Router()
    router.get(
      '/me',
      inject({ payload: tokens.accessTokenRequired }, ({ payload }, ctx) => {
        ctx.body = { id: payload.sub }
      }),
    )
    return serve(router, handleErrors({ config: tokens.config }))
  },

  peers: {
    'koa-jwt'(secret, isRevoked) {
      const router = new Router()
      const guard = jwt({
        secret,
        algorithms: ['HS256'],
        ...(isRevoked !== null && { isRevoked: async (_ctx, { jti }) => isRevoked(jti) }),
      })
      router.get('/me', guard, (ctx) => {
        ctx.body = { id: ctx.state.user.sub }
      })
      return serve(router)
    },
  },
}

function serve(router, ...middleware) {
  const app = new Koa()
  // Koa logs the errors that nobody handles, and the checks bring some about.
  app.silent = true
  for (const each of middleware) app.use(each)
  app.use(router.routes())
  const handle = app.callback()
  return listen(createServer((req, res) => void handle(req, res)))
}
