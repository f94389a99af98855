import { describe, expect, test, vi } from 'vitest'
import {
  ConfigurationError,
  isTokenError,
  type OpenSessionOptions,
  TokenExpiredError,
  type TokenManager,
  type UserDescription,
} from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { NOW, openToken } from '../helpers/manager.js'
import { advance, createRevocable, outcomeOf, toPair } from '../helpers/revocable.js'
import { signClaims } from '../helpers/sign-claims.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const readPayload = async (tokens: TokenManager, token: string) => tokens.verify(token)

describe('what describeUser returns is in both tokens', () => {
  test('at a login and at a refresh, with what it knows of the tokens so far', async () => {
    const describeUser = vi.fn(
      (_uid: string, { claims, scopes }: { claims: object; scopes: readonly string[] }) => ({
        claims: { ...claims, count: scopes.length },
        scopes: [...scopes, `s${scopes.length}`],
      }),
    )
    const { tokens } = createRevocable({}, { describeUser })
    const pair = await tokens.sessions.open({ uid: 'ada', tenant: 'north' }, { scopes: 'read' })
    expect(await readPayload(tokens, pair.accessToken)).toMatchObject({
      tenant: 'north',
      count: 1,
      scopes: ['read', 's1'],
    })
    const next = await tokens.sessions.refresh(pair.refreshToken)
    expect(await readPayload(tokens, next.accessToken)).toMatchObject({
      tenant: 'north',
      count: 2,
      scopes: ['read', 's1', 's2'],
    })
    expect(describeUser.mock.calls).toEqual([
      ['ada', { reason: 'login', claims: { tenant: 'north' }, scopes: ['read'] }],
      ['ada', { reason: 'refresh', claims: { tenant: 'north', count: 1 }, scopes: ['read', 's1'] }],
    ])
  })

  test('one of the tokens can be asked to have fewer scopes than the user, not more', async () => {
    const { tokens, clock } = createRevocable({}, { describeUser: () => ({ scopes: ['notes:*', 'read'] }) })
    const access = { scopes: ['notes:write', 'admin'] }
    const pair = await tokens.sessions.open({ uid: 'ada' }, { access })
    expect((await readPayload(tokens, pair.accessToken)).scopes).toEqual(['notes:write'])
    clock.seconds += 60
    const next = toPair(await tokens.sessions.refresh(pair.refreshToken, { access }))
    expect((await readPayload(tokens, next.accessToken)).scopes).toEqual(['notes:write'])
    expect((await tokens.verify(next.refreshToken, { type: 'refresh' })).scopes).toEqual(['notes:*', 'read'])
  })

  test('lifetimes count at a refresh too, the end of the session and freshness at a login only', async () => {
    const { tokens, clock } = createRevocable(
      { JWT_REFRESH_TOKEN_EXPIRES: '1d' },
      {
        describeUser: () => ({
          access: { expiresIn: '1m', fresh: true },
          refresh: { expiresIn: '1h' },
          audience: 'app',
        }),
      },
    )
    const pair = await tokens.sessions.open({ uid: 'ada' }, { access: { expiresIn: '1h' } })
    const first = await readPayload(tokens, pair.accessToken)
    expect([first.exp, first.fresh, first.aud]).toEqual([clock.seconds + 60, true, 'app'])
    const endsAt = (await tokens.verify(pair.refreshToken, { type: 'refresh' })).exp
    expect(endsAt).toBe(clock.seconds + 3600)
    const next = await advance({ tokens, clock }, pair.refreshToken)
    const second = await readPayload(tokens, next.accessToken)
    expect([second.exp, second.fresh]).toEqual([clock.seconds + 60, false])
    expect((await tokens.verify(next.refreshToken, { type: 'refresh' })).exp).toBe(endsAt)
  })
})

describe('what describeUser leaves out stays as the call asked for it', () => {
  test('the audience of both tokens, or of one', async () => {
    const { tokens } = createRevocable({}, { describeUser: () => ({}) })
    const audiencesOf = async (options: OpenSessionOptions) => {
      const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' }, options)
      return [openToken(accessToken).claims['aud'], openToken(refreshToken).claims['aud']]
    }
    expect(await audiencesOf({ audience: 'app' })).toEqual(['app', 'app'])
    expect(await audiencesOf({ access: { audience: 'api' } })).toEqual(['api', undefined])
    expect(await audiencesOf({ audience: 'app', access: { audience: 'api' } })).toEqual(['api', 'app'])
  })

  test('the scopes of one token', async () => {
    const { tokens } = createRevocable({}, { describeUser: () => ({}) })
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' }, { access: { scopes: ['read'] } })
    expect((await readPayload(tokens, accessToken)).scopes).toEqual(['read'])
  })

  test('freshness', async () => {
    const { tokens } = createRevocable({}, { describeUser: () => ({ access: { expiresIn: '1m' } }) })
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' }, { access: { fresh: true } })
    expect((await readPayload(tokens, accessToken)).fresh).toBe(true)
  })
})

test('the audience of a description replaces that of the call, of one token too', async () => {
  const { tokens } = createRevocable({}, { describeUser: () => ({ audience: 'app' }) })
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' }, { access: { audience: 'api' } })
  expect(openToken(accessToken).claims['aud']).toBe('app')
})

test('scopes that are not a list are refused, and describeUser gets none', async () => {
  const describeUser = vi.fn(() => ({}))
  const { tokens } = createRevocable({}, { describeUser })
  await expect(tokens.sessions.open({ uid: 'ada' }, { scopes: 7 as never })).rejects.toThrow(TypeError)
  expect(describeUser).toHaveBeenCalledExactlyOnceWith('ada', { reason: 'login', claims: {}, scopes: [] })
})

describe('a describeUser that throws', () => {
  test('an error rejects as it is', async () => {
    const error = new RangeError('on purpose')
    const { tokens } = createRevocable({}, { describeUser: () => Promise.reject(error) })
    await expect(tokens.sessions.open({ uid: 'ada' })).rejects.toBe(error)
  })

  test.each([
    ['a token error', new TokenExpiredError(NOW)],
    ['a text', 'on purpose'],
  ])('%s is wrapped: it must not look like a refusal of the token of the request', async (_what, cause) => {
    const { tokens } = createRevocable({}, { describeUser: () => Promise.reject(cause) })
    const error: unknown = await tokens.sessions.open({ uid: 'ada' }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Error)
    expect(isTokenError(error)).toBe(false)
    expect((error as Error).cause).toBe(cause)
  })
})

test.each(['claims', 'scopes', 'audience'])('%s that is undefined keeps no rights', async (member) => {
  let description: UserDescription = { scopes: ['admin'] }
  const { tokens } = createRevocable({}, { describeUser: () => description })
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  // As of a role that is in no table: scopes: SCOPES[user.role]
  description = { [member]: undefined }
  await expect(tokens.sessions.refresh(refreshToken)).rejects.toThrow(`${member} is undefined`)
  await expect(tokens.sessions.open({ uid: 'ada' })).rejects.toThrow(TypeError)
  description = { scopes: [] }
  const next = await tokens.sessions.refresh(refreshToken)
  expect((await readPayload(tokens, next.accessToken)).scopes).toEqual([])
})

test('what describeUser does to the list that it gets changes no constant of the application', async () => {
  const scopes = ['read']
  const describeUser = (_uid: string, login: { scopes: readonly string[] }) => {
    ;(login.scopes as string[]).push('admin')
    return {}
  }
  const { tokens } = createRevocable({}, { describeUser })
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' }, { scopes })
  expect([scopes, (await readPayload(tokens, accessToken)).scopes]).toEqual([['read'], ['read']])
})

describe('null', () => {
  test('refuses a login, and opens no session', async () => {
    const { tokens } = createRevocable({}, { describeUser: () => null, clientIp: () => '192.0.2.1' })
    const rejected = vi.fn()
    tokens.on('rejected', rejected)
    const request = new Request('http://localhost', { headers: { 'user-agent': 'Test/1' } })
    expect(await outcomeOf(tokens.sessions.open({ uid: 'ada' }, { request }))).toBe('SUBJECT_NOT_FOUND')
    expect(await tokens.sessions.list('ada')).toEqual([])
    expect(rejected).toHaveBeenCalledExactlyOnceWith({
      code: 'SUBJECT_NOT_FOUND',
      reason: expect.any(String) as string,
      sub: 'ada',
      sid: null,
      jti: null,
      ip: '192.0.2.1',
      userAgent: 'Test/1',
    })
  })

  test('ends the session of a refresh', async () => {
    let description: UserDescription | null = {}
    const { tokens } = createRevocable({}, { describeUser: () => description })
    const revoked = vi.fn()
    tokens.on('revoked', revoked)
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const { sid } = openToken(accessToken).claims
    description = null
    const refreshing = tokens.sessions.refresh(refreshToken, { userAgent: 'Test/1' })
    expect(await outcomeOf(refreshing)).toBe('SUBJECT_NOT_FOUND')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
    const facts = { kind: 'session', id: sid, sub: 'ada', reason: 'requested', issuer: null }
    const origin = { actor: null, note: null, ip: null, userAgent: 'Test/1' }
    expect(revoked).toHaveBeenCalledExactlyOnceWith({ ...facts, ...origin })
  })

  test('issues nothing while the store is down, and the token is as good as before', async () => {
    let description: UserDescription | null = {}
    const { tokens, store } = createRevocable({}, { describeUser: () => description })
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const down = vi.spyOn(store, 'revoke').mockRejectedValueOnce(new Error('ECONNREFUSED'))
    description = null
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('REVOCATION_UNAVAILABLE')
    expect(down).toHaveBeenCalledTimes(1)
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('SUBJECT_NOT_FOUND')
  })
})

test('the store is asked after the description, and not once more for it', async () => {
  const calls: string[] = []
  const { tokens, store } = createRevocable(
    {},
    {
      async describeUser() {
        calls.push('describeUser')
        return {}
      },
    },
  )
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  calls.length = 0
  const { sessions } = store
  if (sessions === undefined) throw new Error('The memory store keeps sessions')
  for (const name of ['rotate', 'get', 'present', 'list'] as const) {
    const call = sessions[name].bind(sessions) as () => never
    Object.assign(sessions, {
      [name]: (...given: []) => {
        calls.push(name)
        return call(...given)
      },
    })
  }
  await tokens.sessions.refresh(refreshToken)
  expect(calls).toEqual(['describeUser', 'rotate'])
})

test('a description that never comes uses nothing up', async () => {
  const never = new Promise<UserDescription>(() => undefined)
  const describeUser = vi.fn((): UserDescription | Promise<UserDescription> => ({}))
  const { tokens } = createRevocable({ JWT_REFRESH_GRACE: 0 }, { describeUser })
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  describeUser.mockReturnValueOnce(never)
  void tokens.sessions.refresh(refreshToken)
  expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('ok')
})

test.each(['access', 'refresh'])('an unknown option of %s is refused by name', async (member) => {
  const { tokens } = createRevocable({}, { describeUser: () => ({ [member]: { expires: '1m' } }) })
  await expect(tokens.sessions.open({ uid: 'ada' })).rejects.toThrow(
    `Unknown option "expires" of ${member} of describeUser`,
  )
})

test('claims that are not an object are refused', async () => {
  const { tokens } = createRevocable({}, { describeUser: () => ({ claims: ['admin'] }) as object })
  await expect(tokens.sessions.open({ uid: 'ada' })).rejects.toThrow(TypeError)
})

test('a refresh token that belongs to no session is refused before anybody is described', async () => {
  const describeUser = vi.fn(() => null)
  const { tokens } = createRevocable({}, { describeUser })
  const claims = { sub: 'ada', type: 'refresh', jti: 'x', iat: NOW, exp: NOW + 60 }
  for (const part of [{}, { gen: 1 }, { sid: 'abc' }]) {
    expect(await outcomeOf(tokens.sessions.refresh(signClaims({ ...claims, ...part })))).toBe('TOKEN_INVALID')
  }
  expect(describeUser).not.toHaveBeenCalled()
})

test('a claim next to the claims is refused, and told where it goes', async () => {
  const { tokens } = createRevocable({}, { describeUser: () => ({ role: 'admin' }) as object })
  await expect(tokens.sessions.open({ uid: 'ada' })).rejects.toThrow(
    'unknown member "role". Known members: claims, scopes, audience, access, refresh. Put extra claims into claims',
  )
})

describe('there is one describeUser', () => {
  const describeUser = (): object => ({})

  test('a second one is refused, the same one is not', () => {
    const { tokens } = createRevocable({}, { describeUser })
    expect(() => internalsOf(tokens).setDescribeUser(describeUser)).not.toThrow()
    expect(() => internalsOf(tokens).setDescribeUser(() => ({}))).toThrow(ConfigurationError)
    expect(() => internalsOf(tokens).setDescribeUser('describe' as never)).toThrow(TypeError)
  })

  test('session routes register theirs at the manager, unless their options are wrong', async () => {
    const { tokens } = createRevocable({ JWT_TOKEN_LOCATION: ['headers'] })
    const options = { logIn: () => null, describeUser: () => ({ scopes: ['read'] }) }
    expect(() => createSessionRoutes(tokens, { ...options, path: 'auth' })).toThrow(TypeError)
    expect((await readPayload(tokens, (await tokens.sessions.open({ uid: 'ada' })).accessToken)).scopes).toBe(
      undefined,
    )
    createSessionRoutes(tokens, options)
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    expect((await readPayload(tokens, accessToken)).scopes).toEqual(['read'])
    const next = await tokens.sessions.refresh(refreshToken)
    expect((await readPayload(tokens, next.accessToken)).scopes).toEqual(['read'])
    expect(() => createSessionRoutes(tokens, { ...options, path: '/other' })).not.toThrow()
    expect(() => createSessionRoutes(tokens, { logIn: () => null, describeUser: () => null })).toThrow(
      ConfigurationError,
    )
  })
})
