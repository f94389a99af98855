import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { setRequestIp, type TokenEvents, type TokenManager } from '../../packages/tokenlib/src/index.js'
import { createRoutes } from '../routes/routes.js'
import { advance, createRevocable, outcomeOf, toPair } from '../helpers/revocable.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const FROM = { ip: '192.0.2.7', userAgent: 'Test/1' }
const clientIp = (request: { header(name: string): string | null }): string | null =>
  request.header('x-real-ip')

const createRequest = (token?: string): Request =>
  new Request('http://localhost/', {
    headers: {
      'user-agent': 'Test/1',
      'x-real-ip': '192.0.2.7',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  })

function record<Name extends keyof TokenEvents>(tokens: TokenManager, name: Name): TokenEvents[Name][] {
  const events: TokenEvents[Name][] = []
  tokens.on(name, (event) => events.push(event))
  return events
}

describe('every event of a request says where it came from', () => {
  test('logins, refreshes, reuses, refusals, revocations and logouts', async () => {
    const { tokens, clock } = createRevocable({}, { clientIp })
    const names = [
      'loggedIn',
      'refreshed',
      'refreshRepeated',
      'rejected',
      'reuseDetected',
      'revoked',
      'loggedOut',
    ] as const
    const heard = new Map(names.map((name) => [name, record(tokens, name)]))
    const pair = await tokens.sessions.open({ uid: 'ada' }, { request: createRequest() })
    await tokens.sessions.refresh(createRequest(pair.refreshToken))
    await outcomeOf(tokens.accessTokenRequired(createRequest()))
    await outcomeOf(tokens.accessTokenRequired(createRequest('x')))
    await outcomeOf(tokens.logout(createRequest(pair.accessToken)))
    await outcomeOf(tokens.accessTokenRequired(createRequest(pair.accessToken)))
    const other = await tokens.sessions.open({ uid: 'ada' }, { request: createRequest() })
    clock.seconds += 60
    const next = toPair(await tokens.sessions.refresh(createRequest(other.refreshToken)))
    clock.seconds += 61
    await tokens.sessions.refresh(createRequest(other.refreshToken))
    await tokens.sessions.refresh(createRequest(next.refreshToken))
    clock.seconds += 60
    await outcomeOf(tokens.sessions.refresh(createRequest(other.refreshToken)))
    for (const [name, events] of heard) {
      expect(events.length, name).toBeGreaterThan(0)
      for (const event of events) expect(event, name).toMatchObject(FROM)
    }
  })

  test('a used refresh token at a route that is not for refreshing', async () => {
    const { tokens, clock } = createRevocable({}, { clientIp })
    const reused = record(tokens, 'reuseDetected')
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const next = await advance({ tokens, clock }, refreshToken)
    await advance({ tokens, clock }, next.refreshToken)
    clock.seconds += 60
    expect(await outcomeOf(tokens.refreshTokenRequired(createRequest(refreshToken)))).toBe(
      'REFRESH_TOKEN_REUSED',
    )
    expect(reused).toMatchObject([{ sub: 'ada', ...FROM }])
  })

  test('a handshake, and what becomes of its socket', async () => {
    const { tokens } = createRevocable({}, { clientIp })
    const rejected = record(tokens, 'rejected')
    expect(await outcomeOf(tokens.sockets.authenticate(createRequest()))).toBe('TOKEN_MISSING')
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const upgrade = await tokens.sockets.authenticate(createRequest(accessToken))
    await tokens.revoke.user('ada')
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const closed = new Promise<void>((resolve) => {
      tokens.sockets.closeWhenInvalid({ close: () => resolve(), addEventListener() {} }, upgrade, {
        every: '1s',
      })
    })
    await vi.advanceTimersByTimeAsync(1000)
    await closed
    expect(rejected).toMatchObject([
      { code: 'TOKEN_MISSING', ...FROM },
      { code: 'TOKEN_REVOKED', sub: 'ada', ...FROM },
    ])
  })
})

describe('loginFailed', () => {
  const create = (options: Parameters<typeof createRoutes>[1] = {}) => {
    const created = createRoutes(undefined, { clientIp, ...options })
    const failed = record(created.tokens, 'loginFailed')
    const headers = { 'user-agent': 'Test/1', 'x-real-ip': '192.0.2.7' }
    const browser = created.createBrowser()
    const logIn = (body: object): Promise<Response> => browser.send('POST /auth/login', { body, headers })
    return { ...created, browser, failed, headers, logIn }
  }

  test('has the name as the client sent it, and why', async () => {
    const { failed, logIn } = create({
      logIn: ({ password }) => (password === 'locked' ? new Response(null, { status: 423 }) : null),
      rateLimit: { before: ({ credentials }) => (credentials['password'] === 'flood' ? 30 : 0) },
    })
    await logIn({ name: 'ada', password: 'wrong' })
    await logIn({ email: `ada\u001B[31m\n${'x'.repeat(500)}`, password: 'wrong' })
    await logIn({ username: 'ada', name: 'Ada Lovelace', password: 'flood' })
    await logIn({ name: 7, password: 'locked' })
    expect(failed).toEqual([
      { reason: 'credentials', user: 'ada', sub: null, ...FROM },
      {
        reason: 'credentials',
        user: expect.stringMatching(/^ada \[31m x{119}$/) as string,
        sub: null,
        ...FROM,
      },
      { reason: 'rateLimit', user: 'ada', sub: null, ...FROM },
      { reason: 'response', user: null, sub: null, ...FROM },
    ])
    expect(JSON.stringify(failed)).not.toContain('wrong')
  })

  test('a second factor that is asked for is no failure', async () => {
    const { failed, logIn } = create({ logIn: () => Response.json({ next: 'code' }, { status: 200 }) })
    expect((await logIn({ name: 'ada' })).status).toBe(200)
    expect(failed).toEqual([])
  })

  test('a user who is refused, a limit of sessions, and a step-up', async () => {
    const refused = create({ describeUser: () => null })
    await refused.logIn({ name: 'ada', password: 'secret' })
    expect(refused.failed).toEqual([{ reason: 'user', user: 'ada', sub: null, ...FROM }])

    const { failed, logIn, browser, headers, createBrowser } = create({ maxSessions: 1, whenFull: 'refuse' })
    await createBrowser().logIn()
    await logIn({ name: 'ada', password: 'secret' })
    await logIn({ name: 'grace', password: 'secret' })
    await browser.send('POST /auth/step-up', { body: { name: 'grace', password: 'wrong' }, headers })
    expect(failed).toEqual([
      { reason: 'sessionLimit', user: 'ada', sub: null, ...FROM },
      { reason: 'credentials', user: 'grace', sub: 'grace', ...FROM },
    ])
  })

  test('a login route of your own reports it', () => {
    const { tokens } = createRevocable({}, { clientIp })
    const failed = record(tokens, 'loginFailed')
    tokens.sessions.reportFailedLogin({ reason: 'credentials', user: 'ada', request: createRequest() })
    expect(failed).toEqual([{ reason: 'credentials', user: 'ada', sub: null, ...FROM }])
    // The body of a request may have any JSON.
    for (const user of [['ada'], { name: 'ada' }, 5] as unknown as string[]) {
      tokens.sessions.reportFailedLogin({ reason: 'credentials', user })
      expect(failed.pop()).toMatchObject({ reason: 'credentials', user: null })
    }
    expect(() => tokens.sessions.reportFailedLogin({ reason: 'no idea' as never })).toThrow(TypeError)
    expect(() => tokens.sessions.reportFailedLogin({ reason: 'user', name: 'ada' } as never)).toThrow(
      TypeError,
    )
  })
})

describe('clientIp', () => {
  test('decides alone, and readClient tells what it has read', () => {
    const request = createRequest()
    setRequestIp(request, '10.0.0.1')
    expect(internalsOf(createRevocable().tokens).readClient(request)).toEqual({
      ip: '10.0.0.1',
      userAgent: 'Test/1',
    })
    expect(internalsOf(createRevocable({}, { clientIp }).tokens).readClient(request)).toEqual(FROM)
    const unknown = createRevocable({}, { clientIp: () => null }).tokens
    expect(internalsOf(unknown).readClient(request).ip).toBeNull()
    const proxied = createRevocable({}, { clientIp: ({ ip }) => `via ${ip}` }).tokens
    expect(internalsOf(proxied).readClient(request).ip).toBe('via 10.0.0.1')
  })

  test.each([
    ['throws', () => JSON.parse('{') as string],
    ['returns another type', () => 7 as never],
  ])('that %s fails logins and refreshes, and uses nothing up', async (_what, broken) => {
    let isBroken = false
    const { tokens } = createRevocable(
      { JWT_REFRESH_GRACE: 0 },
      { clientIp: () => (isBroken ? broken() : null) },
    )
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' }, { request: createRequest() })
    isBroken = true
    await expect(tokens.sessions.open({ uid: 'ada' }, { request: createRequest() })).rejects.toThrow(Error)
    await expect(tokens.sessions.refresh(createRequest(refreshToken))).rejects.toThrow(Error)
    isBroken = false
    expect(await outcomeOf(tokens.sessions.refresh(createRequest(refreshToken)))).toBe('ok')
  })

  test('that throws keeps nobody from revoking, and changes no refusal: a warning tells of it', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    onTestFinished(() => warned.mockRestore())
    const { tokens } = createRevocable(
      {},
      {
        clientIp() {
          throw new Error('no address')
        },
      },
    )
    const revoked = record(tokens, 'revoked')
    record(tokens, 'rejected')
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    await tokens.revoke.user('ada', { request: createRequest() })
    expect(revoked).toMatchObject([{ kind: 'user', ip: null, userAgent: 'Test/1' }])
    expect(await outcomeOf(tokens.accessTokenRequired(createRequest(accessToken)))).toBe('TOKEN_REVOKED')
    expect(warned).toHaveBeenCalledTimes(2)
  })

  test('must be a function', () => {
    expect(() => createRevocable({}, { clientIp: '::1' as never })).toThrow(TypeError)
    expect(() => setRequestIp(createRequest(), 7 as never)).toThrow(TypeError)
  })
})
