import { Elysia } from 'elysia'
import { describe, expect, test } from 'vitest'
import { enforce, handleErrors, inject } from '../../packages/tokenlib/src/frameworks/elysia.js'
import * as fetchAdapter from '../../packages/tokenlib/src/frameworks/fetch.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { createRequest } from '../helpers/requests.js'

const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const payload = inject({ payload: tokens.accessTokenRequired })

interface App {
  handle(request: Request): Promise<Response>
}
const statusOf = async (app: App, path: string) => (await app.handle(createRequest({ path }))).status

// Nothing here is of our making. It shows what the guide says of Elysia, and fails when Elysia changes.
describe.each([true, false])('what is guarded, with aot: %s', (aot) => {
  const createApp = () => new Elysia({ aot }).onError(handleErrors())

  test('by a macro: the routes that ask for it, also in another instance', async () => {
    const auth = new Elysia({ aot, name: 'auth' }).macro({ auth: { resolve: payload } })
    const users = new Elysia({ aot }).use(auth).get('/me', ({ payload }) => payload.sub, { auth: true })
    const app = createApp()
      .use(auth)
      .use(users)
      .get('/before', () => 'ran', { auth: true })
      .get('/open', () => 'ran')
    expect(await statusOf(app, '/me')).toBe(401)
    expect(await statusOf(app, '/before')).toBe(401)
    expect(await statusOf(app, '/open')).toBe(200)
    await expect((await app.handle(withBearer(TOKEN, '/me'))).text()).resolves.toBe('ada')
  })

  test('by a macro with a parameter: what the route asks for', async () => {
    const app = createApp()
      .macro({
        scopes: (scopes: string[]) => ({
          resolve: inject({ payload: tokens.require({ scopes: [...scopes] }) }),
        }),
      })
      .get('/write', () => 'ran', { scopes: ['write'] })
    expect(await statusOf(app, '/write')).toBe(401)
    expect((await app.handle(withBearer(TOKEN, '/write'))).status).toBe(403)
    const token = tokens.createAccessToken({ uid: 'ada' }, { scopes: ['write'] })
    expect((await app.handle(withBearer(token, '/write'))).status).toBe(200)
  })

  test('by a resolve: the routes that come after it in the same instance, and no others', async () => {
    const plugin = new Elysia({ aot })
      .get('/before', () => 'ran')
      .resolve(payload)
      .get('/after', () => 'ran')
    const app = createApp()
      .use(plugin)
      .get('/outside', () => 'ran')
    expect(await statusOf(app, '/before')).toBe(200)
    expect(await statusOf(app, '/after')).toBe(401)
    expect(await statusOf(app, '/outside')).toBe(200)
  })

  test.each([
    ['scoped', 401, 200],
    ['global', 401, 401],
  ] as const)('by a resolve that is %s: the parent too', async (as, parent, grandparent) => {
    const plugin = new Elysia({ aot }).resolve({ as }, payload)
    const middle = new Elysia({ aot }).use(plugin).get('/parent', () => 'ran')
    const app = createApp()
      .use(middle)
      .get('/grandparent', () => 'ran')
    expect(await statusOf(app, '/parent')).toBe(parent)
    expect(await statusOf(app, '/grandparent')).toBe(grandparent)
  })

  test('by a guard: the routes inside it', async () => {
    const app = createApp()
      .guard({ beforeHandle: enforce(tokens.accessTokenRequired) }, (guarded) =>
        guarded.get('/inside', () => 'ran'),
      )
      .get('/outside', () => 'ran')
    expect(await statusOf(app, '/inside')).toBe(401)
    expect(await statusOf(app, '/outside')).toBe(200)
  })

  test('Elysia drops the hooks of a route with a macro that is false, and cannot drop a handler', async () => {
    const handler = inject({ payload: tokens.accessTokenRequired }, () => 'ran')
    const app = createApp()
      .macro({ auth: { resolve: payload }, log: { beforeHandle() {} } })
      .get('/macro', () => 'ran', { log: false, auth: true })
      .get('/hook', () => 'ran', { log: false, beforeHandle: enforce(tokens.accessTokenRequired) })
      .get('/handler', handler, { log: false })
      .get('/left-out', () => 'ran', { auth: true })
    expect(await statusOf(app, '/macro')).toBe(200)
    expect(await statusOf(app, '/hook')).toBe(200)
    expect(await statusOf(app, '/handler')).toBe(401)
    expect(await statusOf(app, '/left-out')).toBe(401)
  })

  test('a mounted handler has the hooks of the application only where aot is on', async () => {
    const mounted = () => new Response('ran')
    const guard = enforce(tokens.accessTokenRequired)
    const apps = [
      createApp().onBeforeHandle(guard).mount('/admin', mounted),
      createApp().onTransform(guard).mount('/admin', mounted),
      createApp().resolve(payload).mount('/admin', mounted),
      createApp().onBeforeHandle(guard).mount(mounted),
      createApp().guard({ beforeHandle: guard }, (app) => app.mount('/admin', mounted)),
    ]
    for (const app of apps) expect(await statusOf(app, '/admin/users')).toBe(aot ? 401 : 200)
  })

  test('a mounted handler that has the guard itself is closed', async () => {
    const mounted = fetchAdapter.enforce(tokens.accessTokenRequired)(() => new Response('ran'))
    const app = createApp().mount('/admin', fetchAdapter.handleErrors()(mounted))
    expect(await statusOf(app, '/admin/users')).toBe(401)
    expect((await app.handle(withBearer(TOKEN, '/admin/users'))).status).toBe(200)
  })

  test('Elysia drops the second of two plugins with one name', async () => {
    const required = new Elysia({ aot, name: 'auth' }).resolve({ as: 'global' }, payload)
    const scoped = new Elysia({ aot, name: 'auth' }).onBeforeHandle(
      { as: 'global' },
      enforce(tokens.require({ scopes: ['write'] })),
    )
    const app = createApp()
      .use(required)
      .use(scoped)
      .get('/', () => 'ran')
    expect((await app.handle(withBearer(TOKEN))).status).toBe(200)
  })
})

test('Elysia skips all hooks of an answer that is no function when there is one of each kind', async () => {
  const hooks = {
    parse: 'json' as const,
    transform: () => {},
    beforeHandle: enforce(tokens.accessTokenRequired),
    afterHandle: () => {},
  }
  const app = new Elysia()
    .onError(handleErrors())
    .get('/text', 'text', hooks)
    .get('/function', () => 'text', hooks)
  expect(await statusOf(app, '/text')).toBe(200)
  expect(await statusOf(app, '/function')).toBe(401)
})
