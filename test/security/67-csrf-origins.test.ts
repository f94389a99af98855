import { expect } from 'vitest'
import { createRequest, csrfOf } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { createVictim, FORM } from './harness/victim.js'

const APP = 'https://app.example'
const WITH_ORIGINS = { JWT_CSRF_ORIGINS: [APP] }

describeAttacks('requests that come from another origin (CWE-346, CWE-1385, RFC 6454 §7.3)', () => {
  ownAttack('a WebSocket that another site opens, with the cookies of the victim', async () => {
    const { tokens, cookies } = createVictim()
    const open = (origin: string | null, origins?: readonly string[]): Promise<string> => {
      const headers = { upgrade: 'websocket', ...(origin !== null && { origin }) }
      const policy = origins && { origins }
      return outcomeOf(tokens.sockets.authenticate(createRequest({ cookies, headers }), policy))
    }
    expect(await open(APP, [APP])).toBe('ok')
    for (const origin of [
      'https://evil.example',
      'null',
      `${APP}.evil.example`,
      'http://app.example',
      null,
    ]) {
      expect(await open(origin, [APP])).toBe('CSRF_MISMATCH')
    }
    expect(await open(APP)).toBe('TOKEN_MISSING')
  })

  ownAttack('with JWT_CSRF_ORIGINS: the right value, from an origin that is not ours', async () => {
    const { csrf, send } = createVictim(WITH_ORIGINS)
    const from = (headers: Record<string, string>): Promise<string> =>
      send({ headers: { 'x-csrf-token': csrf, ...headers } })
    expect(await from({ origin: APP })).toBe('ok')
    expect(await from({ 'sec-fetch-site': 'same-origin' })).toBe('ok')
    expect(await from({})).toBe('CSRF_MISMATCH')
    for (const site of [
      'cross-site',
      'same-site',
      'none',
      'SAME-ORIGIN',
      'same-origin, cross-site',
      'same-origin;',
      '',
    ]) {
      expect(await from({ 'sec-fetch-site': site })).toBe('CSRF_MISMATCH')
    }
    for (const origin of [
      'null',
      'https://sub.app.example',
      'https://app.example.evil.example',
      'https://evil.example/https://app.example',
      'https://evilapp.example',
      'https://app.example@evil.example',
      'https://app.example:8443',
      'http://app.example',
      'https://APP.example',
      `${APP}/`,
      `${APP}, https://evil.example`,
      `https://evil.example, ${APP}`,
      `https://evil.example ${APP}`,
      '',
    ]) {
      expect(await from({ origin, 'sec-fetch-site': 'cross-site' }), origin).toBe('CSRF_MISMATCH')
      expect(await from({ origin, referer: `${APP}/`, host: 'app.example' }), origin).toBe('CSRF_MISMATCH')
    }
  })

  ownAttack(
    "with JWT_CSRF_ORIGINS: the attacker's own cookie, and its value in the attacker's form",
    async () => {
      const form = { JWT_CSRF_CHECK_FORM: true }
      const victim = createVictim({ ...form, ...WITH_ORIGINS })
      const planted = victim.tokens.createAccessToken({ uid: 'mallory' })
      const submit = (
        { send }: ReturnType<typeof createVictim>,
        headers: Record<string, string>,
      ): Promise<string> =>
        send({
          cookies: { access_token_cookie: planted },
          headers: { 'content-type': FORM, ...headers },
          body: `csrf_token=${csrfOf(planted)}`,
        })
      expect(await submit(victim, { origin: APP })).toBe('ok')
      expect(
        await submit(victim, { origin: 'https://evil.app.example', 'sec-fetch-site': 'same-site' }),
      ).toBe('CSRF_MISMATCH')
      // Double submit alone cannot tell: cookie and value are of one session, only not of the victim's.
      expect(await submit(createVictim(form), { origin: 'https://evil.app.example' })).toBe('ok')
    },
  )
})
