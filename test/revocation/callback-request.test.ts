import { format, inspect } from 'node:util'
import { expect, test } from 'vitest'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import type { RevocationContext, RevocationRequest } from '../../packages/tokenlib/src/kit.js'
import { createManager, withBearer } from '../helpers/manager.js'

/** The contexts that the callback of a manager is called with. */
function listen(tokens: TokenManager): RevocationContext[] {
  const seen: RevocationContext[] = []
  tokens.setCallbackTokenBlocklist((_token, context) => {
    seen.push(context)
    return false
  })
  return seen
}

test('the callback sees the request that brought the token', async () => {
  const { tokens } = createManager()
  const seen = listen(tokens)
  const authorization = `Bearer ${tokens.createAccessToken({ uid: 'u' })}`
  const request = {
    method: 'PUT',
    url: '/notes?page=2',
    headers: { authorization, 'x-device': 'phone' },
    socket: { remoteAddress: '192.0.2.7' },
  }
  await tokens.accessTokenRequired(request)
  const [context] = seen
  expect([context?.request?.method, context?.request?.url, context?.request?.ip]).toEqual([
    'PUT',
    '/notes?page=2',
    '192.0.2.7',
  ])
  expect([context?.request?.header('x-device'), context?.request?.header('x-other')]).toEqual(['phone', null])
})

test('also a Fetch request, whose server does not know the address, and the handshake of a socket', async () => {
  const { tokens } = createManager()
  const seen = listen(tokens)
  const token = tokens.createAccessToken({ uid: 'u' })
  await tokens.accessTokenRequired(withBearer(token, '/a'))
  await tokens.sockets.authenticate(withBearer(token, '/b'))
  expect(seen.map(({ request }) => [request?.url, request?.ip])).toEqual([
    ['http://localhost/a', null],
    ['http://localhost/b', null],
  ])
})

test('a token that no request brought has none', async () => {
  const { tokens } = createManager()
  const seen = listen(tokens)
  await tokens.verify(tokens.createAccessToken({ uid: 'u' }))
  expect(seen.map(({ request, location }) => [request, location])).toEqual([[null, null]])
})

test('the callback cannot change what others read, nor authenticate the request again', async () => {
  const { tokens } = createManager()
  const token = tokens.createAccessToken({ uid: 'u' })
  const failures: unknown[] = []
  const attempt = (act: () => unknown): void => {
    try {
      act()
    } catch (error) {
      failures.push(error)
    }
  }
  tokens.setCallbackTokenBlocklist((_token, { request }) => {
    const target = request as { -readonly [Name in keyof RevocationRequest]: RevocationRequest[Name] }
    attempt(() => (target.header = () => 'Bearer forged'))
    attempt(() => (target.url = '/other'))
    attempt(() => Object.assign(target, { method: 'GET' }))
    attempt(() => Object.setPrototypeOf(target, { header: () => 'forged' }))
    return false
  })
  const request = withBearer(token)
  await tokens.accessTokenRequired(request)
  expect(failures.length).toBe(4)
  expect(
    (await tokens
      .require({ scopes: ['a'] })(request)
      .catch((error: unknown) => error)) as object,
  ).toMatchObject({
    code: 'INSUFFICIENT_SCOPE',
  })
  expect((await tokens.getTokenFromRequest(request))?.token).toBe(token)

  let again: unknown
  tokens.setCallbackTokenBlocklist(async (_token, context) => {
    again = await tokens.accessTokenRequired(context.request as never).catch((error: unknown) => error)
    return false
  })
  await tokens.accessTokenRequired(withBearer(token))
  expect(again).toBeInstanceOf(TypeError)
})

test('nothing of the request is shown where the context is logged', async () => {
  const { tokens } = createManager({
    JWT_TOKEN_LOCATION: ['query', 'cookies'],
    JWT_COOKIE_CSRF_PROTECT: false,
  })
  const seen = listen(tokens)
  const token = tokens.createAccessToken({ uid: 'u' })
  await tokens.accessTokenRequired(new Request(`http://localhost/?token=${token}`))
  await tokens.accessTokenRequired(
    new Request('http://localhost/', {
      headers: { cookie: `access_token_cookie=${token}`, 'x-secret': 'a-secret-of-the-client' },
    }),
  )
  expect(seen.length).toBe(2)
  for (const context of seen) {
    const shown = [
      inspect(context, { depth: Infinity, showHidden: true, getters: true }),
      inspect(context.request, { depth: Infinity, showHidden: true, getters: true }),
      format('%o %O %j', context, context, context),
      JSON.stringify({ context }),
      JSON.stringify({ ...context.request }),
    ].join()
    for (const secret of [...token.split('.').slice(1), 'a-secret-of-the-client', 'localhost']) {
      expect(shown).not.toContain(secret)
    }
  }
})
