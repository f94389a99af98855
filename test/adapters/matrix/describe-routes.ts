import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type Dependency,
  MissingTokenError,
  type RequestToken,
  type TokenPayload,
} from '../../../packages/tokenlib/src/index.js'
import { createManager } from '../../helpers/manager.js'
import { byName, type Framework, type Route, type Routes, type Send } from './framework.js'

const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const REFRESH = tokens.createRefreshToken({ uid: 'ada' })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1

const BAD_TOKENS = [undefined, 'bad', OLD, REFRESH]
const get = (send: Send, path: string, token?: string): Promise<Response> =>
  send(path, token === undefined ? {} : { token })

/** A dependency that logs when it starts and when it ends. */
const createDependency =
  (name: string, log: string[], error?: Error): Dependency<string> =>
  async () => {
    log.push(`${name} starts`)
    await Promise.resolve()
    log.push(`${name} ends`)
    if (error !== undefined) throw error
    return name
  }

// Koa takes undefined and null for no error. Express goes on after next() and next('route'), and leaves the guarded
// router after next('router').
const NO_ERRORS: readonly unknown[] = [undefined, null, false, 0, '', 'route', 'router', 'text']
/** Values of dependencies that look like a pass or a refusal, and are a mistake of the application. */
const NO_VALUES: readonly unknown[] = [undefined, () => true, tokens.accessTokenRequired]

const throwing = (thrown: unknown): readonly Dependency<never>[] => [
  () => {
    throw thrown
  },
  async () => {
    throw thrown
  },
]
const returning = (value: unknown): readonly Dependency<unknown>[] => [() => value, async () => value]

/** Which routes an adapter lets a request on to, and with which values. */
export function describeRoutes(frameworks: readonly Framework[]): void {
  describe.each(byName(frameworks))('%s', (_, framework) => {
    beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => {}))
    afterEach(() => void vi.restoreAllMocks())
    const start = (routes: Routes, options = {}): Promise<Send> =>
      framework.start(routes, { log: () => {}, ...options })

    /** Asserts that each dependency is a 500 of a route that does not run. */
    const assertClosed = async (
      dependencies: readonly Dependency<unknown>[],
      toRoute: (dependency: Dependency<unknown>) => Route,
    ): Promise<void> => {
      const run = vi.fn(() => ({ ran: true }))
      const routes = dependencies.map(
        (dependency, at) => [`/closed/${at}`, { ...toRoute(dependency), run }] as const,
      )
      const send = await start(Object.fromEntries(routes), { handleErrors: true })
      for (const [path] of routes) expect([path, (await get(send, path, TOKEN)).status]).toEqual([path, 500])
      expect(run).not.toHaveBeenCalled()
    }

    const forms: [name: string, guard: (dependency: Dependency<unknown>) => Route][] = [
      ...framework.enforceForms.map((enforceAs): (typeof forms)[number] => [
        `enforce as ${enforceAs}`,
        (dependency) => ({ enforce: [dependency], enforceAs }),
      ]),
      ...framework.injectForms.map((injectAs): (typeof forms)[number] => [
        `inject as ${injectAs}`,
        (payload) => ({ inject: { payload }, injectAs }),
      ]),
    ]
    describe.each(forms)('%s', (_form, guard) => {
      test('lets a good request on to its route, and no other, and leaves other routes open', async () => {
        const run = vi.fn(() => ({ ran: true }))
        const send = await start({
          '/guarded/me': { ...guard(tokens.accessTokenRequired), run },
          '/open/me': {},
        })
        for (const token of BAD_TOKENS) expect((await get(send, '/guarded/me', token)).status).toBe(500)
        expect(run).not.toHaveBeenCalled()
        const response = await get(send, '/guarded/me', TOKEN)
        expect([response.status, await response.json()]).toEqual([200, { ran: true }])
        expect(run).toHaveBeenCalledTimes(1)
        expect((await get(send, '/open/me')).status).toBe(200)
      })

      test('a dependency that throws what is no error refuses the request', async () => {
        await assertClosed(NO_ERRORS.flatMap(throwing), guard)
      })

      test('a dependency that returns undefined or a function refuses the request', async () => {
        await assertClosed(NO_VALUES.flatMap(returning), guard)
      })

      test('takes dependencies that are not asynchronous', async () => {
        const send = await start(
          { '/open/me': guard(() => true), '/closed/me': guard(throwing(new MissingTokenError())[0]!) },
          { handleErrors: true },
        )
        expect((await get(send, '/open/me')).status).toBe(200)
        expect((await get(send, '/closed/me')).status).toBe(401)
      })
    })

    test('enforce refuses a request when a dependency returns false or an error', async () => {
      await assertClosed([false, new Error('no')].flatMap(returning), (dependency) => ({
        enforce: [dependency],
      }))
    })

    test('enforce runs its dependencies one after the other, up to the first that throws', async () => {
      const log: string[] = []
      const failing = createDependency('b', log, new MissingTokenError())
      const enforce = [createDependency('a', log), failing, createDependency('c', log)]
      const send = await start({ '/guarded/me': { enforce } }, { handleErrors: true })
      expect((await get(send, '/guarded/me')).status).toBe(401)
      expect(log).toEqual(['a starts', 'a ends', 'b starts', 'b ends'])
    })

    if (framework.isInjectedInOrder) {
      test('inject runs its dependencies one after the other, up to the first that throws', async () => {
        const log: string[] = []
        const failing = createDependency('a', log, new MissingTokenError())
        const inject = { b: createDependency('b', log), a: failing, c: createDependency('c', log) }
        const send = await start({ '/guarded/me': { inject } }, { handleErrors: true })
        expect((await get(send, '/guarded/me')).status).toBe(401)
        expect(log).toEqual(['b starts', 'b ends', 'a starts', 'a ends'])
      })
    }

    describe.each(framework.injectForms)('inject as %s', (injectAs) => {
      test('gives the values of its dependencies, whatever they are, next to the request', async () => {
        const send = await start({
          '/users/me': {
            inject: {
              payload: tokens.accessTokenRequired,
              token: tokens.getTokenFromRequest,
              one: () => 1,
              no: async () => false,
              empty: () => '',
              nothing: () => null,
            },
            injectAs,
            run({ payload, token, one, no, empty, nothing }, call) {
              const { sub, age } = payload as TokenPayload
              const { location } = token as RequestToken
              return { values: [sub, age, location, one, no, empty, nothing], header: call.header('x-a') }
            },
          },
        })
        const response = await send('/users/me', { token: TOKEN, headers: { 'x-a': 'a' } })
        const values = ['ada', 36, 'headers', 1, false, '', null]
        await expect(response.json()).resolves.toEqual({ values, header: 'a' })
      })

      test('gives null for an optional token that is absent, and refuses a bad one', async () => {
        const run: Route['run'] = ({ payload }) => ({ payload })
        const inject = { payload: tokens.accessTokenOptional }
        const send = await start({ '/users/me': { inject, injectAs, run } }, { handleErrors: true })
        await expect((await get(send, '/users/me')).json()).resolves.toEqual({ payload: null })
        expect((await get(send, '/users/me', 'bad')).status).toBe(401)
      })

      test('with enforce and a call by hand on one route, the token is checked once per request', async () => {
        const { tokens } = createManager()
        const isRevoked = vi.fn(async () => false)
        tokens.setCallbackTokenBlocklist(isRevoked)
        const send = await start({
          '/users/me': {
            enforce: [tokens.accessTokenRequired],
            inject: { payload: tokens.accessTokenRequired },
            injectAs,
            async run({ payload }, { sources }) {
              const byHand = await Promise.all(sources.map((source) => tokens.accessTokenRequired(source)))
              return { isSame: byHand.every((each) => each === payload) }
            },
          },
        })
        for (const count of [1, 2]) {
          await expect((await get(send, '/users/me', TOKEN)).json()).resolves.toEqual({ isSame: true })
          expect(isRevoked).toHaveBeenCalledTimes(count)
        }
      })
    })

    test('a token that a callback calls revoked is refused', async () => {
      const { tokens } = createManager()
      tokens.setCallbackTokenBlocklist(async () => true)
      const routes = { '/users/me': { enforce: [tokens.accessTokenRequired] } }
      const response = await get(await start(routes, { handleErrors: true }), '/users/me', TOKEN)
      expect([response.status, await response.json()]).toMatchObject([401, { code: 'TOKEN_REVOKED' }])
    })

    test('a token in the query is found', async () => {
      const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'query' })
      const token = tokens.createAccessToken({ uid: 'ada' })
      const routes = framework.enforceForms.map(
        (enforceAs, at) => [`/users/${at}`, { enforce: [tokens.accessTokenRequired], enforceAs }] as const,
      )
      const send = await start(Object.fromEntries(routes))
      for (const [path] of routes) expect((await send(`${path}?page=2&token=${token}`)).status).toBe(200)
    })

    test('a missing dependency, or something else in its place, is refused when the route is made', () => {
      for (const call of framework.withoutDependency) expect(call).toThrow(TypeError)
      for (const call of framework.withDependency) {
        for (const wrong of [undefined, null, 'text', {}])
          expect(() => call(wrong as never)).toThrow(TypeError)
      }
    })
  })
}
