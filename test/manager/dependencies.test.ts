import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  type Dependency,
  hasScopes,
  InsufficientScopeError,
  MissingTokenError,
  type RequestSource,
  TokenConfig,
  TokenManager,
  type TokenPayload,
} from '../../packages/tokenlib/src/index.js'
import {
  AccessTokenRequiredError,
  FreshTokenRequiredError,
  RefreshTokenRequiredError,
  SubjectNotFoundError,
  TokenTypeError,
} from '../../packages/tokenlib/src/errors.js'
import { requiredTokenType } from '../../packages/tokenlib/src/requests/dependencies.js'
import { enforceAll, injectAll } from '../helpers/dependencies.js'
import { createClock, createManager, NOW, SECRET, withBearer } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'

const none = () => new Request('http://localhost/')

describe('the raw token', () => {
  test('is null when there is none', async () => {
    expect(await createManager().tokens.getTokenFromRequest(none())).toBeNull()
  })

  test('is found unread, however bad it is', async () => {
    const { tokens, clock } = createManager()
    const expired = tokens.createAccessToken({ uid: 'u' })
    clock.seconds += 10_000
    tokens.setCallbackTokenBlocklist(() => true)
    for (const token of ['garbage', expired]) {
      expect(await tokens.getTokenFromRequest(withBearer(token))).toEqual({
        token,
        type: 'access',
        location: 'headers',
        csrf: null,
      })
    }
  })

  test('is missing for every required dependency', async () => {
    const { tokens } = createManager()
    for (const dependency of [
      tokens.tokenRequired,
      tokens.accessTokenRequired,
      tokens.refreshTokenRequired,
      tokens.freshTokenRequired,
      tokens.require({ scopes: ['a'] }),
    ]) {
      await expect(dependency(none())).rejects.toBeInstanceOf(MissingTokenError)
    }
  })

  test('dependencies are bound functions that can be passed around', async () => {
    const { tokens } = createManager()
    const { accessTokenRequired, getTokenFromRequest, setCallbackTokenBlocklist } = tokens
    const token = tokens.createAccessToken({ uid: 'u' })
    setCallbackTokenBlocklist(() => false)
    expect((await accessTokenRequired(withBearer(token))).sub).toBe('u')
    expect((await getTokenFromRequest(withBearer(token)))?.token).toBe(token)
  })
})

describe('type', () => {
  const { tokens } = createManager()
  const access = () => withBearer(tokens.createAccessToken({ uid: 'u' }))
  const fresh = () => withBearer(tokens.createAccessToken({ uid: 'u' }, { fresh: true }))
  const refresh = () => withBearer(tokens.createRefreshToken({ uid: 'u' }))

  test('a refresh token does not open an access route', async () => {
    await expect(tokens.accessTokenRequired(refresh())).rejects.toBeInstanceOf(AccessTokenRequiredError)
    await expect(tokens.accessTokenRequired(refresh())).rejects.toMatchObject({
      code: 'ACCESS_TOKEN_REQUIRED',
      expected: 'access',
      actual: 'refresh',
    })
    await expect(tokens.accessTokenOptional(refresh())).rejects.toBeInstanceOf(TokenTypeError)
  })

  test('an access token, fresh or not, does not open a refresh route', async () => {
    for (const request of [access(), fresh()]) {
      await expect(tokens.refreshTokenRequired(request)).rejects.toBeInstanceOf(RefreshTokenRequiredError)
    }
  })

  test('tokenRequired takes both', async () => {
    expect((await tokens.tokenRequired(access())).type).toBe('access')
    expect((await tokens.tokenRequired(refresh())).type).toBe('refresh')
  })

  test('a fresh route takes fresh access tokens only, an ordinary one both', async () => {
    expect((await tokens.freshTokenRequired(fresh())).fresh).toBe(true)
    await expect(tokens.freshTokenRequired(access())).rejects.toBeInstanceOf(FreshTokenRequiredError)
    await expect(tokens.freshTokenRequired(refresh())).rejects.toBeInstanceOf(AccessTokenRequiredError)
    expect((await tokens.accessTokenRequired(fresh())).sub).toBe('u')
  })

  test('freshness can end before the token does', async () => {
    const { tokens, clock } = createManager()
    const token = tokens.createAccessToken({ uid: 'u' }, { fresh: '5m' })
    clock.seconds = NOW + 299
    expect((await tokens.freshTokenRequired(withBearer(token))).sub).toBe('u')
    clock.seconds = NOW + 300
    await expect(tokens.freshTokenRequired(withBearer(token))).rejects.toBeInstanceOf(FreshTokenRequiredError)
    expect((await tokens.accessTokenRequired(withBearer(token))).sub).toBe('u')
  })

  test('freshness holds from every location', async () => {
    const all = createManager({ JWT_TOKEN_LOCATION: ['headers', 'cookies', 'json', 'query'] }).tokens
    const token = all.createAccessToken({ uid: 'u' }, { fresh: true })
    const requests = [
      withBearer(token),
      new Request('http://x/', { headers: { cookie: `access_token_cookie=${token}` } }),
      new Request('http://x/', {
        method: 'POST',
        body: JSON.stringify({ access_token: token }),
        headers: { 'content-type': 'application/json' },
      }),
      new Request(`http://x/?token=${token}`),
    ]
    for (const request of requests) expect((await all.freshTokenRequired(request)).sub).toBe('u')
  })
})

describe('optional', () => {
  test('passes with null without a token, and refuses every bad one', async () => {
    const { tokens, clock } = createManager()
    const token = tokens.createAccessToken({ uid: 'u' })
    expect(await tokens.accessTokenOptional(none())).toBeNull()
    expect((await tokens.accessTokenOptional(withBearer(token)))?.sub).toBe('u')
    await expect(tokens.accessTokenOptional(withBearer('garbage'))).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
    })
    clock.seconds += 10_000
    await expect(tokens.accessTokenOptional(withBearer(token))).rejects.toMatchObject({
      code: 'TOKEN_EXPIRED',
    })
    clock.seconds -= 10_000
    tokens.setCallbackTokenBlocklist(() => true)
    await expect(tokens.accessTokenOptional(withBearer(token))).rejects.toMatchObject({
      code: 'TOKEN_REVOKED',
    })
  })
})

describe('scopes', () => {
  const { tokens } = createManager()
  const holder = (scopes?: string[]) =>
    withBearer(tokens.createAccessToken({ uid: 'u' }, scopes && { scopes }))

  test('all are needed, and the payload is returned', async () => {
    expect((await tokens.require({ scopes: ['a'] })(holder(['a', 'b']))).sub).toBe('u')
    expect((await tokens.require({ scopes: ['a', 'b'] })(holder(['b', 'a']))).sub).toBe('u')
    for (const request of [holder(['b']), holder([]), holder()]) {
      await expect(tokens.require({ scopes: ['a'] })(request)).rejects.toBeInstanceOf(InsufficientScopeError)
    }
  })

  test('the error has both lists, an absent one as empty', async () => {
    await expect(tokens.require({ scopes: ['a', 'b'] })(holder(['b']))).rejects.toMatchObject({
      required: ['a', 'b'],
      provided: ['b'],
    })
    await expect(tokens.require({ scopes: ['a'] })(holder())).rejects.toMatchObject({
      required: ['a'],
      provided: [],
    })
    expect(new InsufficientScopeError(['a'], null).provided).toEqual([])
  })

  test('an empty requirement is a mistake: it would let every access token pass', () => {
    expect(() => tokens.require({ scopes: [] })).toThrow(TypeError)
    expect(() => tokens.require({ scopes: [] })).toThrow(TypeError)
    expect(hasScopes({ scopes: [] })).toBe(true)
  })
})

describe('any of several scopes', () => {
  const { tokens } = createManager()
  const create = (...scopes: string[]) => tokens.createAccessToken({ uid: 'u' }, { scopes })

  test('one is enough, a wildcard included', async () => {
    const dependency = tokens.require({ anyScope: ['a', 'b:c'] })
    for (const token of [create('a'), create('x', 'b:c'), create('b:*'), create('a', 'b:c')]) {
      expect((await dependency(withBearer(token))).sub).toBe('u')
    }
    for (const token of [create(), create('b'), create('ab'), tokens.createAccessToken({ uid: 'u' })]) {
      await expect(dependency(withBearer(token))).rejects.toMatchObject({ code: 'INSUFFICIENT_SCOPE' })
    }
    await expect(
      dependency(withBearer(tokens.createRefreshToken({ uid: 'u' }, { scopes: ['a'] }))),
    ).rejects.toMatchObject({ code: 'ACCESS_TOKEN_REQUIRED' })
  })

  test('together with scopes both must hold, and the error has both lists', async () => {
    const policy = { scopes: ['a'], anyScope: ['b', 'c'] }
    expect((await tokens.require(policy)(withBearer(create('a', 'c')))).sub).toBe('u')
    for (const scopes of [['a'], ['b', 'c']]) {
      const error = { code: 'INSUFFICIENT_SCOPE', required: ['a'], anyOf: ['b', 'c'], provided: scopes }
      await expect(tokens.require(policy)(withBearer(create(...scopes)))).rejects.toMatchObject(error)
      await expect(tokens.verify(create(...scopes), policy)).rejects.toMatchObject(error)
      await expect(tokens.sockets.authenticate(withBearer(create(...scopes)), policy)).rejects.toMatchObject(
        error,
      )
    }
    expect((await tokens.verify(create('a', 'b'), policy)).sub).toBe('u')
    expect((await tokens.sockets.authenticate(withBearer(create('a', 'b')), policy)).payload.sub).toBe('u')
  })

  test('alone, they are the only ones that the error names', async () => {
    await expect(tokens.require({ anyScope: ['b'] })(withBearer(create('a')))).rejects.toMatchObject({
      required: [],
      anyOf: ['b'],
    })
  })

  test('an empty or malformed list is a mistake, also at verify and sockets.authenticate', async () => {
    expect(() => tokens.require({ anyScope: [] })).toThrow(naming('TypeError', 'anyScope'))
    for (const anyScope of [[], 'a', ['a b'], [''], [1]] as never[]) {
      expect(() => tokens.require({ anyScope })).toThrow(naming('TypeError', 'anyScope'))
      await expect(tokens.verify(create('a'), { anyScope })).rejects.toThrow(TypeError)
      await expect(tokens.sockets.authenticate(withBearer(create('a')), { anyScope })).rejects.toThrow(
        TypeError,
      )
    }
  })

  test('a list that is changed later changes nothing', async () => {
    const anyScope = ['a']
    const dependency = tokens.require({ anyScope })
    anyScope.push('b')
    await expect(dependency(withBearer(create('b')))).rejects.toMatchObject({ anyOf: ['a'] })
  })
})

describe('an error of a route', () => {
  const { tokens } = createManager()
  const errorOf = (dependencies: readonly Dependency<unknown>[], request = none()): Promise<object> =>
    enforceAll(dependencies)(request).then(
      () => {
        throw new Error('The request passed')
      },
      (error: object) => error,
    )

  test('names the scopes of all dependencies, whichever refuses', async () => {
    const dependencies = [
      tokens.require({ scopes: ['a'] }),
      tokens.require({ scopes: ['b'], anyScope: ['a'] }),
    ]
    expect({ ...(await errorOf(dependencies)) }).toMatchObject({ routeScopes: ['a', 'b'] })
    expect({ ...(await errorOf([() => 1, ...dependencies])) }).toMatchObject({ routeScopes: ['a', 'b'] })
  })

  test('names none where none is demanded, or if it is not about a token', async () => {
    expect(await errorOf([() => 1, tokens.accessTokenRequired])).not.toHaveProperty('routeScopes')
    const failing = () => {
      throw new RangeError('of the application')
    }
    const scoped = tokens.require({ scopes: ['a'] })
    const request = withBearer(tokens.createAccessToken({ uid: 'u' }, { scopes: ['a'] }))
    expect(await errorOf([scoped, failing], request)).not.toHaveProperty('routeScopes')
  })
})

test('the type of token that a route needs is that of the first dependency that has one', () => {
  const { tokens } = createManager()
  expect(requiredTokenType([])).toBe('access')
  expect(requiredTokenType([() => 1])).toBe('access')
  expect(requiredTokenType([tokens.require({ scopes: ['a'] })])).toBe('access')
  expect(requiredTokenType([() => 1, tokens.refreshTokenRequired, tokens.accessTokenRequired])).toBe(
    'refresh',
  )
  expect(requiredTokenType([tokens.getCurrentSubject, tokens.tokenRequired])).toBe('any')
})

test('fresh: false demands nothing', async () => {
  const { tokens } = createManager()
  const request = withBearer(tokens.createAccessToken({ uid: 'u' }))
  expect((await tokens.require({ fresh: false })(request)).sub).toBe('u')
})

test('where either type will do, a token must be where its own type is looked for', async () => {
  const { tokens } = createManager({
    JWT_TOKEN_LOCATION: ['headers'],
    JWT_REFRESH_TOKEN_LOCATION: ['cookies'],
    JWT_COOKIE_CSRF_PROTECT: false,
  })
  const [access, refresh] = [tokens.createAccessToken({ uid: 'u' }), tokens.createRefreshToken({ uid: 'u' })]
  const cookie = (name: string, token: string) => ({ headers: { cookie: `${name}=${token}` } })
  expect((await tokens.tokenRequired(withBearer(access))).type).toBe('access')
  expect((await tokens.tokenRequired(cookie('refresh_token_cookie', refresh))).type).toBe('refresh')
  await expect(tokens.tokenRequired(withBearer(refresh))).rejects.toMatchObject({
    code: 'ACCESS_TOKEN_REQUIRED',
  })
  await expect(tokens.tokenRequired(cookie('refresh_token_cookie', access))).rejects.toMatchObject({
    code: 'REFRESH_TOKEN_REQUIRED',
  })
})

test.each<object>([
  { scope: ['admin'] },
  { freshRequired: true },
  { type: 'acess' },
  { type: null },
  { locations: ['header'] },
  { locations: ['toString'] },
  { locations: 'header' },
  { locations: [['headers']] },
  { scopes: 'admin' },
  { scopes: [''] },
  { fresh: 'yes' },
  { optional: 1 },
  { skipRevocation: 'no' },
])('the policy %j is refused when the dependency is made, not when the route is open', async (policy) => {
  const { tokens } = createManager()
  expect(() => tokens.require(policy as never)).toThrow(TypeError)
  await expect(tokens.verify(tokens.createAccessToken({ uid: 'u' }), policy as never)).rejects.toThrow(
    TypeError,
  )
})

test.each([undefined, Number.NaN, Number.POSITIVE_INFINITY])(
  'a clock that shows %s refuses everything',
  async (time) => {
    const { tokens: good } = createManager()
    const token = good.createAccessToken({ uid: 'u' })
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    const tokens = new TokenManager({ config, clock: () => time as number })
    await expect(tokens.verify(token)).rejects.toThrow(TypeError)
    expect(() => tokens.createAccessToken({ uid: 'u' })).toThrow(TypeError)
  },
)

test('several policies on one request ask the revocation callback once, another request asks again', async () => {
  const { tokens } = createManager()
  let calls = 0
  tokens.setTokenBlocklist(() => ++calls > 2)
  const token = tokens.createAccessToken({ uid: 'u' }, { scopes: ['a'], fresh: true })
  const check = (request: Request) =>
    Promise.all(
      [tokens.accessTokenRequired, tokens.require({ scopes: ['a'] }), tokens.freshTokenRequired].map((run) =>
        run(request),
      ),
    )
  await check(withBearer(token))
  expect(calls).toBe(1)
  await check(withBearer(token))
  expect(calls).toBe(2)
  await expect(check(withBearer(token))).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
  // Another manager has a callback of its own.
  const request = withBearer(token)
  await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
  const other = createManager().tokens
  expect((await other.accessTokenRequired(request)).sub).toBe('u')
})

test('a policy changed after its dependency was made changes nothing', async () => {
  const { tokens } = createManager()
  const policy = { scopes: ['admin'], fresh: true }
  const dependency = tokens.require(policy)
  policy.scopes.length = 0
  policy.fresh = false
  const token = tokens.createAccessToken({ uid: 'u' }, { fresh: true })
  await expect(dependency(withBearer(token))).rejects.toBeInstanceOf(InsufficientScopeError)
})

describe('the current subject', () => {
  const build = () => {
    const { tokens } = createManager()
    return { tokens, token: tokens.createAccessToken({ uid: 'ada', age: 36 }) }
  }

  test('is what the getter finds, given the uid and the payload, once per request', async () => {
    const { tokens, token } = build()
    let calls = 0
    const getter = (uid: string, payload: TokenPayload) => ({
      name: uid,
      age: payload.age,
      calls: ++calls,
    })
    expect(tokens.setSubjectGetter(getter)).toBe(getter)
    const request = withBearer(token)
    expect(await tokens.getCurrentSubject(request)).toEqual({ name: 'ada', age: 36, calls: 1 })
    expect(await tokens.getCurrentSubject(request)).toEqual({ name: 'ada', age: 36, calls: 1 })
  })

  test('is typed when the getter is given at construction', async () => {
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
      clock: createClock(),
      subjectGetter: async (uid) => (uid === 'ada' ? { name: 'Ada' } : null),
    })
    const subject = await tokens.getCurrentSubject(withBearer(tokens.createAccessToken({ uid: 'ada' })))
    expect(subject.name.toUpperCase()).toBe('ADA')
  })

  test('without a getter is a clear error', async () => {
    const { tokens, token } = build()
    await expect(tokens.getCurrentSubject(withBearer(token))).rejects.toBeInstanceOf(ConfigurationError)
    expect(() => tokens.setSubjectGetter('text' as never)).toThrow(TypeError)
  })

  test.each([null, undefined, Promise.resolve(null)])(
    'a getter that finds nothing refuses: %j',
    async (found) => {
      const { tokens, token } = build()
      tokens.setSubjectGetter(() => found)
      await expect(tokens.getCurrentSubject(withBearer(token))).rejects.toBeInstanceOf(SubjectNotFoundError)
    },
  )

  test('errors of the getter pass through', async () => {
    const { tokens, token } = build()
    tokens.setSubjectGetter(() => {
      throw new RangeError('database')
    })
    await expect(tokens.getCurrentSubject(withBearer(token))).rejects.toBeInstanceOf(RangeError)
  })

  test('the getter is not called without a good access token', async () => {
    const { tokens } = build()
    let calls = 0
    tokens.setSubjectGetter(() => ++calls)
    await expect(tokens.getCurrentSubject(none())).rejects.toBeInstanceOf(MissingTokenError)
    await expect(
      tokens.getCurrentSubject(withBearer(tokens.createRefreshToken({ uid: 'u' }))),
    ).rejects.toBeInstanceOf(AccessTokenRequiredError)
    expect(await tokens.accessTokenOptional(none())).toBeNull()
    expect(calls).toBe(0)
  })
})

test('a refusal is an answer too: other dependencies on the request do not ask again', async () => {
  const { tokens } = createManager()
  let asked = 0
  tokens.setCallbackTokenBlocklist(() => {
    asked++
    return true
  })
  const request = withBearer(tokens.createAccessToken({ uid: 'u' }, { scopes: ['a'] }))
  for (const dependency of [
    tokens.accessTokenRequired,
    tokens.require({ scopes: ['a'] }),
    tokens.tokenRequired,
  ]) {
    await expect(dependency(request)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
  }
  expect(asked).toBe(1)
})

test('of two tokens in one request each is asked about once', async () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['json'] })
  const asked: string[] = []
  tokens.setCallbackTokenBlocklist((_, { type }) => asked.push(type) === 0)
  const body = {
    access_token: tokens.createAccessToken({ uid: 'u' }, { fresh: true }),
    refresh_token: tokens.createRefreshToken({ uid: 'u' }),
  }
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  for (const dependency of [
    tokens.accessTokenRequired,
    tokens.refreshTokenRequired,
    tokens.freshTokenRequired,
  ]) {
    await dependency(request)
  }
  expect(asked).toEqual(['access', 'refresh'])
})

test('a payload can be a claim of another token', async () => {
  const { tokens } = createManager()
  const actor = await tokens.verify(tokens.createAccessToken({ uid: 'admin' }))
  const token = tokens.createAccessToken({ uid: 'ada', act: actor as never })
  expect(await tokens.verify(token)).toMatchObject({ act: { sub: 'admin' } })
})

describe('a dependency that returns nothing is refused', () => {
  const { tokens } = createManager()
  const request = () => new Request('http://localhost/')

  test.each<[string, Dependency<unknown>]>([
    ['the promise is dropped', (given) => void tokens.accessTokenRequired(given).catch(() => undefined)],
    ['nothing at all', () => undefined],
    ['later', async () => undefined],
  ])('%s', async (_, dependency) => {
    await expect((async () => enforceAll([dependency])(request()))()).rejects.toThrow(TypeError)
    await expect((async () => injectAll({ nothing: dependency })(request()))()).rejects.toThrow(TypeError)
  })

  test('and the promise that it dropped does not end the process', async () => {
    const unhandled: unknown[] = []
    const hear = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', hear)
    try {
      for (const slip of [
        (given: RequestSource) => {
          void tokens.accessTokenRequired(given)
        },
        async (given: RequestSource) => {
          void tokens.accessTokenRequired(given)
        },
      ] as Dependency<unknown>[]) {
        await expect((async () => enforceAll([slip])(request()))()).rejects.toThrow(TypeError)
      }
      await new Promise((resolve) => setImmediate(resolve))
      expect(unhandled).toEqual([])
      // What a handler drops by itself still counts: nobody has refused its request.
      void tokens.accessTokenRequired(request())
      await new Promise((resolve) => setImmediate(resolve))
      expect(unhandled).toMatchObject([{ code: 'TOKEN_MISSING' }])
    } finally {
      process.off('unhandledRejection', hear)
    }
  })

  test('but a promise that was dropped by a dependency with a value, or an error, counts as unhandled', async () => {
    const unhandled: unknown[] = []
    const hear = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', hear)
    try {
      for (const slip of [
        (given: RequestSource) => {
          void tokens.accessTokenRequired(given)
          return 1
        },
        async (given: RequestSource) => {
          void tokens.accessTokenRequired(given)
          return 1
        },
        async (given: RequestSource) => {
          void tokens.accessTokenRequired(given)
          throw new RangeError('of the application')
        },
      ]) {
        await enforceAll([slip])(request()).catch(() => undefined)
        await new Promise((resolve) => setImmediate(resolve))
        expect(unhandled.splice(0)).toMatchObject([{ code: 'TOKEN_MISSING' }])
      }
    } finally {
      process.off('unhandledRejection', hear)
    }
  })

  test('and so does one that a handler drops while such a dependency runs', async () => {
    const unhandled: unknown[] = []
    const hear = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', hear)
    try {
      const refused = enforceAll([async () => undefined])(request())
      void tokens.accessTokenRequired(request())
      await expect(refused).rejects.toThrow(TypeError)
      await new Promise((resolve) => setImmediate(resolve))
      expect(unhandled).toMatchObject([{ code: 'TOKEN_MISSING' }])
    } finally {
      process.off('unhandledRejection', hear)
    }
  })

  test.each([null, false, 0, ''])('%j is a value', async (value) => {
    expect(await injectAll({ value: () => value })(request())).toEqual({ value })
    if (value === false) return
    await expect((async () => enforceAll([async () => value])(request()))()).resolves.toBeUndefined()
  })

  test('a guard that answers false or with an error, instead of throwing one, is refused', async () => {
    for (const value of [false, new Error('no')]) {
      for (const slip of [() => value, async () => value]) {
        await expect((async () => enforceAll([slip])(request()))()).rejects.toThrow(TypeError)
      }
    }
  })
})

describe('a policy that inherits', () => {
  const derive = (base: object, own: object = { type: 'access' }) =>
    Object.assign(Object.create(base) as object, own)

  test.each<[demand: object, code: string]>([
    [{ scopes: ['admin'] }, 'INSUFFICIENT_SCOPE'],
    [{ anyScope: ['admin'] }, 'INSUFFICIENT_SCOPE'],
    [{ fresh: true }, 'FRESH_TOKEN_REQUIRED'],
    [{ locations: 'cookies' }, 'TOKEN_MISSING'],
  ])('demands %o too', async (demand, code) => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
    const token = tokens.createAccessToken({ uid: 'u' })
    await expect(tokens.require(derive(demand))(withBearer(token))).rejects.toMatchObject({ code })
    if ('locations' in demand) return
    await expect(tokens.verify(token, derive(demand))).rejects.toMatchObject({ code })
  })

  test('has its demands checked', () => {
    const { tokens } = createManager()
    expect(() => tokens.require(derive({ scopes: 'admin' }))).toThrow(TypeError)
  })

  test('leaves out no check', async () => {
    const { tokens } = createManager()
    await expect(tokens.require(derive({ optional: true }))(none())).rejects.toBeInstanceOf(MissingTokenError)
  })
})
