import { Router } from '@koa/router'
import Koa, { type Middleware } from 'koa'
import mount from 'koa-mount'
import { afterAll, describe, expect, test } from 'vitest'
import { type RunningServer, serveNode } from '../../examples/server.js'
import { assertRouter, enforce, handleErrors, inject } from '../../packages/tokenlib/src/frameworks/koa.js'
import { createManager } from '../helpers/manager.js'

const { tokens } = createManager()
const bearer = { headers: { authorization: `Bearer ${tokens.createAccessToken({ uid: 'ada' })}` } }
const servers: RunningServer[] = []
afterAll(() => Promise.all(servers.map((server) => server.close())))

async function serve(...middleware: Middleware[]): Promise<string> {
  const app = new Koa()
  app.silent = true
  app.use(handleErrors())
  for (const one of middleware) app.use(one)
  const handle = app.callback()
  const server = await serveNode((req, res) => void handle(req, res), 0)
  servers.push(server)
  return server.url
}

const createGuard = () => enforce(tokens.accessTokenRequired)
const answer: Middleware = (ctx) => void (ctx.body = 'ran')
const withUsers = (router: Router): Router => router.get('/users', answer)

/** Layouts of a router that some requests get around, each with the path that does. */
const OPEN: readonly [string, (guard: Middleware) => Router, string][] = [
  ['a prefix', (guard) => withUsers(new Router({ prefix: '/admin' }).use(guard)), '/ADMIN/users'],
  ['router.prefix()', (guard) => withUsers(new Router().use(guard)).prefix('/admin'), '/Admin/users'],
  [
    'a nested router with a guard of its own',
    (guard) => new Router().use('/admin', withUsers(new Router().use(guard)).routes()),
    '/ADMIN/users',
  ],
  [
    'a regular expression',
    (guard) => new Router().use(/^\/admin/, guard).get('/admin/users', answer),
    '/ADMIN/users',
  ],
  [
    'a slash at the end',
    (guard) => new Router().use('/admin/', guard).get('/admin/users', answer),
    '/admin/users',
  ],
  ['the path /', (guard) => withUsers(new Router().use('/', guard)), '/users'],
  [
    'the path / below a prefix',
    (guard) => withUsers(new Router({ prefix: '/admin' }).use('/', guard)),
    '/admin/users',
  ],
  ['an exclusive router', (guard) => withUsers(new Router({ exclusive: true }).use(guard)), '/users'],
  [
    'an exclusive router, and a regular expression as route',
    (guard) => new Router({ exclusive: true }).use(guard).get(/^\/users$/, answer),
    '/users',
  ],
  [
    'a route with an escaped character',
    (guard) => new Router({ prefix: '/admin' }).use(guard).get('/a\\:b', answer),
    '/ADMIN/a:b',
  ],
  [
    'a regular expression as route, and paths',
    (guard) => new Router().use(['/', '/a'], guard).get(/^\/users$/, answer),
    '/users',
  ],
  [
    'a regular expression as route, and paths that share its samples',
    (guard) => new Router().use(['/', '/Any', '/any/Path', '/0'], guard).get(/^\/users$/, answer),
    '/users',
  ],
  [
    'a slash at the end of a route',
    (guard) => new Router().use(/^\/admin\/users$/i, guard).get('/admin/users', answer),
    '/admin/users/',
  ],
]

describe.each(OPEN)('a guard that @koa/router leaves out: %s', (_, create, path) => {
  test('the router lets a request around any middleware', async () => {
    const refuse: Middleware = (ctx) => ctx.throw(401)
    const url = await serve(create(refuse).routes() as Middleware)
    expect((await fetch(`${url}${path}`)).status).toBe(200)
  })

  test('assertRouter refuses it, for enforce and for inject', () => {
    expect(() => assertRouter(create(createGuard()))).toThrow(TypeError)
    expect(() => assertRouter(create(inject({ payload: tokens.accessTokenRequired }) as Middleware))).toThrow(
      TypeError,
    )
  })

  test('the first request that meets a guard of the router is answered with 500, and so are all others', async () => {
    const router = create(createGuard()).get('/guarded', createGuard(), answer)
    const url = await serve(router.routes() as Middleware)
    const guarded = `${url}${router.opts.prefix ?? ''}/guarded`
    for (const init of [{}, bearer, bearer]) expect((await fetch(guarded, init)).status).toBe(500)
  })
})

const SAFE: readonly [string, () => Router][] = [
  ['router.use(path, guard)', () => new Router().use('/admin', createGuard()).get('/admin/users', answer)],
  [
    'router.use(path, guard, nested)',
    () => new Router().use('/admin', createGuard(), withUsers(new Router()).routes()),
  ],
  [
    'guards on routes below a prefix',
    () => new Router({ prefix: '/admin' }).get('/users', createGuard(), answer),
  ],
  ['sensitive: true', () => withUsers(new Router({ prefix: '/admin', sensitive: true }).use(createGuard()))],
  ['a prefix with a parameter', () => withUsers(new Router({ prefix: '/:tenant' }).use(createGuard()))],
  [
    'several paths',
    () => new Router().use(['/admin', '/reports'], createGuard()).get('/admin{/:page}', answer),
  ],
  ['a guard for all', () => new Router().use(createGuard()).get('/admin/users', answer).get(/^\/x/, answer)],
  [
    'a guard behind open routes',
    () => new Router().get('/', answer).get('/ping', answer).use(createGuard()).get('/admin/users', answer),
  ],
]

test.each(SAFE)('%s is as it should be', async (_, create) => {
  const router = create()
  expect(() => assertRouter(router)).not.toThrow()
  const url = await serve(router.routes() as Middleware)
  expect((await fetch(`${url}/admin/users`, bearer)).status).toBe(200)
  for (const path of ['/admin/users', '/ADMIN/users', '/Admin/USERS', '/admin/users/', '/ADMIN/users/']) {
    expect([401, 404], path).toContain((await fetch(`${url}${path}`)).status)
  }
})

test('a route that is added later is looked at too', async () => {
  const router = new Router({ prefix: '/admin' }).use(createGuard()).get('/1', answer)
  const same = new Router({ prefix: '/1', sensitive: true }).use(createGuard()).get('/2', answer)
  expect(() => assertRouter(router)).toThrow(TypeError)
  const url = await serve(same.routes() as Middleware)
  expect((await fetch(`${url}/1/2`, bearer)).status).toBe(200)
  same.use('/x/', createGuard()).get('/x/y', answer)
  expect((await fetch(`${url}/1/2`, bearer)).status).toBe(500)
})

test.each([null, 'router', { stack: 'x' }, { stack: [null] }, { stack: [{ methods: [] }] }])(
  'what another router puts at ctx.router does no harm: %j',
  async (router) => {
    const url = await serve(
      (ctx, next) => {
        ctx['router'] = router
        return next()
      },
      createGuard(),
      answer,
    )
    expect((await fetch(url, bearer)).status).toBe(200)
    expect((await fetch(url)).status).toBe(401)
  },
)

describe('koa-mount', () => {
  test('a mounted guard before a router is left out in another case', async () => {
    const router = new Router().get('/admin/users', answer)
    const url = await serve(mount('/admin', createGuard()) as Middleware, router.routes() as Middleware)
    expect((await fetch(`${url}/admin/users`)).status).toBe(401)
    expect((await fetch(`${url}/ADMIN/users`)).status).toBe(200)
  })

  test('a mounted application with the guard and the routes is closed', async () => {
    const inner = new Koa().use(createGuard()).use(withUsers(new Router()).routes())
    const url = await serve(mount('/admin', inner) as Middleware)
    expect((await fetch(`${url}/admin/users`, bearer)).status).toBe(200)
    expect((await fetch(`${url}/admin/users`)).status).toBe(401)
    expect((await fetch(`${url}/ADMIN/users`)).status).toBe(404)
  })
})
