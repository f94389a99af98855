import { expect } from 'vitest'
import { createApplication } from '../../examples/application.js'
import { START } from '../../examples/frameworks.js'
import { FRAMEWORKS } from '../../examples/options.js'
import { handleErrors } from '../../packages/tokenlib/src/frameworks/fetch.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createRequest, csrfOf } from '../helpers/requests.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'

describeAttacks('logging somebody out from another site (CWE-352, RFC 9110 §9.2.1)', () => {
  ownAttack('a link to the logout of the example application, in every framework', async () => {
    for (const framework of FRAMEWORKS) {
      const application = createApplication(createMemoryStore())
      const options = { framework, port: 0, profile: 'message', handleErrors: true } as const
      const server = await START[framework](application, options)
      try {
        const { accessToken } = await application.tokens.sessions.open({ uid: 'ada' })
        const send = async (
          method: string,
          path: string,
          more: Record<string, string> = {},
        ): Promise<number> => {
          const headers = { authorization: `Bearer ${accessToken}`, ...more }
          return (await fetch(server.url + path, { method, headers, redirect: 'manual' })).status
        }
        for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
          for (const more of [{}, { 'x-http-method-override': 'DELETE' }, { 'x-http-method': 'DELETE' }]) {
            await send(method, '/logout', more)
            await send(method, '/logout?_method=DELETE', more)
          }
        }
        expect(await send('GET', '/me'), framework).toBe(200)
        expect(await send('DELETE', '/logout'), framework).toBe(200)
        expect(await send('GET', '/me'), framework).toBe(401)
      } finally {
        await server.close()
      }
    }
  })

  ownAttack(
    'a logout by cookies, as the guide has it, without the value that only our pages know',
    async () => {
      const { tokens } = createRevocable({ JWT_TOKEN_LOCATION: 'cookies' })
      const victim = await tokens.sessions.open({ uid: 'ada' })
      const attacker = await tokens.sessions.open({ uid: 'mallory' })
      const logout = handleErrors()(async (request) => {
        await tokens.logout(request)
        return new Response(null, { status: 204 })
      })
      const send = async (csrf?: string): Promise<number> => {
        const cookies = { access_token_cookie: victim.accessToken }
        const headers = csrf === undefined ? {} : { 'x-csrf-token': csrf }
        return (await logout(createRequest({ method: 'POST', cookies, headers }))).status
      }
      for (const csrf of [undefined, '', 'x', csrfOf(attacker.accessToken), csrfOf(attacker.refreshToken)]) {
        expect(await send(csrf)).toBe(401)
      }
      expect(await outcomeOf(tokens.verify(victim.accessToken))).toBe('ok')
      expect(await send(csrfOf(victim.accessToken))).toBe(204)
      expect(await outcomeOf(tokens.verify(victim.accessToken))).toBe('TOKEN_REVOKED')
    },
  )

  ownAttack('a refresh that another site starts neither rotates a session nor ends it', async () => {
    const { tokens, clock } = createRevocable({ JWT_TOKEN_LOCATION: 'cookies' })
    const pair = await tokens.sessions.open({ uid: 'ada' })
    const refresh = (headers: Record<string, string>): Promise<string> =>
      outcomeOf(
        tokens.sessions.refresh(
          createRequest({ method: 'POST', cookies: { refresh_token_cookie: pair.refreshToken }, headers }),
        ),
      )
    expect(await refresh({})).toBe('CSRF_MISSING')
    const attacker = await tokens.sessions.open({ uid: 'mallory' })
    expect(await refresh({ 'x-csrf-token': csrfOf(attacker.refreshToken) })).toBe('CSRF_MISMATCH')
    // Past the grace: had it been rotated, this would be a theft, and the end of the session.
    clock.seconds += 60
    expect(await refresh({ 'x-csrf-token': csrfOf(pair.refreshToken) })).toBe('ok')
  })
})
