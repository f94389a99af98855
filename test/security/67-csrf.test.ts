import { expect } from 'vitest'
import type { NodeRequest } from '../../packages/tokenlib/src/kit.js'
import { createManager } from '../helpers/manager.js'
import { csrfOf, receive, toHttpText } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { createVictim, FORM } from './harness/victim.js'

describeAttacks('requests that another site starts (CWE-352, RFC 6749 §10.12, OWASP double submit)', () => {
  ownAttack('a pair of equal values, planted in the cookie and sent in the header', async () => {
    const { csrf, send, sendCsrf } = createVictim()
    expect(await sendCsrf(csrf)).toBe('ok')
    for (const planted of [
      'x',
      'undefined',
      'null',
      'true',
      '0',
      'A'.repeat(22),
      csrf.toLowerCase(),
      csrf.slice(1),
    ]) {
      const pair = { cookies: { csrf_access_token: planted }, headers: { 'x-csrf-token': planted } }
      expect(await send(pair)).toBe('CSRF_MISMATCH')
    }
    // The cookie with the right value is in every request of the browser, and proves nothing.
    expect(await send({ cookies: { csrf_access_token: csrf } })).toBe('CSRF_MISSING')
    for (const name of ['x-xsrf-token', 'csrf-token', 'x_csrf_token', 'x-csrf-token-']) {
      expect(await send({ headers: { [name]: csrf } })).toBe('CSRF_MISSING')
    }
    expect(await send({ path: `/?csrf_token=${csrf}&x-csrf-token=${csrf}` })).toBe('CSRF_MISSING')
  })

  ownAttack('the value of another session, of the same user or of the attacker', async () => {
    const { tokens, csrf, sendCsrf } = createVictim()
    expect(await sendCsrf(csrf)).toBe('ok')
    const values = new Set([csrf])
    for (const uid of ['ada', 'mallory']) {
      const pair = await tokens.sessions.open({ uid })
      for (const token of [pair.accessToken, pair.refreshToken, tokens.createAccessToken({ uid })]) {
        values.add(csrfOf(token))
        expect(await sendCsrf(csrfOf(token))).toBe('CSRF_MISMATCH')
      }
    }
    // One for each session, and one for each token that was made alone.
    expect(values.size).toBe(5)
  })

  ownAttack(
    'the value of a refresh token of another session for the access token, and the other way round',
    async () => {
      const { tokens, csrf, refresh, send } = createVictim()
      const headersOf = (value: string) => ({ headers: { 'x-csrf-token': value } })
      expect(await send(headersOf(csrf))).toBe('ok')
      expect(await send(headersOf(csrfOf(refresh)), tokens.refreshTokenRequired)).toBe('ok')
      expect(await send(headersOf(csrfOf(refresh)))).toBe('CSRF_MISMATCH')
      expect(await send(headersOf(csrf), tokens.refreshTokenRequired)).toBe('CSRF_MISMATCH')
      expect(await send(headersOf(csrfOf(refresh)), tokens.tokenRequired)).toBe('CSRF_MISMATCH')
    },
  )

  ownAttack('the right value, doubled, lengthened, in a list or in another alphabet', async () => {
    const { tokens, cookies, csrf, sendCsrf } = createVictim()
    const cookie = `access_token_cookie=${cookies.access_token_cookie}`
    for (const value of [
      `${csrf}A`,
      `${csrf}=`,
      `A${csrf}`,
      csrf.slice(0, -1),
      `${csrf},${csrf}`,
      `"${csrf}"`,
    ]) {
      expect(await sendCsrf(value)).toBe('CSRF_MISMATCH')
    }
    const check = (value: unknown): Promise<string> => {
      const headers = { cookie, 'x-csrf-token': value } as NodeRequest['headers']
      return outcomeOf(tokens.accessTokenRequired({ method: 'POST', headers }))
    }
    expect(await check(csrf)).toBe('ok')
    const wide = csrf.replaceAll(/[!-~]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0))
    const wrapped = String.fromCharCode(...[...csrf].map((letter) => letter.charCodeAt(0) + 256))
    for (const value of [[csrf, csrf], ['', csrf], wide, wrapped, `${csrf}\0`, ` ${csrf}\u00A0`]) {
      expect(await check(value), JSON.stringify(value)).toBe('CSRF_MISMATCH')
    }
    for (const value of ['', [], null, undefined]) expect(await check(value)).toBe('CSRF_MISSING')
    const lines = [
      ['Cookie', cookie],
      ['X-CSRF-Token', csrf],
      ['x-csrf-token', 'x'],
    ] as const
    const overSocket = (count: number): Promise<string> =>
      receive(toHttpText('POST /', lines.slice(0, count)), (request) =>
        outcomeOf(tokens.accessTokenRequired(request)),
      )
    expect(await overSocket(2)).toBe('ok')
    expect(await overSocket(3)).toBe('CSRF_MISMATCH')
  })

  ownAttack('a method in another case, without a name, or overridden', async () => {
    const { tokens, cookies, csrf, send } = createVictim()
    const cookie = `access_token_cookie=${cookies.access_token_cookie}`
    for (const method of ['POST', 'post', 'pOsT', 'Put', 'patch', 'delete', '', undefined]) {
      const check = (headers: NodeRequest['headers']): Promise<string> =>
        outcomeOf(tokens.accessTokenRequired({ method, headers: { cookie, ...headers } }))
      expect(await check({ 'x-csrf-token': csrf })).toBe('ok')
      expect(await check({})).toBe('CSRF_MISSING')
    }
    for (const name of [
      'x-http-method-override',
      'x-http-method',
      'x-method-override',
      'x-original-method',
    ]) {
      const headers = { [name]: 'GET', 'x-original-url': '/' }
      expect(await send({ headers, path: '/?_method=GET' })).toBe('CSRF_MISSING')
      expect(await send({ headers: { ...headers, 'x-csrf-token': csrf } })).toBe('ok')
    }
    const body = JSON.stringify({ _method: 'GET' })
    expect(await send({ body, headers: { 'content-type': 'application/json' } })).toBe('CSRF_MISSING')
  })

  ownAttack('form fields: lists, inherited names, and content types that are no form', async () => {
    const { csrf, post } = createVictim({ JWT_CSRF_CHECK_FORM: true })
    expect(await post(`csrf_token=${csrf}`)).toBe('ok')
    expect(await post(`csrf_token=${csrf}`, { 'x-csrf-token': 'x' })).toBe('CSRF_MISMATCH')
    expect(await post('csrf_token=x')).toBe('CSRF_MISMATCH')
    for (const body of [
      `csrf_token=${csrf}&csrf_token=x`,
      `csrf_token=${csrf}&csrf_token=${csrf}`,
      `csrf_token[]=${csrf}`,
      `__proto__[csrf_token]=${csrf}`,
      `__proto__.csrf_token=${csrf}`,
      `Csrf_token=${csrf}`,
      'csrf_token=',
      'csrf_token',
      '',
    ]) {
      expect(await post(body), body).toBe('CSRF_MISSING')
    }
    for (const type of [
      'text/plain',
      `text/plain; ${FORM}`,
      'application/json',
      `${FORM}x`,
      `x-${FORM}`,
      '',
    ]) {
      expect(await post(`csrf_token=${csrf}`, { 'content-type': type })).toBe('CSRF_MISSING')
      const json = JSON.stringify({ csrf_token: csrf })
      expect(await post(json, { 'content-type': type })).toBe('CSRF_MISSING')
    }
    // Where forms are not asked for, they are not believed.
    const strict = createVictim()
    expect(await strict.post(`csrf_token=${strict.csrf}`)).toBe('CSRF_MISSING')
  })

  ownAttack('a token that never had a value, put into a cookie', async () => {
    const { send, csrf } = createVictim()
    const bare = createManager().tokens.createAccessToken({ uid: 'ada' })
    const cookies = { access_token_cookie: bare }
    expect(await send({ cookies, method: 'GET' })).toBe('ok')
    for (const value of ['undefined', 'null', 'x', csrf]) {
      expect(await send({ cookies, headers: { 'x-csrf-token': value } })).toBe('CSRF_MISMATCH')
    }
    expect(await send({ cookies })).toBe('CSRF_MISSING')
    expect(await send({ cookies, headers: { 'x-csrf-token': '' } })).toBe('CSRF_MISSING')
  })
})
