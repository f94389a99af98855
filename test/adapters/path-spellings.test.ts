import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { Router as KoaRouter } from '@koa/router'
import { Elysia } from 'elysia'
import express from 'express'
import Fastify from 'fastify'
import { H3 } from 'h3'
import { toNodeHandler } from 'h3/node'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningServer, serveFetch, serveNode } from '../../examples/server.js'
import * as elysia from '../../packages/tokenlib/src/frameworks/elysia.js'
import * as expressAdapter from '../../packages/tokenlib/src/frameworks/express.js'
import * as fastify from '../../packages/tokenlib/src/frameworks/fastify.js'
import * as h3 from '../../packages/tokenlib/src/frameworks/h3.js'
import * as hono from '../../packages/tokenlib/src/frameworks/hono.js'
import * as koa from '../../packages/tokenlib/src/frameworks/koa.js'
import { createManager } from '../helpers/manager.js'

const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const guarded = tokens.accessTokenRequired

/** Ways to write `/admin/users`, and things that look like it. */
const SPELLINGS = [
  '/admin/users',
  '/ADMIN/users',
  '/Admin/USERS',
  '/admin/users/',
  '/ADMIN/users/',
  '/admin//users',
  '//admin/users',
  '/admin/users//',
  '/./admin/users',
  '/admin/./users',
  '/x/../admin/users',
  '/admin/x/../users',
  '/admin%2Fusers',
  '/admin%2fusers',
  '/%2Fadmin/users',
  '/%61dmin/users',
  '/%41DMIN/users',
  '/admin/%75sers',
  '/%2e/admin/users',
  '/x/%2e%2e/admin/users',
  '/admin%5Cusers',
  '/admin\\users',
  '\\admin\\users',
  '/admin;x=1/users',
  '/admin/users;x=1',
  '/admin/users%00',
  '/admin/users%20',
  '/admin/users.json',
  '/admin/users?',
  '/admin/users?x=/open',
  '/admin/users#x',
  '/admin%23/users',
  '/admin%3F/users',
  'http://localhost/admin/users',
  'http://localhost/ADMIN/users',
  'http://localhost//admin/users',
] as const

/** Applications with a guard on `/admin` and a route below it, in each way that a framework has. */
const APPLICATIONS: Readonly<Record<string, () => Promise<RunningServer>>> = {
  'Express: app.use(path, guard)': async () => {
    const app = express().set('env', 'test')
    app.use('/admin', expressAdapter.enforce(guarded))
    app.get('/admin/users', (_req, res) => void res.send('ran'))
    app.use(expressAdapter.handleErrors())
    return serveNode(app, 0)
  },
  'Express: a router': async () => {
    const app = express().set('env', 'test')
    const router = express.Router()
    router.use(expressAdapter.enforce(guarded))
    router.get('/users', (_req, res) => void res.send('ran'))
    app.use('/admin', router)
    app.use(expressAdapter.handleErrors())
    return serveNode(app, 0)
  },
  'Koa: router.use(path, guard)': () =>
    serveKoa(
      new KoaRouter()
        .use('/admin', koa.enforce(guarded))
        .get('/admin/users', (ctx) => void (ctx.body = 'ran')),
    ),
  'Koa: a nested router': () => {
    const nested = new KoaRouter().get('/users', (ctx) => void (ctx.body = 'ran'))
    return serveKoa(new KoaRouter().use('/admin', koa.enforce(guarded), nested.routes()))
  },
  'Koa: a prefix and sensitive': () =>
    serveKoa(
      new KoaRouter({ prefix: '/admin', sensitive: true })
        .use(koa.enforce(guarded))
        .get('/users', (ctx) => void (ctx.body = 'ran')),
    ),
  'Hono: app.use(path, guard)': async () => {
    const app = new Hono()
    app.onError(hono.handleErrors())
    app.use('/admin/*', hono.enforce(guarded))
    app.get('/admin/users', (c) => c.text('ran'))
    return serveFetch(app.fetch, 0)
  },
  'Hono: not strict': async () => {
    const app = new Hono({ strict: false })
    app.onError(hono.handleErrors())
    app.use('/admin/*', hono.enforce(guarded))
    app.get('/admin/users', (c) => c.text('ran'))
    return serveFetch(app.fetch, 0)
  },
  'Hono: basePath': async () => {
    const app = new Hono().basePath('/admin')
    app.onError(hono.handleErrors())
    app.use(hono.enforce(guarded))
    app.get('/users', (c) => c.text('ran'))
    return serveFetch(app.fetch, 0)
  },
  'Hono: app.route': async () => {
    const app = new Hono()
    app.onError(hono.handleErrors())
    const admin = new Hono().use(hono.enforce(guarded)).get('/users', (c) => c.text('ran'))
    app.route('/admin', admin)
    return serveFetch(app.fetch, 0)
  },
  'Fastify: a prefix': () => serveFastify({}),
  'Fastify: a prefix, and paths without case': () =>
    serveFastify({
      routerOptions: { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
    }),
  'h3: app.use(path, guard)': async () => {
    const app = new H3({ silent: true }).use(h3.handleErrors())
    app.use('/admin/**', h3.enforce(guarded)).get('/admin/users', () => 'ran')
    return serveNode(toNodeHandler(app), 0)
  },
  'h3: a mounted application': async () => {
    const admin = new H3({ silent: true }).use(h3.enforce(guarded)).get('/users', () => 'ran')
    const app = new H3({ silent: true }).use(h3.handleErrors()).mount('/admin', admin)
    return serveNode(toNodeHandler(app), 0)
  },
  'Elysia: a prefix': async () => {
    const app = new Elysia({ prefix: '/admin' })
      .onError(elysia.handleErrors())
      .onBeforeHandle(elysia.enforce(guarded))
      .get('/users', () => 'ran')
    return serveFetch(app.fetch, 0)
  },
  'Elysia: a group': async () => {
    const app = new Elysia()
      .onError(elysia.handleErrors())
      .group('/admin', (admin) => admin.onBeforeHandle(elysia.enforce(guarded)).get('/users', () => 'ran'))
    return serveFetch(app.fetch, 0)
  },
  'Elysia: a group, aot off': async () => {
    const app = new Elysia({ aot: false })
      .onError(elysia.handleErrors())
      .group('/admin', (admin) => admin.onBeforeHandle(elysia.enforce(guarded)).get('/users', () => 'ran'))
    return serveFetch(app.fetch, 0)
  },
}

function serveKoa(router: KoaRouter): Promise<RunningServer> {
  const app = new Koa()
  app.silent = true
  app.use(koa.handleErrors()).use(router.routes())
  const handle = app.callback()
  return serveNode((req, res) => void handle(req, res), 0)
}

async function serveFastify(options: object): Promise<RunningServer> {
  const app = Fastify({ forceCloseConnections: true, ...options })
  app.setErrorHandler(fastify.handleErrors())
  await app.register(
    async (admin) => {
      admin.addHook('onRequest', fastify.enforce(guarded))
      admin.get('/users', () => 'ran')
    },
    { prefix: '/admin' },
  )
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { url, close: () => app.close() }
}

/** The status of an answer to a request whose target is sent as it is: `fetch` would tidy it up. */
async function get(server: RunningServer, target: string, token?: string): Promise<number> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
  socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${authorization}\r\n`)
  const answer = await text(socket)
  return Number(answer.split(' ', 2)[1])
}

describe.each(Object.entries(APPLICATIONS))('%s', (_, start) => {
  let server: RunningServer
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.close())

  test('a token opens the route', async () => {
    expect(await get(server, '/admin/users', TOKEN)).toBe(200)
  })

  test('no spelling of its path opens it without one', async () => {
    const statuses = await Promise.all(
      SPELLINGS.map(async (target) => [target, await get(server, target)] as const),
    )
    // Refused, not found, or sent elsewhere; never answered by the route.
    expect(statuses.filter(([, status]) => !(status >= 300) || status === 500)).toEqual([])
  })
})

test('Express: a router that ignores case gets around a guard of an application that does not', async () => {
  const start = (caseSensitive: boolean): Promise<RunningServer> => {
    const app = express().set('env', 'test').set('case sensitive routing', true)
    app.use('/admin', expressAdapter.enforce(guarded))
    app.use(express.Router({ caseSensitive }).get('/admin/users', (_req, res) => void res.send('ran')))
    app.use(expressAdapter.handleErrors())
    return serveNode(app, 0)
  }
  const [open, closed] = await Promise.all([start(false), start(true)])
  expect(await get(open, '/admin/users')).toBe(401)
  expect(await get(open, '/ADMIN/users')).toBe(200)
  expect(await get(closed, '/ADMIN/users')).toBe(404)
  await Promise.all([open.close(), closed.close()])
})
