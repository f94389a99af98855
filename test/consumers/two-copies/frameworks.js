// One guarded route, GET and POST /me, in every framework; each function returns how to send a Fetch request to it.
import { once } from 'node:events'
import { Router } from '@koa/router'
import { Elysia } from 'elysia'
import express from 'express'
import Fastify from 'fastify'
import { H3 } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'

export const FRAMEWORKS = {
  async express({ enforce, handleErrors, inject }, tokens) {
    const app = express()
    const me = inject({ payload: tokens.accessTokenRequired }, ({ payload }, _req, res) =>
      res.json(payload.sub),
    )
    app.all('/me', enforce(tokens.accessTokenRequired), me)
    app.use(handleErrors())
    return serve(app.listen(0, '127.0.0.1'))
  },
  async fastify({ enforce, handleErrors, inject }, tokens) {
    const app = Fastify()
    app.setErrorHandler(handleErrors())
    app.route({
      method: ['GET', 'POST'],
      url: '/me',
      preValidation: enforce(tokens.accessTokenRequired),
      handler: inject({ payload: tokens.accessTokenRequired }, ({ payload }) => JSON.stringify(payload.sub)),
    })
    await app.listen({ host: '127.0.0.1', port: 0 })
    return serve(app.server, false)
  },
  async koa({ enforce, handleErrors, inject }, tokens) {
    const app = new Koa()
    const router = new Router()
    app.use(handleErrors())
    const me = inject({ payload: tokens.accessTokenRequired }, ({ payload }, ctx) => {
      ctx.body = JSON.stringify(payload.sub)
    })
    router.all('/me', enforce(tokens.accessTokenRequired), me)
    app.use(router.routes())
    return serve(app.listen(0, '127.0.0.1'))
  },
  async hono({ enforce, handleErrors, inject }, tokens) {
    const app = new Hono()
    app.onError(handleErrors())
    const me = inject({ payload: tokens.accessTokenRequired }, ({ payload }, c) => c.json(payload.sub))
    app.all('/me', enforce(tokens.accessTokenRequired), me)
    return { send: async (request) => app.fetch(request), close() {} }
  },
  async h3({ enforce, handleErrors, inject }, tokens) {
    const app = new H3()
    app.use(handleErrors())
    const me = inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json(payload.sub))
    app.all('/me', me, { middleware: [enforce(tokens.accessTokenRequired)] })
    return { send: async (request) => app.fetch(request), close() {} }
  },
  async elysia({ enforce, handleErrors, inject }, tokens) {
    const app = new Elysia().onError(handleErrors())
    const me = inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json(payload.sub))
    app.all('/me', me, { beforeHandle: enforce(tokens.accessTokenRequired) })
    return { send: (request) => app.handle(request), close() {} }
  },
}

async function serve(server, isStarting = true) {
  if (isStarting) await once(server, 'listening')
  const { port } = server.address()
  return {
    async send(request) {
      const { method, headers } = request
      const body = method === 'GET' ? undefined : await request.text()
      return fetch(`http://127.0.0.1:${port}/me`, { method, headers, body })
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
