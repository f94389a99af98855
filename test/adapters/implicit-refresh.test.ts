import { describe, expect, onTestFinished, test } from 'vitest'
import { csrfOf } from '../helpers/requests.js'
import { logIn, TOKEN_COOKIES } from './logged-in.js'
import { PUBLIC, PUBLIC_ROUTES } from './public-routes.js'
import { REFRESHING } from './refreshing.js'

describe.each(Object.entries(REFRESHING))('%s', (_name, start) => {
  const open = async (...[manager]: Parameters<typeof logIn>) => {
    const session = await logIn(manager)
    if (manager !== undefined) {
      // The guarded routes of these applications need a scope then.
      Object.assign(session.tokens, { accessTokenRequired: session.tokens.require({ scopes: ['admin'] }) })
    }
    const app = await start(session.tokens)
    onTestFinished(() => app.close())
    const send = async (path: string, init: RequestInit = {}) => {
      const headers = { ...session.jar.headers(), ...(init.headers as Record<string, string>) }
      const response = await fetch(app.url + path, { ...init, headers })
      const cookies = response.headers.getSetCookie()
      session.jar.store(cookies)
      const names = cookies.map((cookie) => cookie.split('=', 1)[0])
      return { status: response.status, text: await response.text(), names, headers: response.headers }
    }
    return { ...session, send }
  }

  test('an admin who is demoted is refused after the implicit refresh', async () => {
    const admins = new Set(['ada'])
    const { clock, send } = await open({
      describeUser: (uid) => ({ scopes: admins.has(uid) ? ['admin'] : [] }),
    })
    expect((await send('/me')).status).toBe(200)
    admins.clear()
    clock.seconds += 301
    expect((await send('/me')).status).toBe(403)
  })

  test('a user who may not log in any more is logged out by the implicit refresh', async () => {
    const gone = new Set<string>()
    const { tokens, clock, send } = await open({
      describeUser: (uid) => (gone.has(uid) ? null : { scopes: ['admin'] }),
    })
    gone.add('ada')
    clock.seconds += 301
    const response = await send('/me')
    expect([response.status, response.names.filter((name) => name?.endsWith('_token_cookie'))]).toEqual([
      401,
      ['access_token_cookie', 'refresh_token_cookie'],
    ])
    expect(await tokens.sessions.list('ada')).toEqual([])
  })

  test('a description that fails is an error of the server, and costs nobody the session', async () => {
    let isDown = false
    const { clock, send } = await open({
      describeUser() {
        if (isDown) throw new Error('The users are not there')
        return { scopes: ['admin'] }
      },
    })
    clock.seconds += 301
    isDown = true
    const failed = await send('/me')
    expect([failed.status, failed.names]).toEqual([500, []])
    isDown = false
    expect((await send('/me')).status).toBe(200)
  })

  test('an access cookie that has not expired is left alone', async () => {
    const { send } = await open()
    const { status, text, names } = await send('/me')
    expect([status, JSON.parse(text)]).toEqual([200, 'ada'])
    expect(names).not.toContain('access_token_cookie')
  })

  test('an expired one is renewed in the request itself, and the response carries the cookies', async () => {
    const { send, clock } = await open()
    clock.seconds += 301
    const { status, text, names } = await send('/me')
    expect([status, JSON.parse(text)]).toEqual([200, 'ada'])
    expect(names).toEqual(expect.arrayContaining(TOKEN_COOKIES))
    if (!_name.startsWith('Nest')) expect(names).toContain('own')
    const next = await send('/me')
    expect([next.status, next.names.filter((name) => name !== 'own')]).toEqual([200, []])
  })

  test('also on a route without a guard, and in a response of another kind', async () => {
    const { send, clock } = await open()
    clock.seconds += 301
    const { status, names } = await send('/open')
    expect([status, names]).toEqual([200, TOKEN_COOKIES])
  })

  test('also when the route fails', async () => {
    const { send, clock } = await open()
    clock.seconds += 301
    const { status, names } = await send('/fails')
    expect([status, names]).toEqual([500, TOKEN_COOKIES])
    clock.seconds += 301
    expect((await send('/me')).status).toBe(200)
  })

  test('cookies that the route sets itself are newer, and win', async () => {
    const { send, clock } = await open()
    clock.seconds += 301
    const { names, headers } = await send('/sets')
    expect(names.toSorted()).toEqual(TOKEN_COOKIES.toSorted())
    const [access] = headers.getSetCookie().filter((cookie) => cookie.startsWith('access_token_cookie='))
    expect(access).toMatch(/^access_token_cookie=own;/)
  })

  test('a response with new tokens is kept by nobody but its client', async () => {
    const { send, clock } = await open()
    clock.seconds += 301
    expect((await send('/open')).headers.get('cache-control')).toBe('private, no-store')
    expect((await send('/open')).headers.get('cache-control')).not.toBe('private, no-store')
  })

  test.each(Object.entries({ ...PUBLIC_ROUTES, 'HEAD text': 200, metadata: 200 }))(
    'no cache may keep new tokens, whatever the route allows: %s',
    async (route, status) => {
      const { send, clock } = await open()
      const [kind = '', method = 'GET'] = route.split(' ').toReversed()
      const path = kind === 'metadata' ? '/.well-known/oauth-protected-resource' : `/public/${kind}`
      const before = await send(path, { method, redirect: 'manual' })
      expect([before.status, before.headers.get('cache-control')]).toEqual([
        status,
        // Some frameworks drop the headers of a response when its route fails.
        kind === 'error' ? before.headers.get('cache-control') : expect.stringContaining('public'),
      ])
      clock.seconds += 301
      const { names, headers, ...answer } = await send(path, { method, redirect: 'manual' })
      expect(answer.status).toBe(status)
      expect(names.toSorted()).toEqual(
        [...TOKEN_COOKIES, ...(kind === 'response' ? ['theme'] : [])].toSorted(),
      )
      expect(headers.get('cache-control')).toBe('private, no-store')
      const kept = Object.keys(PUBLIC).filter((name) => name !== 'cache-control' && headers.has(name))
      expect(kept).toEqual([])
      expect((await send('/me')).status).toBe(200)
    },
  )

  test('requests at the same time get cookies of one generation', async () => {
    const { send, clock, tokens, jar } = await open()
    clock.seconds += 301
    const generations: number[] = []
    tokens.on('refreshed', ({ generation }) => generations.push(generation))
    const answers = await Promise.all(Array.from({ length: 10 }, () => send('/me')))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(new Set(generations)).toEqual(new Set([1]))
    clock.seconds += 301
    expect(jar.headers()).not.toEqual({})
    expect((await send('/me')).status).toBe(200)
  })

  test('a POST needs its CSRF value as ever; without it nothing is refreshed', async () => {
    const { send, clock, pair } = await open()
    clock.seconds += 301
    const forged = await send('/me', { method: 'POST' })
    expect([forged.status, forged.names]).toEqual([401, []])
    const wrong = await send('/me', { method: 'POST', headers: { 'x-csrf-token': 'guessed' } })
    expect([wrong.status, wrong.names]).toEqual([401, []])
    const csrf = csrfOf(pair.accessToken)
    const own = await send('/me', { method: 'POST', headers: { 'x-csrf-token': csrf } })
    expect([Math.floor(own.status / 100), JSON.parse(own.text)]).toEqual([2, 'ada'])
    expect(own.names).toEqual(expect.arrayContaining(TOKEN_COOKIES))
  })

  test('a session that is over is not refreshed: the cookies are deleted', async () => {
    const { send, clock, tokens, jar } = await open()
    clock.seconds += 301
    await tokens.revoke.user('ada')
    const { status, names } = await send('/me')
    expect([status, names]).toEqual([401, TOKEN_COOKIES])
    expect(jar.headers()).toEqual({})
  })

  test('a store that is away is a 503, and deletes nothing', async () => {
    const { send, clock, jar, takeAway } = await open()
    clock.seconds += 301
    takeAway()
    const { status, names } = await send('/me')
    expect([status, names]).toEqual([503, []])
    expect(Object.keys(jar.headers())).toEqual(['cookie'])
  })

  test('a token in a header is none of its business', async () => {
    const { send, clock, pair } = await open()
    clock.seconds += 301
    const { status, names } = await send('/me', { headers: { authorization: `Bearer ${pair.accessToken}` } })
    expect([status, names]).toEqual([401, []])
  })
})

test('Fastify: a response that is written without the reply carries the cookies too', async () => {
  const { tokens, clock, jar } = await logIn()
  const app = await REFRESHING['Fastify']?.(tokens)
  onTestFinished(() => app?.close())
  clock.seconds += 301
  const response = await fetch(`${app?.url}/raw`, { headers: jar.headers() })
  expect([await response.text(), response.headers.getSetCookie().length]).toEqual(['raw', 3])
})
