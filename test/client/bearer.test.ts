import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type ClientTimers,
  createTokenClient,
  TokenClientError,
  type TokenClientOptions,
} from '../../packages/client/src/index.js'
import { createVirtualClock } from '../../packages/tokenlib/src/testing/clocks.js'
import { ADA, BOB, createPauses, createSignal, hold, openServer, unavailable } from './open-server.js'

const EXPIRED = 16 * 60

async function openLoggedIn(options: TokenClientOptions = {}) {
  const server = await openServer()
  const client = server.createClient(options)
  const events: string[] = []
  for (const name of ['loggedIn', 'refreshed', 'loggedOut', 'offline'] as const) {
    client.on(name, () => events.push(name))
  }
  const session = await client.logIn(ADA)
  return { ...server, client, events, session, before: server.requests.length }
}

const readNote = async (response: Response): Promise<unknown> => [response.status, await response.json()]

test('a login, a request, a list of sessions and a logout', async () => {
  const { client, origin, session, events, tokens } = await openLoggedIn()
  expect(session).toMatchObject({ sub: 'ada', claims: { role: 'reader' }, fresh: true, accessExpiresIn: 900 })
  const response = await client.fetch(`${origin}/notes`, { method: 'POST', body: 'milk' })
  expect(await readNote(response)).toEqual([200, { body: 'milk', method: 'POST' }])
  expect(await client.session()).toMatchObject({ id: session.id })
  expect((await client.sessions()).sessions).toMatchObject([{ id: session.id, isCurrent: true }])
  await client.logOut()
  expect(await client.session()).toBeNull()
  expect((await tokens.sessions.list('ada')).length).toBe(0)
  expect(events).toEqual(['loggedIn', 'loggedOut'])
})

describe('an expired access token', () => {
  test('is refreshed once for all requests, and they are repeated', async () => {
    const { client, clock, origin, sent, before, events } = await openLoggedIn()
    clock.seconds += EXPIRED
    const bodies = ['a', 'b', 'c']
    const responses = await Promise.all(
      bodies.map((body) => client.fetch(`${origin}/notes`, { method: 'PUT', body })),
    )
    expect(await Promise.all(responses.map(readNote))).toEqual(
      bodies.map((body) => [200, { body, method: 'PUT' }]),
    )
    expect(sent(before).filter((route) => route === 'POST /auth/refresh')).toHaveLength(1)
    expect(sent(before)).toHaveLength(7)
    expect(events).toEqual(['loggedIn', 'refreshed'])
  })

  test('a request that was sent before a refresh finished is only repeated', async () => {
    const { client, clock, origin, sent, before, plan } = await openLoggedIn()
    clock.seconds += EXPIRED
    let answerLate = (): void => {}
    const late = new Promise<Response>((resolve) => {
      answerLate = () => resolve(Response.json({ code: 'TOKEN_EXPIRED' }, { status: 401 }))
    })
    plan('GET /slow', () => late)
    const slow = client.fetch(`${origin}/slow`)
    await client.fetch(`${origin}/notes`)
    answerLate()
    expect((await slow).status).toBe(200)
    expect(sent(before).filter((route) => route === 'POST /auth/refresh')).toHaveLength(1)
  })

  test('known to have expired, is refreshed before the request, which may then be a stream', async () => {
    const { client, clock, origin, sent, before } = await openLoggedIn()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + EXPIRED * 1000 })
    onTestFinished(() => void vi.useRealTimers())
    clock.seconds += EXPIRED
    const body = new Blob(['streamed']).stream()
    const response = await client.fetch(`${origin}/notes`, { method: 'POST', body, duplex: 'half' })
    expect(await readNote(response)).toEqual([200, { body: 'streamed', method: 'POST' }])
    expect(sent(before)).toEqual(['POST /auth/refresh', 'POST /notes'])
  })

  test('with keepalive, nothing is waited for before the request', async () => {
    const { client, clock, origin, sent, before } = await openLoggedIn()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + EXPIRED * 1000 })
    onTestFinished(() => void vi.useRealTimers())
    clock.seconds += EXPIRED
    await client.fetch(`${origin}/notes`, { method: 'POST', body: 'bye', keepalive: true })
    expect(sent(before)[0]).toBe('POST /notes')
  })

  test('a stream that was refused is not repeated, but the next request passes', async () => {
    const { client, clock, origin, sent, before } = await openLoggedIn()
    clock.seconds += EXPIRED
    const body = new Blob(['streamed']).stream()
    const refused = await client.fetch(`${origin}/notes`, { method: 'POST', body, duplex: 'half' })
    expect(await readNote(refused)).toMatchObject([401, { code: 'TOKEN_EXPIRED' }])
    expect((await client.fetch(`${origin}/notes`)).status).toBe(200)
    expect(sent(before)).toEqual(['POST /notes', 'POST /auth/refresh', 'GET /notes'])
  })

  test.each([
    ['a Request', (url: string) => [new Request(url, { method: 'POST', body: 'text' })] as const, 'text'],
    [
      'a form',
      (url: string) => [url, { method: 'POST', body: new URLSearchParams({ a: 'b' }) }] as const,
      'a=b',
    ],
    [
      'a blob',
      (url: string) => [new URL(url), { method: 'POST', body: new Blob(['blob']) }] as const,
      'blob',
    ],
  ])('%s is repeated with its body', async (_kind, create, body) => {
    const { client, clock, origin } = await openLoggedIn()
    clock.seconds += EXPIRED
    const [input, init] = create(`${origin}/notes`) as unknown as [string, RequestInit?]
    expect(await readNote(await client.fetch(input, init))).toEqual([200, { body, method: 'POST' }])
  })

  test('files are repeated', async () => {
    const { client, clock, origin } = await openLoggedIn()
    clock.seconds += EXPIRED
    const body = new FormData()
    body.set('file', new File(['content'], 'name.txt'))
    const response = await client.fetch(`${origin}/notes`, { method: 'POST', body })
    expect(await response.text()).toContain('content')
  })

  test('an abort ends the wait of one request, and not the refresh of the others', async () => {
    const { client, clock, origin, plan } = await openLoggedIn()
    clock.seconds += EXPIRED
    const controller = new AbortController()
    plan('POST /auth/refresh', async (_request, next) => {
      controller.abort(new Error('left'))
      await expect(aborted).rejects.toThrow('left')
      return next()
    })
    const aborted = client.fetch(`${origin}/notes`, { signal: controller.signal })
    const other = client.fetch(`${origin}/notes`)
    expect((await other).status).toBe(200)
  })
})

describe('what is no reason to refresh', () => {
  test.each(['FRESH_TOKEN_REQUIRED', 'CREDENTIALS_INVALID', 'CSRF_MISSING'])('%s', async (code) => {
    const { client, origin, sent, before, plan } = await openLoggedIn()
    plan('GET /notes', () => Response.json({ code }, { status: 401 }))
    const response = await client.fetch(`${origin}/notes`)
    expect(await readNote(response)).toEqual([401, { code }])
    expect(sent(before)).toEqual(['GET /notes'])
  })

  test('a route that refuses every token is asked twice, and refreshed for once', async () => {
    const { client, origin, sent, before, plan } = await openLoggedIn()
    const refusal = (): Response => new Response('no', { status: 401 })
    plan('GET /notes', refusal, refusal, refusal)
    expect((await client.fetch(`${origin}/notes`)).status).toBe(401)
    expect(sent(before)).toEqual(['GET /notes', 'POST /auth/refresh', 'GET /notes'])
  })

  test('a request with an Authorization of its own, and one to another origin', async () => {
    const { client, origin, clock, requests, before } = await openLoggedIn()
    const other = await openServer()
    clock.seconds += EXPIRED
    await client.fetch(`${origin}/notes`, { headers: { authorization: 'Basic YTpi' } })
    await client.fetch(`${other.origin}/notes`)
    expect(requests.slice(before).map(({ headers }) => headers.get('authorization'))).toEqual(['Basic YTpi'])
    expect(other.requests.map(({ headers }) => headers.get('authorization'))).toEqual([null])
  })

  test('an origin that is listed gets the token', async () => {
    const api = await openServer()
    const { createClient } = await openServer()
    const client = createClient({ origins: [api.origin] })
    await client.logIn(ADA)
    await client.fetch(`${api.origin}/notes`)
    expect(api.requests[0]?.headers.get('authorization')).toMatch(/^Bearer /)
  })
})

describe('an outage is no logout', () => {
  test.each([
    ['503', () => new Response(null, { status: 503 })],
    ['500', () => new Response('<html>', { status: 500 })],
    ['429', () => new Response(null, { status: 429 })],
    ['404', () => new Response(null, { status: 404 })],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: 'http://127.0.0.1:1/' } })],
    ['another page', () => new Response('<html>Log in to the Wi-Fi', { status: 200 })],
    ['a 401 of a proxy', () => new Response('<html>Log in to the proxy', { status: 401 })],
    ['no answer', () => null],
  ])('a refresh that is answered with %s', async (_name, answer) => {
    const { client, clock, origin, plan, events } = await openLoggedIn()
    clock.seconds += EXPIRED
    plan('POST /auth/refresh', answer)
    await expect(client.fetch(`${origin}/notes`)).rejects.toBeInstanceOf(TokenClientError)
    expect(events).toEqual(['loggedIn', 'offline'])
    expect((await client.fetch(`${origin}/notes`)).status).toBe(200)
    expect(events).toEqual(['loggedIn', 'offline', 'refreshed'])
  })

  test.each(['GET /auth/session', 'GET /auth/sessions', 'POST /auth/logout'])(
    '%s that is answered with another page rejects',
    async (route) => {
      const { client, plan, tokens } = await openLoggedIn()
      plan(route, () => new Response('<html>Log in to the Wi-Fi', { status: 200 }))
      const calls: Record<string, () => Promise<unknown>> = {
        'GET /auth/session': () => client.session(),
        'GET /auth/sessions': () => client.sessions(),
        'POST /auth/logout': () => client.logOut(),
      }
      await expect(calls[route]?.()).rejects.toMatchObject({ code: 'ANSWER_INVALID', status: 200 })
      expect(await tokens.sessions.list('ada')).toHaveLength(1)
    },
  )

  test('a refresh that is refused for a while is repeated', async () => {
    const { client, clock, origin, plan, events } = await openLoggedIn()
    clock.seconds += EXPIRED
    plan('POST /auth/refresh', unavailable(), unavailable())
    expect((await client.fetch(`${origin}/notes`)).status).toBe(200)
    expect(events).toEqual(['loggedIn', 'refreshed'])
  })

  test('a refresh token that stays as it is stays in use', async () => {
    const { client, clock, origin, plan, tokens } = await openLoggedIn()
    const outcomes: string[] = []
    tokens.on('refreshed', ({ outcome }) => outcomes.push(outcome))
    const expired = () => Response.json({ code: 'TOKEN_EXPIRED' }, { status: 401 })
    plan('GET /notes', expired, expired)
    expect((await client.fetch(`${origin}/notes`)).status).toBe(200)
    clock.seconds += EXPIRED
    expect((await client.fetch(`${origin}/notes`)).status).toBe(200)
    expect(outcomes).toEqual(['advanced', 'kept', 'advanced'])
  })

  test('a request that changes nothing waits as Retry-After says', async () => {
    const { client, origin, plan } = await openLoggedIn()
    plan('GET /notes', unavailable())
    expect((await client.fetch(`${origin}/notes`)).status).toBe(200)
  })

  test.each([
    ['asks for too long a wait', 'GET', unavailable({ 'retry-after': '31' })],
    ['may come after the work was done', 'POST', unavailable()],
    ['has no Retry-After', 'GET', () => new Response(null, { status: 503 })],
  ])('a 503 is returned if it %s', async (_name, method, answer) => {
    const { client, origin, plan, sent, before } = await openLoggedIn()
    plan(`${method} /notes`, answer)
    expect((await client.fetch(`${origin}/notes`, { method })).status).toBe(503)
    expect(sent(before)).toEqual([`${method} /notes`])
  })

  test('a token that expires again before the repeated request arrives is renewed again, and not for ever', async () => {
    const { client, origin, plan, sent, before } = await openLoggedIn()
    const expired = () => Response.json({ code: 'TOKEN_EXPIRED' }, { status: 401 })
    plan('GET /notes', expired, expired)
    expect((await client.fetch(`${origin}/notes`)).status).toBe(200)
    expect(sent(before).filter((route) => route === 'POST /auth/refresh')).toHaveLength(2)
    plan('GET /notes', ...Array.from({ length: 9 }, () => expired))
    expect((await client.fetch(`${origin}/notes`)).status).toBe(401)
    expect(sent(before).filter((route) => route === 'POST /auth/refresh')).toHaveLength(5)
  })

  test('a 503 is returned after three attempts', async () => {
    const { client, origin, plan, sent, before } = await openLoggedIn()
    plan('GET /notes', ...Array.from({ length: 9 }, () => unavailable()))
    const response = await client.fetch(`${origin}/notes`)
    expect(await readNote(response)).toEqual([503, { code: 'REVOCATION_UNAVAILABLE' }])
    expect(sent(before)).toHaveLength(3)
  })

  test('an abort ends the wait for Retry-After', async () => {
    const controller = new AbortController()
    const { pauses, clock } = createPauses(() => controller.abort(new Error('left')))
    const { client, origin, plan } = await openLoggedIn({ clock })
    plan('GET /notes', unavailable({ 'retry-after': '30' }))
    await expect(client.fetch(`${origin}/notes`, { signal: controller.signal })).rejects.toThrow('left')
    expect(pauses).toEqual([30_000])
  })
})

describe('a session route that does not answer', () => {
  /** A client whose server answers as `fetch` does, and the timers that it has not ended. */
  const open = (fetch: NonNullable<TokenClientOptions['fetch']>) => {
    const virtual = createVirtualClock()
    const timers = new Set<unknown>()
    const scheduler: ClientTimers = {
      setTimeout(callback, milliseconds) {
        const timer = virtual.scheduler.setTimeout(callback, milliseconds)
        timers.add(timer)
        return timer
      },
      clearTimeout(timer) {
        timers.delete(timer)
        virtual.scheduler.clearTimeout(timer)
      },
    }
    const clock = Object.assign(() => virtual(), { scheduler })
    return { virtual, timers, client: createTokenClient({ path: 'http://localhost/auth', clock, fetch }) }
  }

  test('is given up after 25 seconds, with a cause that says so', async () => {
    const { virtual, timers, client } = open(
      (request) =>
        new Promise((_resolve, reject) => {
          const { signal } = request as Request
          signal.addEventListener('abort', () => reject(signal.reason as Error))
        }),
    )
    let error: unknown
    client.logIn(ADA).catch((reason: unknown) => (error = reason))
    await virtual.advance('24999ms')
    expect(error).toBeUndefined()
    await virtual.advance('1ms')
    expect(error).toMatchObject({ code: 'UNAVAILABLE', cause: { name: 'TimeoutError' } })
    expect(timers.size).toBe(0)
  })

  test('leaves no timer behind when it does', async () => {
    const { timers, client } = open(async () =>
      Response.json({ code: 'CREDENTIALS_INVALID' }, { status: 401 }),
    )
    await expect(client.logIn(ADA)).rejects.toMatchObject({ code: 'CREDENTIALS_INVALID' })
    expect(timers.size).toBe(0)
  })
})

describe('the end of a session', () => {
  test('a refresh that is refused ends it, and the refused request is returned', async () => {
    const { client, origin, session, tokens, events, sent, before } = await openLoggedIn()
    await tokens.revoke.session(session.id)
    expect(await readNote(await client.fetch(`${origin}/notes`))).toMatchObject([
      401,
      { code: 'TOKEN_REVOKED' },
    ])
    expect(events).toEqual(['loggedIn', 'loggedOut'])
    expect((await client.fetch(`${origin}/notes`)).status).toBe(401)
    expect(sent(before)).toEqual(['GET /notes', 'POST /auth/refresh', 'GET /notes'])
  })

  test('a refresh that finishes after a logout does not bring it back', async () => {
    const { client, clock, origin, plan, events, tokens } = await openLoggedIn()
    clock.seconds += EXPIRED
    plan('POST /auth/refresh', async (_request, next) => {
      const response = await next()
      await client.logOut()
      return response
    })
    const refused = client.fetch(`${origin}/notes`)
    expect((await refused).status).toBe(401)
    expect(await client.session()).toBeNull()
    expect(events).toEqual(['loggedIn', 'loggedOut'])
    expect(await tokens.sessions.list('ada')).toEqual([])
  })

  test('a logout that the server does not confirm rejects, and drops the tokens', async () => {
    const { client, origin, requests, plan, events } = await openLoggedIn()
    plan('POST /auth/logout', () => null)
    await expect(client.logOut()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(events).toEqual(['loggedIn', 'loggedOut'])
    expect((await client.fetch(`${origin}/notes`)).status).toBe(401)
    expect(requests.at(-1)?.headers.get('authorization')).toBeNull()
  })

  test('a session is named, with the token of the client', async () => {
    const { client, session } = await openLoggedIn()
    const read = async () => (await client.sessions()).sessions.map(({ data }) => data)
    expect(await read()).toEqual([null])
    expect(await client.renameSession(session.id, "Ada's phone")).toBeUndefined()
    expect(await read()).toEqual([{ label: "Ada's phone" }])
    await client.renameSession(session.id, null)
    expect(await read()).toEqual([null])
    await expect(client.renameSession(session.id, '')).rejects.toMatchObject({ code: 'REQUEST_INVALID' })
    await expect(client.renameSession('unknown', 'x')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(client.renameSession('', 'x')).rejects.toThrow(TypeError)
  })

  test('everywhere, and of one session', async () => {
    const { client, createClient, session, tokens, events } = await openLoggedIn()
    const other = createClient()
    const { id } = await other.logIn(ADA)
    await client.endSession(id)
    expect(await other.session()).toBeNull()
    await expect(client.endSession('unknown')).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
      status: 404,
    })
    await client.endSession(session.id)
    expect(events).toEqual(['loggedIn', 'loggedOut'])
    await client.logIn(ADA)
    await client.logOutEverywhere()
    expect(await tokens.sessions.list('ada')).toEqual([])
  })
})

describe('login', () => {
  test('with wrong credentials is refused, and nothing is repeated', async () => {
    const { createClient, sent } = await openServer()
    const client = createClient()
    await expect(client.logIn({ name: 'ada', password: 'wrong' })).rejects.toMatchObject({
      code: 'CREDENTIALS_INVALID',
      status: 401,
    })
    expect(sent()).toEqual(['POST /auth/login'])
  })

  test('tells how long to wait', async () => {
    const { createClient, plan } = await openServer()
    plan('POST /auth/login', () =>
      Response.json({ code: 'RATE_LIMITED' }, { status: 429, headers: { 'retry-after': '7' } }),
    )
    await expect(createClient().logIn(ADA)).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfter: 7 })
  })

  test('gives the answer of an application that wants more', async () => {
    const { createClient, plan } = await openServer()
    plan('POST /auth/login', () => Response.json({ code: 'CODE_NEEDED', hint: 'phone' }, { status: 403 }))
    await expect(createClient().logIn(ADA)).rejects.toMatchObject({
      code: 'CODE_NEEDED',
      body: { hint: 'phone' },
    })
  })

  test('of another user: requests of the one before are not repeated', async () => {
    const { client, clock, origin, plan, events } = await openLoggedIn()
    clock.seconds += EXPIRED
    plan('GET /notes', async () => {
      await client.logIn(BOB)
      return Response.json({ code: 'TOKEN_EXPIRED' }, { status: 401 })
    })
    expect((await client.fetch(`${origin}/notes`)).status).toBe(401)
    expect((await client.session())?.sub).toBe('bob')
    expect(events).toEqual(['loggedIn', 'loggedIn'])
  })

  test('again, for a fresh token', async () => {
    const { client, clock, origin, session } = await openLoggedIn()
    clock.seconds += EXPIRED
    await client.fetch(`${origin}/notes`)
    expect(await client.session()).toMatchObject({ fresh: false })
    expect(await client.stepUp(ADA)).toMatchObject({ id: session.id, fresh: true })
    await expect(client.stepUp(BOB)).rejects.toMatchObject({ code: 'CREDENTIALS_INVALID' })
    expect(await client.session()).toMatchObject({ id: session.id, fresh: true })
  })
})

describe('a login or logout while something else is under way', () => {
  test('a step-up that is answered after a logout does not log in', async () => {
    const { client, plan, events } = await openLoggedIn()
    const stepUp = hold(plan, 'POST /auth/step-up')
    const outcome = expect(client.stepUp(ADA)).rejects.toMatchObject({ code: 'SESSION_CHANGED' })
    await stepUp.reached
    await client.logOut()
    stepUp.release()
    await outcome
    expect(events).toEqual(['loggedIn', 'loggedOut'])
  })

  test('a login waits for a logout', async () => {
    const { client, plan, events, sent, before } = await openLoggedIn()
    const logOut = hold(plan, 'POST /auth/logout')
    const out = client.logOut()
    const back = client.logIn(BOB)
    await logOut.reached
    logOut.release()
    await Promise.all([out, back])
    expect(sent(before)).toEqual(['POST /auth/logout', 'POST /auth/login'])
    expect(events).toEqual(['loggedIn', 'loggedOut', 'loggedIn'])
    expect((await client.session())?.sub).toBe('bob')
  })

  test('a logout waits for a login', async () => {
    const { client, plan, sent, before } = await openLoggedIn()
    const logIn = hold(plan, 'POST /auth/login')
    const back = client.logIn(BOB)
    const out = client.logOut()
    await logIn.reached
    logIn.release()
    await Promise.all([out, back])
    expect(sent(before)).toEqual(['POST /auth/login', 'POST /auth/logout'])
    expect(await client.session()).toBeNull()
  })

  test('a refresh waits for a login, and is not needed then', async () => {
    const { client, clock, origin, plan, sent, before } = await openLoggedIn()
    clock.seconds += EXPIRED
    const logIn = hold(plan, 'POST /auth/login')
    const back = client.logIn(BOB)
    await logIn.reached
    const refused = createSignal()
    plan('GET /notes', async (_request, next) => {
      const response = await next()
      refused.send()
      return response
    })
    const note = client.fetch(`${origin}/notes`)
    await refused.sent
    logIn.release()
    await back
    expect((await note).status).toBe(401)
    expect(sent(before)).toEqual(['POST /auth/login', 'GET /notes'])
  })
})

describe('a request is what it was when it was passed', () => {
  test.each([
    ['known to have expired', EXPIRED * 1000],
    ['refused', 0],
  ])('also after a refresh, the token %s', async (_name, milliseconds) => {
    const { client, clock, origin, requests, before } = await openLoggedIn()
    const other = await openServer()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds })
    onTestFinished(() => void vi.useRealTimers())
    clock.seconds += EXPIRED
    const url = new URL(`${origin}/notes?page=1`)
    const body = new URLSearchParams({ note: 'first' })
    const response = client.fetch(url, { method: 'POST', body })
    url.port = new URL(other.origin).port
    url.search = ''
    body.set('note', 'second')
    expect(await readNote(await response)).toEqual([200, { body: 'note=first', method: 'POST' }])
    expect(other.requests).toEqual([])
    expect(requests.slice(before).filter(({ url: sentTo }) => sentTo.endsWith('/notes'))).toEqual([])
  })
})

test('an aborted request whose refresh fails leaves no rejection unhandled', async () => {
  const { client, clock, origin, plan } = await openLoggedIn()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + EXPIRED * 1000 })
  onTestFinished(() => void vi.useRealTimers())
  clock.seconds += EXPIRED
  plan('POST /auth/refresh', () => new Response(null, { status: 502 }))
  const offline = new Promise((resolve) => client.on('offline', resolve))
  await expect(client.fetch(`${origin}/notes`, { signal: AbortSignal.abort() })).rejects.toThrow('abort')
  // Vitest fails the run for an unhandled rejection, which is reported before the next task.
  await offline
  await new Promise((resolve) => setImmediate(resolve))
})

test('a path may end with a slash, and errors name the address', async () => {
  const { createClient, origin, plan } = await openServer()
  const client = createClient({ path: `${origin}/auth/` })
  await client.logIn(ADA)
  plan('POST /auth/login', () => new Response(null, { status: 404 }))
  await expect(client.logIn(ADA)).rejects.toThrow(`POST ${origin}/auth/login answered 404`)
})

test.each(['', '.', '..'])('%o is no id of a session', async (id) => {
  const { client, sent, before } = await openLoggedIn()
  await expect(client.endSession(id)).rejects.toThrow(TypeError)
  expect(sent(before)).toEqual([])
})

test('nobody is logged in: no request is sent to find that out', async () => {
  const { createClient, sent } = await openServer()
  expect(await createClient().session()).toBeNull()
  expect(sent()).toEqual([])
})

test('a listener that throws has no effect on the others, and one that was removed hears nothing', async () => {
  const { client } = await openLoggedIn()
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => logged.mockRestore())
  const heard: string[] = []
  client.on('loggedOut', () => {
    throw new Error('listener')
  })
  client.on('loggedOut', () => heard.push('removed'))()
  client.on('loggedOut', () => heard.push('kept'))
  await client.logOut()
  expect(heard).toEqual(['kept'])
})

test.each([
  [{ pth: '/auth' }],
  [{ path: 1 }],
  [{ transport: 'cookie' }],
  [{ origins: 'https://api.example' }],
  [{ origins: ['api.example'] }],
  [{ WebSocket: {} }],
  [{ fetch: null }],
])('%o is a TypeError', (options) => {
  expect(() => createTokenClient(options as never)).toThrow(TypeError)
})

test('an unknown option of logIn is a TypeError', async () => {
  await expect(createTokenClient().logIn(ADA, { remembr: true } as never)).rejects.toThrow(TypeError)
})

test('a server with other keys does not end a session that the refresh route has just continued', async () => {
  const { createClient, plan } = await openServer()
  const client = createClient()
  await client.logIn(ADA)
  const refused = () => Response.json({ code: 'TOKEN_SIGNATURE_INVALID' }, { status: 401 })
  plan('GET /auth/session', refused, refused)
  await expect(client.session()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(await client.session()).toMatchObject({ sub: 'ada' })
})
