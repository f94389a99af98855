import { type Context, Elysia, NotFoundError } from 'elysia'
import { describe, expect, test } from 'vitest'
import { enforce, handleErrors, inject, sendCookies } from '../../packages/tokenlib/src/frameworks/elysia.js'
import {
  type Dependency,
  MissingTokenError,
  setAccessCookies,
  unsetCookies,
} from '../../packages/tokenlib/src/index.js'
import { parseSetCookies } from '../helpers/cookie-jar.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { createRequest } from '../helpers/requests.js'

// What every adapter does is in matrix.test.ts.
const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const guard = { beforeHandle: enforce(tokens.accessTokenRequired) }
const get = (path = '/') => createRequest({ path })

// Elysia compiles its routes, unless `aot` is off: then it runs them by other code, with other faults.
describe.each([true, false])('with aot: %s', (aot) => {
  const createApp = () => new Elysia({ aot })

  test('an answer that is no function is guarded too', async () => {
    const app = createApp().get('/', 'text', guard)
    expect((await app.handle(createRequest())).status).toBe(500)
    await expect((await app.handle(withBearer(TOKEN))).text()).resolves.toBe('text')
  })

  test('guards of one route run in the order they are written, up to the first that throws', async () => {
    const log: string[] = []
    const create =
      (name: string, error?: Error): Dependency<string> =>
      async () => {
        await Promise.resolve()
        log.push(name)
        if (error !== undefined) throw error
        return name
      }
    const guards = [
      enforce(create('a')),
      enforce(create('b'), create('c', new MissingTokenError()), create('d')),
    ]
    const app = createApp().get('/', () => 'ran', { beforeHandle: guards })
    expect((await app.handle(get())).status).toBe(500)
    expect(log).toEqual(['a', 'b', 'c'])
  })

  test('inject as a handler gives the values, and all of the context', async () => {
    const app = createApp().post(
      '/users/:id',
      inject(
        { payload: tokens.accessTokenRequired, token: tokens.getTokenFromRequest },
        ({ payload, token }, { params, query, headers, cookie, body }: Context) => [
          [payload.sub, payload.age, token?.location],
          [params['id'], query['q'], headers['x-a'], cookie['c']?.value, body],
        ],
      ),
    )
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      'x-a': 'a',
      cookie: 'c=d',
      'content-type': 'application/json',
    }
    const request = createRequest({ method: 'POST', path: '/users/7?q=1', headers, body: '{"e":1}' })
    await expect((await app.handle(request)).json()).resolves.toEqual([
      ['ada', 36, 'headers'],
      ['7', '1', 'a', 'd', { e: 1 }],
    ])
  })

  describe('sendCookies', () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['cookies'], JWT_SESSION_COOKIE: false })
    const cookies = [...unsetCookies(tokens).slice(2), ...setAccessCookies(tokens, TOKEN)]

    test("adds to those of Elysia's jar and of its headers", async () => {
      const app = createApp().get('/', ({ set, cookie }) => {
        set.headers['set-cookie'] = ['a=1; Path=/', 'b=2']
        cookie['c']?.set({ value: '3' })
        sendCookies(set, cookies)
        cookie['d']?.set({ value: '4' })
        return 'ok'
      })
      const sent = parseSetCookies((await app.handle(createRequest())).headers.getSetCookie())
      expect(sent).toMatchObject(parseSetCookies(cookies))
      expect(Object.keys(sent)).toEqual(expect.arrayContaining(['a', 'b', 'c', 'd']))
    })
  })

  const routes = () => createApp().get('/', () => 'ran', guard)

  test('not handled: a 500 whatever status the route had set before', async () => {
    const app = createApp()
      .onTransform(({ set }) => void (set.status = 201))
      .use(routes())
      .get('/after', () => 'ran', { beforeHandle: enforce(tokens.accessTokenRequired) })
    expect((await app.handle(get('/after'))).status).toBe(500)
  })

  test("handled: Elysia's own errors are what they are without a handler", async () => {
    const fails = () =>
      createApp().get('/gone', () => {
        throw new NotFoundError('gone')
      })
    const handled = createApp().onError(handleErrors()).use(fails())
    const [expected, response] = [await fails().handle(get('/gone')), await handled.handle(get('/gone'))]
    expect([response.status, await response.text()]).toEqual([404, 'gone'])
    expect(response.headers.get('content-type')).toBe(expected.headers.get('content-type'))
    expect(expected.status).toBe(404)
  })

  test('handled: an unknown path is answered as with an error handler that does nothing', async () => {
    const answers = []
    for (const handler of [() => undefined, handleErrors()]) {
      const response = await createApp().onError(handler).use(routes()).handle(get('/nowhere'))
      answers.push([response.status, response.headers.get('content-type'), await response.text()])
    }
    expect(answers[1]).toEqual(answers[0])
    expect(answers[1]?.[0]).toBe(404)
  })

  test('registered on the root before its plugins, it is for them all', async () => {
    const nested = createApp().use(createApp().use(routes()))
    expect((await createApp().onError(handleErrors()).use(nested).handle(get())).status).toBe(401)
  })

  test('registered in a plugin, it is for the whole application only as global', async () => {
    const local = createApp().onError(handleErrors())
    const global = createApp().onError({ as: 'global' }, handleErrors())
    expect((await createApp().use(local).use(routes()).handle(get())).status).toBe(500)
    expect((await createApp().use(global).use(routes()).handle(get())).status).toBe(401)
    const nested = createApp().use(createApp().use(global))
    expect((await nested.use(routes()).handle(get())).status).toBe(401)
  })
})

// Types keep a guard out of onRequest. Past them, a refusal without handleErrors is a 200 in Elysia.
test('a guard in onRequest keeps the route from running all the same', async () => {
  const guard = enforce(tokens.accessTokenRequired) as () => Promise<void>
  const app = new Elysia().onRequest(guard).get('/', () => 'ran')
  await expect((await app.handle(get())).text()).resolves.not.toBe('ran')
})
