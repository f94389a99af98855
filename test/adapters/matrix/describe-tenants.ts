import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  chooseManager,
  TokenIssuerError,
  type TokenManager,
  type TokenPayload,
} from '../../../packages/tokenlib/src/index.js'
import { createManager, SECRET } from '../../helpers/manager.js'
import { byName, type Framework, type Send } from './framework.js'

const north = createManager({ JWT_SECRET_KEY: `${SECRET}-of-the-north` }).tokens
const south = createManager({ JWT_SECRET_KEY: `${SECRET}-of-the-south` }).tokens
const MANAGERS = new Map<string | null, TokenManager>([
  ['north', north],
  ['south', south],
])

/** Managers chosen by a header, and how often. */
function createTenants() {
  let chosen = 0
  const tenant = chooseManager(async (request) => {
    chosen++
    const name = request.header('x-tenant')
    // As a map does where nobody looks at what it returns.
    if (name === 'lost') return undefined as never
    const manager = MANAGERS.get(name)
    if (manager === undefined) throw new TokenIssuerError()
    return manager
  })
  return { tenant, chosen: () => chosen }
}

/** Managers that are chosen by the request. */
export function describeTenants(frameworks: readonly Framework[]): void {
  describe.each(byName(frameworks))('%s: a manager for each request', (_, framework) => {
    beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => {}))
    afterEach(() => void vi.restoreAllMocks())

    test('a token passes at its own tenant, is refused at another, and an unknown tenant is refused', async () => {
      const { tenant, chosen } = createTenants()
      const run = vi.fn((values: object) => {
        const { both, payload } = values as {
          both: { header: { alg: string } }
          payload: TokenPayload | null
        }
        return { sub: payload?.sub ?? null, alg: both.header.alg }
      })
      const send = await framework.start(
        {
          '/users/me': {
            inject: { both: tenant.require({ withHeader: true }), payload: tenant.accessTokenRequired },
            run,
          },
          '/notes/all': { enforce: [tenant.require({ anyScope: ['a', 'b'] })] },
          '/news/all': {
            inject: { payload: tenant.accessTokenOptional },
            run: ({ payload }) => ({ sub: (payload as TokenPayload | null)?.sub ?? null }),
          },
        },
        { handleErrors: true, log: () => {} },
      )
      const ask = (path: string, name: string, token?: string): ReturnType<Send> =>
        send(path, { headers: { 'x-tenant': name }, ...(token !== undefined && { token }) })
      const codeOf = async (answer: Promise<Response>): Promise<unknown> => {
        const response = await answer
        return [response.status, ((await response.json()) as { code?: string }).code]
      }
      const northern = north.createAccessToken({ uid: 'ada' }, { scopes: ['b'] })
      const southern = south.createAccessToken({ uid: 'eve' })
      for (const [name, token, sub] of [
        ['north', northern, 'ada'],
        ['south', southern, 'eve'],
        ['north', northern, 'ada'],
        ['north', northern, 'ada'],
      ] as const) {
        const before = chosen()
        const response = await ask('/users/me', name, token)
        expect([response.status, await response.json()]).toEqual([200, { sub, alg: 'HS256' }])
        expect(chosen()).toBe(before + 1)
      }
      run.mockClear()
      for (const [name, token, code] of [
        ['south', northern, 'TOKEN_SIGNATURE_INVALID'],
        ['north', southern, 'TOKEN_SIGNATURE_INVALID'],
        ['west', northern, 'TOKEN_ISSUER_INVALID'],
        ['north', undefined, 'TOKEN_MISSING'],
      ] as const) {
        expect(await codeOf(ask('/users/me', name, token))).toEqual([401, code])
      }
      expect(run).not.toHaveBeenCalled()
      expect((await ask('/notes/all', 'north', northern)).status).toBe(200)
      expect(await codeOf(ask('/notes/all', 'south', southern))).toEqual([403, 'INSUFFICIENT_SCOPE'])

      await expect((await ask('/news/all', 'north')).json()).resolves.toEqual({ sub: null })
      await expect((await ask('/news/all', 'north', northern)).json()).resolves.toEqual({ sub: 'ada' })
      expect(await codeOf(ask('/news/all', 'south', northern))).toEqual([401, 'TOKEN_SIGNATURE_INVALID'])
      expect(await codeOf(ask('/news/all', 'west'))).toEqual([401, 'TOKEN_ISSUER_INVALID'])
      for (const path of ['/users/me', '/notes/all', '/news/all']) {
        expect((await ask(path, 'lost', northern)).status).toBe(500)
        expect((await ask(path, 'lost')).status).toBe(500)
      }
      expect(run).not.toHaveBeenCalled()
    })
  })
}
