import { describe, expect, onTestFinished, test } from 'vitest'
import { refreshImplicitly, type TokenManager } from '../../packages/tokenlib/src/index.js'
import { moveMonotonicClock } from '../helpers/monotonic-clock.js'
import { advance, outcomeOf } from '../helpers/revocable.js'
import { logIn, TOKEN_COOKIES } from './logged-in.js'
import { REFRESHING } from './refreshing.js'

// A quarter of the grace, which is a minute.
const SEND_WITHIN_MS = 15_000
const ACCESS_COOKIES = TOKEN_COOKIES.slice(0, 2)

type Session = Awaited<ReturnType<typeof logIn>>

/** Makes every guarded route of an application take so long, before it is answered or refused. */
function slowDown(tokens: TokenManager, milliseconds: number): void {
  const clock = moveMonotonicClock()
  const check = tokens.accessTokenRequired
  const slow = async (request: Request): Promise<unknown> => {
    try {
      return await check(request)
    } finally {
      clock.add(milliseconds)
    }
  }
  Object.assign(tokens, { accessTokenRequired: slow })
}

/** The cookies of a tab that was overtaken: the browser has used the successor of their refresh token. */
async function supersede(session: Session): Promise<Record<string, string>> {
  const before = session.jar.headers()
  session.clock.seconds += 301
  const { refreshToken } = await advance(session, session.pair.refreshToken)
  await advance(session, refreshToken)
  return before
}

describe.each(Object.entries(REFRESHING))('%s', (_name, start) => {
  const serve = async ({ tokens, jar }: Session) => {
    const app = await start(tokens)
    onTestFinished(() => app.close())
    return async (path: string, headers = jar.headers()) => {
      const response = await fetch(app.url + path, { headers })
      const cookies = response.headers.getSetCookie()
      jar.store(cookies)
      const names = cookies.map((cookie) => cookie.split('=', 1)[0]).filter((name) => name !== 'own')
      return { status: response.status, text: await response.text(), names, headers: response.headers }
    }
  }

  test('a response that is sent in time carries the cookies', async () => {
    const session = await logIn()
    slowDown(session.tokens, SEND_WITHIN_MS - 5000)
    const send = await serve(session)
    session.clock.seconds += 301
    expect(await send('/me')).toMatchObject({ status: 200, names: TOKEN_COOKIES })
  })

  test('one that is sent later does not, although its route had the new tokens; the next request is renewed again', async () => {
    const session = await logIn()
    slowDown(session.tokens, SEND_WITHIN_MS)
    const send = await serve(session)
    session.clock.seconds += 301
    const { headers, ...late } = await send('/me')
    expect(late).toEqual({ status: 200, text: expect.stringContaining('ada') as string, names: [] })
    expect(headers.get('cache-control')).toBe('private, no-store')
    // After the grace: nothing was lost with the cookies.
    session.clock.seconds += 61
    expect(await send('/open')).toMatchObject({ status: 200, names: TOKEN_COOKIES })
  })

  test('late or not, what is left of a session that is over is deleted', async () => {
    const session = await logIn()
    slowDown(session.tokens, SEND_WITHIN_MS)
    const send = await serve(session)
    session.clock.seconds += 301
    await session.tokens.revoke.user('ada')
    expect(await send('/me')).toMatchObject({ status: 401, names: TOKEN_COOKIES })
    expect(session.jar.headers()).toEqual({})
  })

  test('a refresh token that stays as it is, is not set again', async () => {
    const session = await logIn()
    const send = await serve(session)
    // It is new, and the access cookie is lost.
    const { refreshToken } = await advance(session, session.pair.refreshToken)
    const cookie = `refresh_token_cookie=${refreshToken}`
    expect(await send('/me', { cookie })).toMatchObject({ status: 200, names: ACCESS_COOKIES })
    expect((await send('/me')).names).toEqual([])
  })

  test('a refresh token whose successor was just used: the request goes on without the session, and nothing is deleted', async () => {
    const session = await logIn()
    const old = await supersede(session)
    const send = await serve(session)
    expect(await send('/me', old)).toMatchObject({ status: 401, names: [] })
    expect(await send('/open', old)).toMatchObject({ status: 200, names: [] })
    expect(await session.tokens.sessions.list('ada')).toHaveLength(1)
  })
})

describe('refreshImplicitly', () => {
  const ask = (cookies: Record<string, string>): Request =>
    new Request('http://localhost/', { headers: cookies })

  test('without a grace, cookies are late after a quarter of the lifetime of an access token', async () => {
    const session = await logIn({}, { JWT_REFRESH_GRACE: 0 })
    session.clock.seconds += 301
    const monotonic = moveMonotonicClock()
    const refreshed = await refreshImplicitly(session.tokens, ask(session.jar.headers()))
    const names = (): string[] => (refreshed?.headers ?? []).map(([name]) => name)
    monotonic.add(70_000)
    expect(names()).toEqual(['set-cookie', 'set-cookie', 'set-cookie', 'cache-control'])
    monotonic.add(5000)
    expect(names()).toEqual(['cache-control'])
  })

  test('the time that describeUser takes does not count: the session has not moved yet', async () => {
    const monotonic = moveMonotonicClock()
    const session = await logIn({
      describeUser: () => {
        monotonic.add(2 * SEND_WITHIN_MS)
        return {}
      },
    })
    session.clock.seconds += 301
    const refreshed = await refreshImplicitly(session.tokens, ask(session.jar.headers()))
    expect(refreshed?.headers).toHaveLength(4)
  })

  test('a request whose refresh token stays as it is keeps it', async () => {
    const session = await logIn()
    const { tokens } = session
    const { refreshToken } = await advance(session, session.pair.refreshToken)
    const request = ask({ cookie: `refresh_token_cookie=${refreshToken}` })
    const refreshed = await refreshImplicitly(tokens, request)
    expect(refreshed?.headers.map(([, value]) => value.split('=', 1)[0])).toEqual([
      ...ACCESS_COOKIES,
      'private, no-store',
    ])
    expect(refreshed?.cookieHeader).toContain(`refresh_token_cookie=${refreshToken}; access_token_cookie=`)
    expect(await tokens.accessTokenRequired(request)).toMatchObject({ sub: 'ada' })
  })

  test('a request whose refresh token was superseded has no user', async () => {
    const session = await logIn()
    const request = ask(await supersede(session))
    const refreshed = await refreshImplicitly(session.tokens, request)
    expect(refreshed?.headers).toEqual([['cache-control', 'private, no-store']])
    expect(refreshed?.cookieHeader).toBe('')
    expect(await session.tokens.require({ optional: true })(request)).toBeNull()
    expect(await outcomeOf(session.tokens.accessTokenRequired(request))).toBe('TOKEN_MISSING')
  })
})
