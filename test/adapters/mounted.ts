import { node as elysiaNode } from '@elysiajs/node'
import { Controller, HttpCode, type INestApplication, Post, Req } from '@nestjs/common'
import { Elysia } from 'elysia'
import express from 'express'
import Fastify from 'fastify'
import { H3 } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import { text } from 'node:stream/consumers'
import { type RunningServer, serveFetch, serveNode } from '../../examples/server.js'
import * as elysia from '../../packages/tokenlib/src/frameworks/elysia.js'
import * as expressAdapter from '../../packages/tokenlib/src/frameworks/express.js'
import * as fastify from '../../packages/tokenlib/src/frameworks/fastify.js'
import * as fetchAdapter from '../../packages/tokenlib/src/frameworks/fetch.js'
import * as h3 from '../../packages/tokenlib/src/frameworks/h3.js'
import * as hono from '../../packages/tokenlib/src/frameworks/hono.js'
import * as koa from '../../packages/tokenlib/src/frameworks/koa.js'
import * as nest from '../../packages/tokenlib/src/frameworks/nest/index.js'
import type { MountableRoutes } from '../../packages/tokenlib/src/routes/router.js'
import { setRequestIp } from '../../packages/tokenlib/src/index.js'
import { PLATFORMS, serve } from '../helpers/nest.js'

// What a server of the Fetch standard knows of a connection.
function withIp(request: Request): Request {
  setRequestIp(request, '192.0.2.1')
  return request
}

/** Applications that mount routes, and have a route of their own: `POST /auth/own`, which answers with its body. */
export const MOUNTS: Readonly<Record<string, (routes: MountableRoutes) => Promise<RunningServer>>> = {
  Express(routes) {
    const app = express()
    app.use(expressAdapter.mount(routes))
    app.post('/auth/own', express.text({ type: '*/*' }), (req, res) => void res.send(req.body))
    return serveNode(app, 0)
  },
  'Express, behind a body parser and a prefix'(routes) {
    const app = express()
    app.use(express.json(), express.urlencoded(), express.text())
    app.use(routes.path, expressAdapter.mount(routes))
    app.post('/auth/own', (req, res) => void res.send(req.body))
    return serveNode(app, 0)
  },
  async Fastify(routes) {
    const app = Fastify({ forceCloseConnections: true })
    await app.register(fastify.mount(routes))
    app.post('/auth/own', async (request) => request.body)
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { url, close: () => app.close() }
  },
  Hono(routes) {
    const app = new Hono()
    app.use(async (c, next) => {
      setRequestIp(c.req.raw, '192.0.2.1')
      await next()
    })
    app.use(hono.mount(routes))
    app.post('/auth/own', async (c) => c.text(await c.req.text()))
    return serveFetch(app.fetch, 0)
  },
  'Hono, after the body was read'(routes) {
    const app = new Hono()
    app.use(async (c, next) => {
      await c.req.text()
      setRequestIp(c.req.raw, '192.0.2.1')
      await next()
    })
    app.use(hono.mount(routes))
    app.post('/auth/own', async (c) => c.text(await c.req.text()))
    return serveFetch(app.fetch, 0)
  },
  Koa(routes) {
    const app = new Koa()
    app.silent = true
    app.use(koa.mount(routes))
    app.use(async (ctx) => {
      if (ctx.path === '/auth/own') ctx.body = await text(ctx.req)
    })
    const handle = app.callback()
    return serveNode((req, res) => void handle(req, res), 0)
  },
  h3(routes) {
    const app = new H3({ silent: true })
    app.use(h3.mount(routes))
    app.post('/auth/own', (event) => event.req.text())
    return serveFetch((request) => app.fetch(withIp(request)), 0)
  },
  Elysia(routes) {
    const app = new Elysia({ adapter: elysiaNode() })
      .use(elysia.mount(routes))
      .post('/auth/own', ({ body }) => body as string)
    return serveFetch((request) => app.handle(withIp(request)), 0)
  },
  Fetch(routes) {
    const own = async (request: Request): Promise<Response> =>
      request.url.endsWith('/auth/own')
        ? new Response(await request.text())
        : new Response(null, { status: 404 })
    const handler = fetchAdapter.mount(routes, own)
    return serveFetch(async (request) => {
      try {
        return await handler(withIp(request))
      } catch {
        return new Response(null, { status: 500 })
      }
    }, 0)
  },
  ...Object.fromEntries(
    PLATFORMS.map((platform) => [
      `Nest on ${platform}`,
      async (routes: MountableRoutes): Promise<RunningServer> => {
        const setUp = (app: INestApplication): void => void app.use(nest.mount(routes))
        const { port } = await serve([OwnController], { platform, setUp })
        // Closed by its helper, after the test.
        return { url: `http://127.0.0.1:${port}`, close: async () => undefined }
      },
    ]),
  ),
}

@Controller()
class OwnController {
  @Post('/auth/own')
  @HttpCode(200)
  own(@Req() request: { readonly body?: unknown }): unknown {
    return request.body
  }
}
