import { request as sendRequest } from 'node:http'
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { describe, expect, onTestFinished, test } from 'vitest'
import { implicitRefresh } from '../../packages/tokenlib/src/frameworks/elysia.js'
import { createRevocable } from '../helpers/revocable.js'
import { COOKIES, logIn, TOKEN_COOKIES } from './logged-in.js'
import { PUBLIC } from './public-routes.js'

/** The server behind `app.listen`. */
interface ListeningServer {
  readonly raw: { readonly url: string; ready(): Promise<unknown>; close(force: boolean): Promise<void> }
}

const answerPublicly = (): Response =>
  new Response('text', { headers: [...Object.entries(PUBLIC), ['set-cookie', 'theme=dark']] })

describe.each([
  ['Elysia', {}],
  ['Elysia on Node', { adapter: node() }],
] as const)('%s', (_name, config) => {
  const visit = async (createApp: (app: Elysia) => { handle(request: Request): Promise<Response> }) => {
    const { tokens, clock, jar } = await logIn()
    const app = createApp(new Elysia(config).use(implicitRefresh(tokens)))
    clock.seconds += 301
    const { headers } = await app.handle(new Request('http://localhost/', { headers: jar.headers() }))
    return headers
  }
  const expectPrivate = (headers: Headers): void => {
    const names = headers.getSetCookie().map((cookie) => cookie.split('=', 1)[0])
    expect(names.toSorted()).toEqual([...TOKEN_COOKIES, 'theme'].toSorted())
    expect([headers.get('cache-control'), headers.has('cdn-cache-control')]).toEqual([
      'private, no-store',
      false,
    ])
  }

  test('a response that a hook for errors returns', async () => {
    const headers = await visit((app) =>
      app.onError(answerPublicly).get('/', () => {
        throw new Error('on purpose')
      }),
    )
    expectPrivate(headers)
  })

  test('a response that a later hook puts in the place of the answer', async () => {
    expectPrivate(await visit((app) => app.mapResponse(answerPublicly).get('/', () => 'text')))
    expectPrivate(await visit((app) => app.onAfterHandle(answerPublicly).get('/', () => 'text')))
    expectPrivate(await visit((app) => app.onBeforeHandle(answerPublicly).get('/', () => 'text')))
  })

  test('a response for many requests gets no cookies of one of them', async () => {
    const shared = new Response(null, { headers: { 'set-cookie': 'theme=dark' } })
    expectPrivate(await visit((app) => app.get('/', () => shared)))
    expect(shared.headers.getSetCookie()).toEqual(['theme=dark'])
  })

  test('in a plugin, for the application that uses it', async () => {
    const { tokens, clock, jar } = await logIn()
    const plugin = new Elysia(config).use(implicitRefresh(tokens)).get('/', answerPublicly)
    const app = new Elysia(config).use(plugin)
    clock.seconds += 301
    expectPrivate((await app.handle(new Request('http://localhost/', { headers: jar.headers() }))).headers)
  })

  test('for two managers with cookies of their own', async () => {
    const staff = await logIn()
    const names = { JWT_ACCESS_COOKIE_NAME: 'member', JWT_REFRESH_COOKIE_NAME: 'member_refresh' }
    const members = createRevocable({ ...COOKIES, ...names, JWT_COOKIE_CSRF_PROTECT: false }).tokens
    const { refreshToken } = await members.sessions.open({ uid: 'grace' })
    const app = new Elysia(config)
      .use(implicitRefresh(staff.tokens))
      .use(implicitRefresh(members))
      .get('/', answerPublicly)
    staff.clock.seconds += 301
    const cookie = `${staff.jar.headers().cookie}; member_refresh=${refreshToken}`
    const { headers } = await app.handle(new Request('http://localhost/', { headers: { cookie } }))
    const set = headers.getSetCookie().map((text) => text.split('=', 1)[0])
    expect(set.toSorted()).toEqual([...TOKEN_COOKIES, 'member', 'member_refresh', 'theme'].toSorted())
  })

  test('without compiled routes nothing could be applied last: refused', async () => {
    const { tokens } = await logIn()
    expect(() => new Elysia({ ...config, aot: false }).use(implicitRefresh(tokens))).toThrow('aot: false')
  })
})

test('Elysia on Node: the response to an upgrade carries the cookies', async () => {
  const { tokens, clock, jar } = await logIn()
  const app = new Elysia({ adapter: node() })
    .use(implicitRefresh(tokens))
    .ws('/', { message: () => undefined })
  const listening = await new Promise<unknown>((resolve) => {
    app.listen({ port: 0, hostname: '127.0.0.1' }, resolve)
  })
  const { raw } = listening as ListeningServer
  await raw.ready()
  onTestFinished(() => raw.close(true))
  clock.seconds += 301
  const cookies = await new Promise<readonly string[]>((resolve, reject) => {
    const headers = {
      ...jar.headers(),
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    }
    sendRequest(raw.url, { headers })
      .once('upgrade', (response, socket) => {
        socket.destroy()
        resolve(response.headers['set-cookie'] ?? [])
      })
      .once('response', ({ statusCode }) => reject(new Error(`no upgrade: ${statusCode}`)))
      .once('error', reject)
      .end()
  })
  expect(cookies.length).toBe(3)
})
