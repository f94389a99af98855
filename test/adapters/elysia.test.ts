import { once } from 'node:events'
import { connect } from 'node:net'
import { type Context, Elysia } from 'elysia'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { applicationContract } from 'tokenlib/testing'
import { createApplication } from '../../examples/application.js'
import { start } from '../../examples/elysia.js'
import { FRAMEWORKS } from '../../examples/options.js'
import { serveFetch } from '../../examples/server.js'
import { enforce, handleErrors, inject, sendCookies } from '../../src/adapters/elysia.js'
import { type Dependency, MissingTokenError, setAccessCookies, unsetCookies } from '../../src/index.js'
import { parseSetCookies } from '../helpers/cookie-jar.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { createRequest, toHttpText } from '../helpers/requests.js'

applicationContract(
  'elysia',
  async (options) => {
    const application = createApplication()
    const server = await start(application, { ...options, framework: FRAMEWORKS[0], port: 0 })
    return { ...server, checks: () => application.checks() }
  },
  { afterAll, beforeAll, describe, test },
)

const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1
const guard = { beforeHandle: enforce(tokens.accessTokenRequired) }

// Elysia compiles its routes, unless `aot` is off: then it runs them by other code, with other faults.
describe.each([true, false])('with aot: %s', (aot) => {
  const createApp = () => new Elysia({ aot })

  test('an answer that is no function is guarded too', async () => {
    const app = createApp().get('/', 'text', guard)
    expect((await app.handle(createRequest())).status).toBe(500)
    await expect((await app.handle(withBearer(TOKEN))).text()).resolves.toBe('text')
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
})
