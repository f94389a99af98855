import fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, test, vi } from 'vitest'
import * as forFastify from '../packages/tokenlib/src/frameworks/fastify.js'
import { enforce, handleErrors, inject } from '../packages/tokenlib/src/frameworks/hono.js'
import { chooseManager, type RevocationStore, type TokenManager } from '../packages/tokenlib/src/index.js'
import type { StoreCall, TokenCheck, TokenObserver } from '../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../packages/tokenlib/src/stores/replica.js'
import { createClock, createManager, withBearer } from './helpers/manager.js'
import { createRequest, csrfOf } from './helpers/requests.js'
import { createRevocable, outcomeOf } from './helpers/revocable.js'
import { internalsOf } from '../packages/tokenlib/src/sessions/internals.js'
import { rememberUpgrade } from '../packages/tokenlib/src/sockets/upgrade.js'

/** A manager whose checks are recorded, as `kind lane outcome code`. */
function record(tokens: TokenManager) {
  const checks: TokenCheck[] = []
  const calls: StoreCall[] = []
  const stop = tokens.observe({
    onCheck: (check) => void checks.push(check),
    onStoreCall(call) {
      calls.push(call)
      return undefined
    },
  })
  const read = (): string[] =>
    checks
      .splice(0)
      .map(({ kind, lane, outcome, code }) => [kind, lane, outcome, code ?? ''].join(' ').trim())
  return { checks, calls, read, stop }
}

const headers = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

describe('every check of a dependency is reported once for each request', () => {
  const FAST = 'request fast accepted'
  const RECIPE = 'request recipe accepted'

  test('by the recipe while the store is being prepared, and then by the fast lane', async () => {
    const { tokens } = createRevocable()
    const { read } = record(tokens)
    const token = tokens.createAccessToken({ uid: 'ada' })
    const app = new Hono().get('/', enforce(tokens.accessTokenRequired), (c) => c.text('ok'))
    for (let at = 0; at < 4; at++) expect((await app.request('/', headers(token))).status).toBe(200)
    expect(read()).toEqual([RECIPE, FAST, FAST, FAST])
  })

  test('in Fastify as well', async () => {
    const { tokens } = createRevocable()
    await tokens.ready()
    const { read } = record(tokens)
    const token = tokens.createAccessToken({ uid: 'ada' })
    const app = fastify()
    app.setErrorHandler(forFastify.handleErrors())
    app.get('/', { onRequest: forFastify.enforce(tokens.accessTokenRequired) }, () => 'ok')
    for (let at = 0; at < 3; at++)
      expect((await app.inject({ url: '/', ...headers(token) })).statusCode).toBe(200)
    expect((await app.inject('/')).statusCode).toBe(401)
    await app.close()
    expect(read()).toEqual([FAST, FAST, FAST, 'request recipe refused TOKEN_MISSING'])
  })

  test.each([1, 2, 3])('however often the route uses it, at request %i of a token', async (nth) => {
    const { tokens } = createRevocable()
    const { read } = record(tokens)
    const token = tokens.createAccessToken({ uid: 'ada' })
    const app = new Hono()
      .use(enforce(tokens.accessTokenRequired))
      .use(inject({ payload: tokens.accessTokenRequired }))
      .get('/', async (c) => c.json(await tokens.accessTokenRequired(c.req.raw)))
    for (let at = 0; at < nth; at++) {
      read()
      expect((await app.request('/', headers(token))).status).toBe(200)
    }
    expect(read()).toHaveLength(1)
  })

  test('a route whose second dependency refuses reports both once, although the fast lane let the first pass', async () => {
    const { tokens } = createRevocable()
    const { read } = record(tokens)
    const token = tokens.createAccessToken({ uid: 'ada' })
    const app = new Hono()
    app.onError(handleErrors())
    app.get('/', enforce(tokens.accessTokenRequired, tokens.require({ scopes: ['write'] })), (c) =>
      c.text('ok'),
    )
    for (let at = 0; at < 3; at++) {
      read()
      expect((await app.request('/', headers(token))).status).toBe(403)
    }
    expect(read()).toEqual([RECIPE, 'request recipe refused INSUFFICIENT_SCOPE'])
  })

  test('a request without a token, where none is needed, is anonymous', async () => {
    const { tokens } = createManager()
    const { read } = record(tokens)
    await tokens.accessTokenOptional(createRequest())
    expect(read()).toEqual(['request recipe anonymous'])
  })

  test('chooseManager reports to the manager that it chose', async () => {
    const one = createManager().tokens
    const other = createManager({
      JWT_SECRET_KEY: 'another-secret-that-is-long-enough-for-hs256-and-more',
    }).tokens
    const first = record(one)
    const second = record(other)
    const tenant = chooseManager((request) => (request.header('x-tenant') === 'other' ? other : one))
    const token = other.createAccessToken({ uid: 'ada' })
    const request = createRequest({ headers: { 'x-tenant': 'other', authorization: `Bearer ${token}` } })
    await tenant.accessTokenRequired(request)
    expect([first.read(), second.read()]).toEqual([[], [FAST]])
  })

  test('a callback that cannot answer is unavailable, and one that says yes a refusal', async () => {
    const { tokens } = createManager()
    const { read } = record(tokens)
    const token = tokens.createAccessToken({ uid: 'ada' })
    tokens.setTokenBlocklist(() => Promise.reject(new Error('down')))
    await outcomeOf(tokens.accessTokenRequired(withBearer(token)))
    tokens.setTokenBlocklist(() => true)
    await outcomeOf(tokens.accessTokenRequired(withBearer(token)))
    expect(read()).toEqual([
      'request recipe unavailable REVOCATION_UNAVAILABLE',
      'request recipe refused TOKEN_REVOKED',
    ])
  })

  test('what is no token error is a failure of the program', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['headers'] })
    const { read } = record(tokens)
    const view = {
      method: 'GET',
      url: '/',
      header: () => {
        throw new TypeError('broken')
      },
      body: async () => null,
    }
    await expect(tokens.accessTokenRequired(view)).rejects.toThrow('broken')
    expect(read()).toEqual(['request recipe failed'])
  })
})

test('each of the other calls that check a token has a kind of its own', async () => {
  const { tokens } = createRevocable({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
  const { checks, read } = record(tokens)
  const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  expect(read()).toEqual([])
  await tokens.verify(accessToken)
  await internalsOf(tokens).inspectToken(refreshToken)
  const upgrade = await tokens.sockets.authenticate(withBearer(accessToken))
  expect(upgrade.payload.sub).toBe('ada')
  await tokens.sessions.refresh(refreshToken)
  expect(await outcomeOf(tokens.sessions.refresh('none'))).toBe('TOKEN_INVALID')
  expect(await outcomeOf(tokens.sockets.authenticate(createRequest()))).toBe('TOKEN_MISSING')
  const cookies = { access_token_cookie: accessToken }
  expect(await outcomeOf(tokens.logout(createRequest({ method: 'POST', cookies })))).toBe('CSRF_MISSING')
  const csrf = { 'x-csrf-token': csrfOf(accessToken) }
  await tokens.logout(createRequest({ method: 'POST', cookies, headers: csrf }))
  await tokens.logout(createRequest({ method: 'POST' }))
  expect(checks.map(({ sub }) => sub)).toEqual(['ada', 'ada', 'ada', null, null, null, null, 'ada', null])
  expect(read()).toEqual([
    'token recipe accepted',
    'inspection recipe accepted',
    'upgrade recipe accepted',
    'refresh recipe accepted',
    'refresh recipe refused TOKEN_INVALID',
    'upgrade recipe refused TOKEN_MISSING',
    'logout recipe refused CSRF_MISSING',
    'logout recipe accepted',
    'logout recipe anonymous',
  ])
  internalsOf(tokens).verifyWithoutRevocation(accessToken)
  await internalsOf(tokens).readRevocableToken(accessToken)
  expect(read()).toEqual([])
})

test('a socket is checked again, and so is each of its messages', async () => {
  const { tokens, store } = createRevocable({}, { store: replicate(createMemoryStore()) })
  const { read } = record(tokens)
  const token = tokens.createAccessToken({ uid: 'ada' })
  const upgrade = await tokens.sockets.authenticate(withBearer(token))
  await new Promise<void>((resolve) => {
    const stop = tokens.observe({ onCheck: () => (stopWatching(), stop(), resolve()) })
    const stopWatching = tokens.sockets.closeWhenInvalid(
      { close: () => undefined, addEventListener: () => undefined },
      upgrade,
    )
  })
  expect(read()).toEqual(['upgrade recipe accepted', 'recheck recipe accepted'])
  // The header of a handshake is no reason to take the fast lane.
  const authorization = `Bearer ${token}`
  const view = { method: 'GET', url: '/', header: () => authorization, body: async () => null }
  rememberUpgrade(view, upgrade)
  await tokens.accessTokenRequired(view)
  expect(read()).toEqual(['message recipe accepted'])
  await store.close()
})

test('a check goes on when its last observer leaves', async () => {
  const { tokens } = createRevocable()
  const { read, stop } = record(tokens)
  const token = tokens.createAccessToken({ uid: 'ada' })
  const payload = tokens.accessTokenRequired(withBearer(token))
  stop()
  expect((await payload).sub).toBe('ada')
  expect(read()).toEqual([])
})

test('a check has the user of an accepted token, and how long the recipe took', async () => {
  const { tokens } = createRevocable()
  const { checks } = record(tokens)
  const token = tokens.createAccessToken({ uid: 'ada' })
  const dependency = tokens.require({ type: 'access', withHeader: true })
  for (let at = 0; at < 3; at++) await dependency(withBearer(token))
  await outcomeOf(dependency(withBearer(`${token}x`)))
  expect(checks.map(({ sub }) => sub)).toEqual(['ada', 'ada', 'ada', null])
  expect(checks.map(({ durationMs }) => typeof durationMs)).toEqual(['number', 'object', 'object', 'number'])
})

describe('calls of the store', () => {
  const asynchronous = (store: RevocationStore): RevocationStore => ({
    ...store,
    lookup: (keys) => store.lookup(keys),
  })

  test('are reported with their operation and the system of the store', async () => {
    const clock = createClock()
    const store = asynchronous(createMemoryStore({ clock }))
    const { tokens } = createRevocable({}, { clock, store })
    await tokens.ready()
    const { calls } = record(tokens)
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    await tokens.verify(accessToken)
    await tokens.sessions.refresh(refreshToken)
    await tokens.sessions.list('ada')
    await tokens.revoke.user('ada')
    expect(calls.map(({ operation }) => operation)).toEqual([
      'open',
      'lookup',
      'lookup',
      'rotate',
      'lookup',
      'list',
      'revoke',
    ])
    expect(new Set(calls.map(({ system }) => system))).toEqual(new Set(['memory']))
  })

  test('a store that answers immediately is not called for a check', async () => {
    const { tokens } = createRevocable()
    const token = tokens.createAccessToken({ uid: 'ada' })
    await tokens.verify(token)
    const { calls } = record(tokens)
    await tokens.verify(token)
    expect(calls).toEqual([])
  })

  test('run inside of what the observer starts, and end with their error', async () => {
    const failure = Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
    const store = { ...createMemoryStore(), lookup: () => Promise.reject(failure) }
    const { tokens } = createRevocable({}, { store })
    const seen: string[] = []
    tokens.observe({
      onStoreCall: ({ operation }) => ({
        run(start) {
          seen.push(`${operation} starts`)
          start()
        },
        end({ durationMs, error }) {
          expect(durationMs).toBeGreaterThanOrEqual(0)
          seen.push(`${operation} ${(error as { cause?: { code?: string } } | null)?.cause?.code ?? 'ok'}`)
        },
      }),
    })
    const { tokens: others } = createManager()
    const outcome = await outcomeOf(tokens.verify(others.createAccessToken({ uid: 'ada' })))
    expect(outcome).toBe('REVOCATION_UNAVAILABLE')
    expect(seen).toEqual(['lookup starts', 'prepare starts', 'prepare ok', 'lookup ECONNREFUSED'])
  })

  test('run once, whatever an observer does', async () => {
    let lookups = 0
    const memory = createMemoryStore()
    const store: RevocationStore = { ...memory, lookup: (keys) => (lookups++, memory.lookup(keys)) }
    const { tokens } = createRevocable({}, { store })
    const observers: TokenObserver[] = [
      { onStoreCall: () => ({ run: () => undefined }) },
      { onStoreCall: () => ({ run: (start) => (start(), start()) }) },
      {
        onStoreCall: () => ({
          run: () => {
            throw new Error('run')
          },
        }),
      },
    ]
    for (const observer of observers) tokens.observe(observer)
    await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))
    expect(lookups).toBe(1)
  })
})

describe('an observer', () => {
  test('that throws, wherever, has no effect on a request; one warning reports it', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const fail = (): never => {
      throw new Error('observer')
    }
    const { tokens } = createRevocable()
    tokens.observe({ onCheck: fail, onStoreCall: fail })
    tokens.observe({ onStoreCall: () => ({ run: fail, end: fail }) })
    const { read } = record(tokens)
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const app = new Hono().get('/', enforce(tokens.accessTokenRequired), (c) => c.text('ok'))
    for (let at = 0; at < 3; at++) expect((await app.request('/', headers(accessToken))).status).toBe(200)
    await tokens.sessions.refresh(refreshToken)
    await tokens.revoke.user('ada')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
    expect(read()).toHaveLength(5)
    const warnings = warn.mock.calls.filter(([, name]) => (name as unknown) === 'TokenObserverWarning')
    warn.mockRestore()
    expect(warnings).toHaveLength(2)
  })

  test('receives nothing after it was removed, and others go on', async () => {
    const { tokens } = createManager()
    const first = record(tokens)
    const second = record(tokens)
    const token = tokens.createAccessToken({ uid: 'ada' })
    await tokens.verify(token)
    first.stop()
    first.stop()
    await tokens.verify(token)
    second.stop()
    await tokens.verify(token)
    expect([first.checks.length, second.checks.length]).toEqual([1, 2])
  })

  test('may be added twice, and removed once', async () => {
    const { tokens } = createManager()
    let checks = 0
    const observer: TokenObserver = { onCheck: () => void checks++ }
    const stop = tokens.observe(observer)
    tokens.observe(observer)
    stop()
    await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))
    expect(checks).toBe(1)
  })

  test.each([null, undefined, 'text', {}, { oncheck: () => undefined }, { onCheck: 'text' }])(
    'must have a method: %j',
    (given) => {
      const { tokens } = createManager()
      expect(() => tokens.observe(given as TokenObserver)).toThrow(TypeError)
    },
  )
})

test('readReplica shows the replica without a call of the store', async () => {
  expect(internalsOf(createManager().tokens).readReplica()).toBeNull()
  expect(internalsOf(createRevocable().tokens).readReplica()).toBeNull()
  const { tokens, store } = createRevocable({}, { store: replicate(createMemoryStore()) })
  expect(internalsOf(tokens).readReplica()).toMatchObject({ isFresh: false, entries: 0, ageMs: null })
  await tokens.ready()
  const { calls } = record(tokens)
  await tokens.revoke.user('ada')
  expect(internalsOf(tokens).readReplica()).toMatchObject({ isFresh: true, entries: 1 })
  expect(calls.map(({ operation }) => operation)).toEqual(['revoke'])
  await store.close()
})

test('an async observer that rejects has no effect on a request, nor on the process', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined)
  const rejections: unknown[] = []
  const note = (reason: unknown): void => void rejections.push(reason)
  process.on('unhandledRejection', note)
  try {
    const { tokens } = createRevocable()
    const fail = async (): Promise<never> => {
      throw new Error('an observer that fails')
    }
    tokens.observe({ onStoreCall: fail as never })
    const failing = { onCheck: fail }
    tokens.observe(failing)
    const token = tokens.createAccessToken({ uid: 'ada' })
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    await new Promise((resolve) => setImmediate(resolve))
    expect(rejections).toEqual([])
    expect(warn).toHaveBeenCalledTimes(2)
  } finally {
    process.off('unhandledRejection', note)
    warn.mockRestore()
  }
})
