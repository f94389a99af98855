import { Controller, Get, Header, type INestApplication, Post } from '@nestjs/common'
import { node as elysiaNode } from '@elysiajs/node'
import { Elysia } from 'elysia'
import express from 'express'
import Fastify from 'fastify'
import { H3 } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import { Router } from '@koa/router'
import { type RunningServer, serveFetch, serveNode } from '../../examples/server.js'
import * as elysia from '../../packages/tokenlib/src/frameworks/elysia.js'
import * as expressAdapter from '../../packages/tokenlib/src/frameworks/express.js'
import * as fastify from '../../packages/tokenlib/src/frameworks/fastify.js'
import * as fetchAdapter from '../../packages/tokenlib/src/frameworks/fetch.js'
import * as h3 from '../../packages/tokenlib/src/frameworks/h3.js'
import * as hono from '../../packages/tokenlib/src/frameworks/hono.js'
import * as koa from '../../packages/tokenlib/src/frameworks/koa.js'
import * as nest from '../../packages/tokenlib/src/frameworks/nest/index.js'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMetadataRoutes } from '../../packages/issuers/src/index.js'
import { PLATFORMS, serve } from '../helpers/nest.js'
import {
  addToElysia,
  addToExpress,
  addToFastify,
  addToH3,
  addToHono,
  addToKoa,
  answerPublicly,
  PublicController,
} from './public-routes.js'

// What a login of the route's own would set.
const OWN = 'access_token_cookie=own; Path=/'

/** Routes of this package that let every cache keep their responses. */
const createMetadata = (tokens: TokenManager): ReturnType<typeof createMetadataRoutes> =>
  createMetadataRoutes(tokens, { resource: { resource: 'https://api.example' } })

/**
 * Applications that refresh implicitly: `GET` and `POST /me` answer with the user, `GET /open` needs none, `GET /sets` sets an
 * access cookie itself, and `GET /fails` throws an error of its own. Most set a cookie `own` in `/me`. All have the routes of
 * `PUBLIC_ROUTES`, and metadata below `/.well-known`.
 */
export const REFRESHING: Readonly<Record<string, (tokens: TokenManager) => Promise<RunningServer>>> = {
  Express(tokens) {
    const app = express()
    app.use(expressAdapter.implicitRefresh(tokens))
    app.use(expressAdapter.mount(createMetadata(tokens)))
    addToExpress(app)
    app.all(
      '/me',
      expressAdapter.inject({ payload: tokens.accessTokenRequired }, ({ payload }, _req, res) => {
        res.cookie('own', '1')
        res.json(payload.sub)
      }),
    )
    app.get('/open', (_req, res) => void res.json('open'))
    app.get('/sets', (_req, res) => void res.set('set-cookie', OWN).json('sets'))
    app.get('/fails', () => {
      throw new Error('on purpose')
    })
    app.use(expressAdapter.handleErrors({ config: tokens.config }))
    app.set('env', 'test')
    return serveNode(app, 0)
  },
  async Fastify(tokens) {
    const app = Fastify({ forceCloseConnections: true })
    app.setErrorHandler(fastify.handleErrors({ config: tokens.config }))
    app.addHook('onRequest', fastify.implicitRefresh(tokens))
    app.register(fastify.mount(createMetadata(tokens)))
    addToFastify(app)
    app.route({
      method: ['GET', 'POST'],
      url: '/me',
      handler: fastify.inject({ payload: tokens.accessTokenRequired }, ({ payload }, _request, reply) => {
        reply.header('set-cookie', 'own=1')
        return JSON.stringify(payload.sub)
      }),
    })
    app.get('/open', async () => JSON.stringify('open'))
    app.get('/sets', async (_request, reply) => reply.header('set-cookie', OWN).send(JSON.stringify('sets')))
    app.get('/raw', (_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200, { 'content-type': 'text/plain' }).end('raw')
    })
    app.get('/fails', async () => {
      throw new Error('on purpose')
    })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { url, close: () => app.close() }
  },
  Hono(tokens) {
    const app = new Hono()
    app.onError(hono.handleErrors({ config: tokens.config }))
    app.use(hono.implicitRefresh(tokens))
    app.use(hono.mount(createMetadata(tokens)))
    addToHono(app)
    app.on(['GET', 'POST'], '/me', hono.inject({ payload: tokens.accessTokenRequired }), (c) => {
      c.header('set-cookie', 'own=1', { append: true })
      return c.json(c.var.payload.sub)
    })
    // A response that the context has not made.
    app.get('/open', () => Response.json('open'))
    app.get('/sets', () => Response.json('sets', { headers: { 'set-cookie': OWN } }))
    app.get('/fails', () => {
      throw new Error('on purpose')
    })
    return serveFetch(app.fetch, 0)
  },
  Koa(tokens) {
    const app = new Koa()
    app.silent = true
    app.use(koa.handleErrors({ config: tokens.config }))
    app.use(koa.implicitRefresh(tokens))
    app.use(koa.mount(createMetadata(tokens)))
    const router = new Router()
    addToKoa(router)
    const me = koa.inject({ payload: tokens.accessTokenRequired }, ({ payload }, ctx) => {
      ctx.cookies.set('own', '1')
      ctx.body = JSON.stringify(payload.sub)
    })
    router.get('/me', me as never)
    router.post('/me', me as never)
    router.get('/open', (ctx) => void (ctx.body = JSON.stringify('open')))
    router.get('/sets', (ctx) => {
      ctx.set('set-cookie', OWN)
      ctx.body = 'sets'
    })
    router.get('/fails', () => {
      throw new Error('on purpose')
    })
    app.use(router.routes() as never)
    const handle = app.callback()
    return serveNode((req, res) => void handle(req, res), 0)
  },
  h3(tokens) {
    const app = new H3({ silent: true })
    app.use(h3.handleErrors({ config: tokens.config }))
    app.use(h3.implicitRefresh(tokens))
    app.use(h3.mount(createMetadata(tokens)))
    addToH3(app)
    app.all(
      '/me',
      h3.inject({ payload: tokens.accessTokenRequired }, ({ payload }, event) => {
        event.res.headers.append('set-cookie', 'own=1')
        return JSON.stringify(payload.sub)
      }),
    )
    app.get('/open', () => Response.json('open'))
    app.get('/sets', () => Response.json('sets', { headers: { 'set-cookie': OWN } }))
    app.get('/fails', () => {
      throw new Error('on purpose')
    })
    return serveFetch((request) => app.fetch(request), 0)
  },
  Elysia(tokens) {
    const app = new Elysia({ adapter: elysiaNode() })
      .onError(elysia.handleErrors({ config: tokens.config }))
      .use(elysia.implicitRefresh(tokens))
      .use(elysia.mount(createMetadata(tokens)))
      .get('/open', () => Response.json('open'))
      .get('/sets', ({ cookie }) => {
        cookie['access_token_cookie']?.set({ value: 'own', path: '/' })
        return 'sets'
      })
      .get('/fails', () => {
        throw new Error('on purpose')
      })
      .resolve(elysia.inject({ payload: tokens.accessTokenRequired }))
      .all('/me', ({ payload, cookie }) => {
        cookie['own']?.set({ value: '1' })
        return JSON.stringify(payload.sub)
      })
    addToElysia(app as never)
    return serveFetch((request) => app.handle(request), 0)
  },
  Fetch(tokens) {
    const me = fetchAdapter.inject({ payload: tokens.accessTokenRequired }, ({ payload }) =>
      fetchAdapter.sendCookies(Response.json(payload.sub), ['own=1']),
    )
    const wrap = fetchAdapter.implicitRefresh(tokens)
    const metadata = createMetadata(tokens)
    const handler = wrap(
      fetchAdapter.handleErrors({ config: tokens.config })(async (request) => {
        const { pathname } = new URL(request.url)
        const known = (await metadata.handle(request)) ?? answerPublicly(pathname)
        if (known !== null) return known
        if (pathname === '/me') return me(request)
        if (pathname === '/sets') return Response.json('sets', { headers: { 'set-cookie': OWN } })
        return pathname === '/open' ? Response.json('open') : new Response(null, { status: 500 })
      }),
    )
    // The refresh itself may be refused, when the store is away.
    return serveFetch(fetchAdapter.handleErrors({ config: tokens.config })(handler), 0)
  },
  ...Object.fromEntries(
    PLATFORMS.map((platform) => [
      `Nest on ${platform}`,
      async (tokens: TokenManager): Promise<RunningServer> => {
        const setUp = (app: INestApplication): void => {
          app.use(nest.implicitRefresh(tokens))
          app.use(nest.mount(createMetadata(tokens)))
          app.useGlobalFilters(new nest.TokenExceptionFilter({ config: tokens.config }))
        }
        const { port } = await serve([OwnController, PublicController], {
          platform,
          setUp,
          imports: [nest.TokenModule.forRoot({ tokens })],
        })
        return { url: `http://127.0.0.1:${port}`, close: async () => undefined }
      },
    ]),
  ),
}

@Controller()
class OwnController {
  @Get('/me')
  me(@nest.TokenClaims() payload: { readonly sub: string }): string {
    return JSON.stringify(payload.sub)
  }

  @Post('/me')
  post(@nest.TokenClaims() payload: { readonly sub: string }): string {
    return JSON.stringify(payload.sub)
  }

  @Get('/open')
  open(): string {
    return JSON.stringify('open')
  }

  @Get('/sets')
  @Header('set-cookie', OWN)
  sets(): string {
    return 'sets'
  }

  @Get('/fails')
  fails(): never {
    throw new Error('on purpose')
  }
}
