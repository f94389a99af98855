import { beforeAll, describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager, type TokenPayload } from '../../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../../packages/tokenlib/src/stores/memory.js'
import { createDpopClient, PUBLIC_URL } from '../../helpers/dpop.js'
import { createClock, PATIENT, SECRET } from '../../helpers/manager.js'
import { byName, type Framework } from './framework.js'

/** Tokens that are bound to a key of the client. */
export function describeProofs(frameworks: readonly Framework[]): void {
  describe.each(byName(frameworks))('%s: bound tokens', (_, framework) => {
    let client: Awaited<ReturnType<typeof createDpopClient>>
    const clock = createClock()
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT }),
      clock,
      store: createMemoryStore({ clock }),
      dpop: { publicUrl: `${PUBLIC_URL}/public` },
    })

    beforeAll(async () => {
      client = await createDpopClient()
    })

    const logIn = async (): Promise<string> => {
      const url = `${PUBLIC_URL}/public/login`
      const login = new Request(`${PUBLIC_URL}/login`, { headers: { dpop: await client.prove({ url }) } })
      return (await tokens.sessions.open({ uid: 'ada' }, { proofOf: login })).accessToken
    }

    test.each(framework.enforceForms)(
      'pass once with a proof for the public URL, as %s',
      async (enforceAs) => {
        const route = { enforce: [tokens.accessTokenRequired], enforceAs, run: () => ({}) }
        const send = await framework.start({ '/users/me': route }, { handleErrors: true, log: () => {} })
        const token = await logIn()
        const url = `${PUBLIC_URL}/public/users/me`
        const authorization = `DPoP ${token}`
        const call = async (headers: Record<string, string>): Promise<unknown[]> => {
          const response = await send('/users/me?page=2', { headers })
          const body = (await response.json()) as { code?: string }
          return [response.status, body.code]
        }
        const dpop = await client.prove({ url, token })
        expect(await call({ authorization, dpop })).toEqual([200, undefined])
        expect(await call({ authorization, dpop })).toEqual([401, 'PROOF_REUSED'])
        expect(await call({ authorization })).toEqual([401, 'PROOF_REQUIRED'])
        expect(await call({ authorization: `Bearer ${token}` })).toEqual([401, 'PROOF_REQUIRED'])
        const elsewhere = await client.prove({ url: `${PUBLIC_URL}/public/me`, token })
        expect(await call({ authorization, dpop: elsewhere })).toEqual([401, 'PROOF_INVALID'])
      },
    )

    test('give a route their payload, and the challenge of a refusal names the scheme', async () => {
      const run = ({ payload }: Readonly<Record<string, unknown>>): unknown => ({
        sub: (payload as TokenPayload).sub,
      })
      const route = { inject: { payload: tokens.require({ proof: 'dpop' }) }, run }
      const send = await framework.start({ '/users/me': route }, { handleErrors: true, log: () => {} })
      const token = await logIn()
      const dpop = await client.prove({ url: `${PUBLIC_URL}/public/users/me`, token })
      const response = await send('/users/me', { headers: { authorization: `DPoP ${token}`, dpop } })
      expect([response.status, await response.json()]).toEqual([200, { sub: 'ada' }])
      const refused = await send('/users/me', { token: tokens.createAccessToken({ uid: 'ada' }) })
      expect(refused.status).toBe(401)
      expect(refused.headers.get('www-authenticate')).toMatch(/^DPoP .*algs="ES256 /)
    })
  })
}
