import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { TokenExpiredError } from '../../../packages/tokenlib/src/index.js'
import { TokenDecodeError } from '../../../packages/tokenlib/src/errors.js'
import { createManager } from '../../helpers/manager.js'
import { byName, type Framework, type Route, type Routes, type Send, type StartOptions } from './framework.js'

const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1

/** As another copy of this package throws it. */
class ForeignError extends Error {
  readonly code = 'TOKEN_EXPIRED'
  readonly isTokenError = true
}

const UNKNOWN_PATH = '/no/where'

/** What a client sees of an answer to an error. */
interface AnswerDescription {
  readonly path: string
  readonly status: number
  readonly type: string | null
  readonly reason: string | null
  readonly body: string
}

const guarded: Route = { enforce: [tokens.accessTokenRequired] }
const failing = (thrown: unknown): Route => ({
  run() {
    throw thrown
  },
})
const failingLater = (thrown: unknown): Route => ({ run: async () => Promise.reject(thrown) })
const get = (send: Send, path: string, token?: string): Promise<Response> =>
  send(path, token === undefined ? {} : { token })

/** What a client is told of errors, with and without `handleErrors`. */
export function describeErrors(frameworks: readonly Framework[]): void {
  describe.each(byName(frameworks))('%s', (_, framework) => {
    const logged = vi.fn<(...given: unknown[]) => void>()
    beforeEach(() => {
      logged.mockReset()
      vi.spyOn(console, 'error').mockImplementation(logged)
    })
    afterEach(() => void vi.restoreAllMocks())
    const start = (routes: Routes, options: StartOptions = {}): Promise<Send> =>
      framework.start(routes, { log: logged, ...options })

    test('not handled: a token error is a 500 without a challenge, and shows no token', async () => {
      const send = await start({ '/users/me': guarded })
      for (const token of [undefined, 'bad', OLD]) {
        const response = await get(send, '/users/me', token)
        expect(response.status).toBe(500)
        expect(response.headers.get('www-authenticate')).toBeNull()
        const shown = (await response.text()) + inspect(logged.mock.calls)
        for (const segment of OLD.split('.').slice(1)) expect(shown).not.toContain(segment)
      }
      expect(logged).toHaveBeenCalledTimes(framework.isErrorLogged ? 3 : 0)
      if (framework.isErrorLogged) expect(inspect(logged.mock.lastCall)).toContain('TokenExpiredError')
    })

    test('handled: an RFC 6750 answer, and no error in the log', async () => {
      const response = await get(
        await start({ '/users/me': guarded }, { handleErrors: true }),
        '/users/me',
        OLD,
      )
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer realm="api", error="invalid_token", /)
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('content-type')).toMatch(/^application\/json/)
      await expect(response.json()).resolves.toMatchObject({
        error_type: 'TokenExpiredError',
        code: 'TOKEN_EXPIRED',
      })
      expect(logged).not.toHaveBeenCalled()
    })

    test('handled: 403 for a missing scope, which is named', async () => {
      const routes = { '/users/me': { enforce: [tokens.require({ scopes: ['write'] })] } }
      const response = await get(await start(routes, { handleErrors: true }), '/users/me', TOKEN)
      expect(response.status).toBe(403)
      expect(response.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
      expect(response.headers.get('www-authenticate')).toContain('scope="write"')
    })

    test('handled: 401 names the scopes that the route demands, whatever is wrong with the token', async () => {
      const send = await start(
        {
          '/scopes/all': { enforce: [tokens.require({ scopes: ['read', 'write'] })] },
          '/scopes/any': { enforce: [tokens.require({ anyScope: ['read', 'write'] })] },
          '/scopes/both': { enforce: [tokens.require({ scopes: ['read'], anyScope: ['write', 'read'] })] },
          '/scopes/later': {
            enforce: [tokens.accessTokenRequired, tokens.require({ scopes: ['read', 'write'] })],
          },
          '/scopes/value': {
            inject: {
              user: tokens.accessTokenRequired,
              reader: tokens.require({ scopes: ['read'] }),
              writer: tokens.require({ scopes: ['write'] }),
            },
          },
          '/scopes/none': guarded,
        },
        { handleErrors: true },
      )
      for (const path of ['all', 'any', 'both', 'later', 'value', 'none']) {
        for (const token of [undefined, 'bad', OLD]) {
          const response = await get(send, `/scopes/${path}`, token)
          const challenge = response.headers.get('www-authenticate') ?? ''
          expect(response.status).toBe(401)
          expect(/, scope="([^"]*)"/.exec(challenge)?.[1]).toBe(path === 'none' ? undefined : 'read write')
        }
      }
    })

    test('handled: 503 for a revocation check that fails', async () => {
      const { tokens } = createManager()
      tokens.setCallbackTokenBlocklist(() => Promise.reject(new Error('ECONNREFUSED')))
      const routes = { '/users/me': { enforce: [tokens.accessTokenRequired] } }
      const response = await get(await start(routes, { handleErrors: true }), '/users/me', TOKEN)
      expect(response.status).toBe(503)
      expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
    })

    test('handled: the challenge says where the metadata of the resource is', async () => {
      const resourceMetadata = 'https://api.example/.well-known/oauth-protected-resource'
      const send = await start({ '/errors/guarded': guarded }, { handleErrors: { resourceMetadata } })
      const response = await get(send, '/errors/guarded')
      expect(response.headers.get('www-authenticate')).toBe(
        `Bearer realm="api", resource_metadata="${resourceMetadata}"`,
      )
    })

    test('handled: messages, the realm and the configured key', async () => {
      const { config } = createManager({ JWT_ERROR_MESSAGE_KEY: 'detail' }).tokens
      const handleErrors = { config, realm: 'shop', messages: { TOKEN_MISSING: 'Bitte anmelden – jetzt' } }
      const response = await get(await start({ '/users/me': guarded }, { handleErrors }), '/users/me')
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="shop"')
      await expect(response.json()).resolves.toMatchObject({ detail: 'Bitte anmelden – jetzt' })
    })

    test('handled: other errors are what they are without a handler', async () => {
      const { createHttpError } = framework
      const thrown = [
        new Error('a bug'),
        Object.assign(new Error('a bug'), { code: 'TOKEN_MISSING' }),
        { isTokenError: true, code: 'TOKEN_MISSING' },
        'text',
        ...(createHttpError === undefined ? [] : [createHttpError()]),
      ]
      const routes = thrown.flatMap((each, at) => [
        [`/sync/${at}`, failing(each)] as const,
        [`/async/${at}`, failingLater(each)] as const,
      ])
      const bare = await start(Object.fromEntries(routes))
      const handled = await start(Object.fromEntries(routes), { handleErrors: true })
      const describeAnswers = async (send: Send): Promise<AnswerDescription[]> => {
        const answers: AnswerDescription[] = []
        for (const path of [...routes.map(([path]) => path), UNKNOWN_PATH]) {
          const response = await get(send, path)
          answers.push({
            path,
            status: response.status,
            type: response.headers.get('content-type'),
            reason: response.headers.get('x-reason'),
            // h3 names the address.
            body: (await response.text()).replace(response.url, path),
          })
        }
        return answers
      }
      const expected = await describeAnswers(bare)
      for (const { status } of expected) expect([200, 401]).not.toContain(status)
      const logCount = logged.mock.calls.length
      expect(logCount > 0).toBe(framework.isErrorLogged)
      logged.mockReset()

      const { unknownPathType } = framework
      expect(await describeAnswers(handled)).toEqual(
        expected.map((answer) =>
          answer.path === UNKNOWN_PATH && unknownPathType !== undefined
            ? { ...answer, type: unknownPathType }
            : answer,
        ),
      )
      expect(logged).toHaveBeenCalledTimes(logCount)
      expect((await get(handled, '/sync/0')).status).toBe(500)
      if (createHttpError !== undefined)
        expect((await get(handled, `/sync/${thrown.length - 1}`)).status).toBe(418)
    })

    test.each(framework.injectForms)(
      'the error of a handler behind inject as %s is that of the route',
      async (injectAs) => {
        const error = framework.createHttpError?.() ?? new Error('a bug')
        const behind = { inject: { one: () => 1 }, injectAs }
        const send = await start(
          {
            '/sync/me': { ...failing(error), ...behind },
            '/async/me': { ...failingLater(error), ...behind },
          },
          { handleErrors: true },
        )
        const status = framework.createHttpError === undefined ? 500 : 418
        for (const path of ['/sync/me', '/async/me']) expect((await get(send, path)).status).toBe(status)
      },
    )

    test('handled: the error of another copy of this package is a token error', async () => {
      const send = await start(
        { '/users/me': failing(new ForeignError('Token has expired')) },
        { handleErrors: true },
      )
      expect((await get(send, '/users/me')).status).toBe(401)
    })

    test.each([
      ['its class', TokenExpiredError],
      ['its parent', TokenDecodeError],
    ])("the application's handler for an error's %s comes first", async (_class, own) => {
      const send = await start({ '/users/me': guarded }, { handleErrors: true, own })
      expect((await get(send, '/users/me', OLD)).status).toBe(410)
      expect((await get(send, '/users/me')).status).toBe(401)
    })

    test('a cross-origin preflight is not refused, and the page can read a refusal', async () => {
      const origin = 'https://app.example'
      const send = await start({ '/users/me': guarded }, { handleErrors: true, origin })
      const preflight = await send('/users/me', {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'authorization',
        },
      })
      expect(preflight.status).toBe(204)
      expect(preflight.headers.get('access-control-allow-origin')).toBe(origin)
      const refusal = await send('/users/me', { headers: { origin } })
      expect(refusal.status).toBe(401)
      expect(refusal.headers.get('access-control-allow-origin')).toBe(origin)
      expect(refusal.headers.get('www-authenticate')).toBe('Bearer realm="api"')
    })
  })
}
