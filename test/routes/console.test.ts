import { describe, expect, test } from 'vitest'
import {
  MissingTokenError,
  RevocationUnavailableError,
  TokenConfig,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { createConsole } from '../../packages/console/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { SECRET } from '../helpers/manager.js'
import { ORIGIN, OWN_PAGE, openConsole } from './console-fixture.js'

const READS = [
  '',
  '/',
  '/style.css',
  '/script.js',
  '/live.js',
  '/tools.js',
  '/api/health',
  '/api/sessions',
  '/api/live',
]

describe('who may use it', () => {
  test('every request is checked, and refused as the dependency says', async () => {
    const { get, revoke } = openConsole({
      allow: () => {
        throw new MissingTokenError()
      },
    })
    for (const path of READS) {
      const response = await get(path)
      expect([path, response.status]).toEqual([path, 401])
      expect(response.headers.get('www-authenticate')).toContain('Bearer')
      expect(await response.text()).toContain('TOKEN_MISSING')
    }
    expect(await revoke({ kind: 'all', id: '' })).toMatchObject({
      status: 401,
      answer: { code: 'TOKEN_MISSING' },
    })
  })

  test('somebody who opens the page gets a page that says so, without markup of an error', async () => {
    const { get } = openConsole({
      allow: () => {
        throw new MissingTokenError('<img src=x onerror=alert(1)>')
      },
    })
    const response = await get('/')
    const html = await response.text()
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(html).toContain('<h1>Not allowed</h1>')
    expect(html).not.toContain('<img')
    expect(html).not.toContain('<script')
  })

  test('a store that is down is no reason to log in again', async () => {
    const { get } = openConsole({
      allow: () => {
        throw new RevocationUnavailableError(new Error('ECONNREFUSED'))
      },
    })
    const response = await get('/')
    expect(response.status).toBe(503)
    expect(await response.text()).toContain('<h1>Not available</h1>')
  })

  test('an access token that has expired is no reason to log in again', async () => {
    const { get, tokens, clock } = openConsole({ allow: (request) => tokens.accessTokenRequired(request) })
    const authorization = `Bearer ${tokens.createAccessToken({ uid: 'grace' })}`
    clock.seconds += 3600
    const html = await (await get('/', { headers: { authorization } })).text()
    expect(html).toContain('TOKEN_EXPIRED')
    expect(html).toContain('load this page again')
    expect(html).not.toContain('Log in')
  })

  test.each([
    ['undefined', undefined],
    ['null, as an optional dependency does for nobody', null],
    ['false', false],
    ['0', 0],
    ['NaN', Number.NaN],
    ['an empty string', ''],
    ['an error', new Error('refused')],
    ['a function', () => 'grace'],
    ['a response', new Response()],
  ])('a dependency that returns %s lets nobody in', async (_, value) => {
    const { get } = openConsole({ allow: () => value, actor: () => 'grace' })
    await expect(get('/')).rejects.toThrow(TypeError)
  })

  test.each([
    ['true', true],
    ['an object without a name', {}],
    ['an empty name', { sub: '' }],
    ['a blank name', ' \t\n'],
    ['a name of control characters', { sub: '\u0000\u007F' }],
    ['a name of format characters', '\u200B\u202E'],
  ])(
    'a dependency that returns %s is refused immediately: nobody could tell who revokes',
    async (_, value) => {
      const { get } = openConsole({ allow: () => value })
      await expect(get('/')).rejects.toThrow(TypeError)
      expect((await openConsole({ allow: () => value, actor: () => 'on-call' }).get('/')).status).toBe(200)
    },
  )

  test('a response that the dependency throws is sent as it is; another error is thrown on', async () => {
    const challenge = new Response('Who are you?', { status: 401, headers: { 'www-authenticate': 'Basic' } })
    const throwing = (value: object) =>
      openConsole({
        allow: () => {
          throw value
        },
      })
    expect(await throwing(challenge).get('/')).toBe(challenge)
    await expect(throwing(new RangeError('broken')).get('/')).rejects.toThrow(RangeError)
  })

  test('a cookie of the manager needs its CSRF value for a change', async () => {
    const store = createMemoryStore()
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_TOKEN_LOCATION: 'cookies' })
    const tokens = new TokenManager({ config, store })
    const routes = createConsole(tokens, { allow: tokens.require({ scopes: ['operator'] }) })
    const { accessToken } = await tokens.sessions.open({ uid: 'grace' }, { scopes: ['operator'] })
    const { csrf = '' } = await tokens.verify(accessToken)
    const body = JSON.stringify({ kind: 'user', id: 'ada', reason: 'Ticket 1', confirmation: 'ada' })
    const send = async (headers: Record<string, string>) => {
      const cookie = `access_token_cookie=${accessToken}`
      const init = { method: 'POST', headers: { ...OWN_PAGE, cookie, ...headers }, body }
      return (await routes.handle(new Request(`${ORIGIN}/console/api/revoke`, init)))?.status
    }
    expect(await send({})).toBe(401)
    expect(await send({ 'x-csrf-token': csrf })).toBe(200)
  })
})

describe('its routes', () => {
  test('leaves everything else to the application', async () => {
    const { routes } = openConsole()
    const others = [
      '/',
      '/consoles',
      '/console/constructor',
      '/console/api',
      '/console//',
      '/console/api/health/',
    ]
    for (const path of others) expect(await routes.handle(new Request(ORIGIN + path))).toBeNull()
    const options = new Request(`${ORIGIN}/console/`, { method: 'OPTIONS' })
    expect(await routes.handle(options)).toBeNull()
  })

  test('has files and pages below any path', async () => {
    const { routes, get } = openConsole({ path: '/admin/tokens' })
    expect(routes.path).toBe('/admin/tokens')
    const redirect = await get('')
    expect([redirect.status, redirect.headers.get('location')]).toEqual([308, 'tokens/'])
    expect((await get('/')).status).toBe(200)
  })

  test('a known path with another method is 405, and HEAD has no body', async () => {
    const { get } = openConsole()
    const wrong = await get('/', { method: 'DELETE' })
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    const change = await get('/api/revoke')
    expect([change.status, change.headers.get('allow')]).toEqual([405, 'POST'])
    for (const path of READS) {
      const { body, status } = await get(path, { method: 'HEAD' })
      expect([path, body, status < 500]).toEqual([path, null, true])
    }
  })

  test('nothing may frame, sniff or keep a response, nor run anything but the files of the console', async () => {
    const { get } = openConsole()
    const responses = [
      ...(await Promise.all(READS.map((path) => get(path)))),
      await get('/api/revoke'),
      await get('/api/revoke', { method: 'POST' }),
    ]
    for (const { headers, body } of responses) {
      await body?.cancel()
      expect(Object.fromEntries(headers)).toMatchObject({
        'cache-control': 'no-store',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
          "require-trusted-types-for 'script'; trusted-types 'none'",
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      })
    }
  })

  test('the title, and the names of the CSRF cookie and header, are no markup', async () => {
    const config = { JWT_ACCESS_CSRF_COOKIE_NAME: 'my_csrf', JWT_ACCESS_CSRF_HEADER_NAME: 'X-My' }
    const { get } = openConsole({ title: '"><script>alert(1)</script>{{live}}$&' }, { config })
    const html = await (await get('/')).text()
    expect(html).toContain('data-csrf-cookie="my_csrf"')
    expect(html).toContain('data-csrf-header="X-My"')
    expect(html).toContain('&#62;&#60;script&#62;alert(1)&#60;/script&#62;{{live}}$&#38;')
    expect(html.match(/<script/g)).toHaveLength(1)
  })
})

describe('options', () => {
  const allow = (): string => 'grace'

  test.each([
    ['no allow', {}],
    ['an allow that is no function', { allow: 'admin' }],
    ['a path without a slash', { allow, path: 'console' }],
    ['the root', { allow, path: '/' }],
    ['a slash at the end', { allow, path: '/console/' }],
    ['a path that URL parsers change', { allow, path: '/a/../b' }],
    ['a path with a query', { allow, path: '/console?x' }],
    ['a title that is no text', { allow, title: 7 }],
    ['an actor that is no function', { allow, actor: 'grace' }],
  ])('%s is refused', (_, options) => {
    const { tokens } = openConsole()
    expect(() => createConsole(tokens, options as never)).toThrow(TypeError)
  })
})
