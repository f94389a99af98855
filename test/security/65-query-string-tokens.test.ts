import { inspect } from 'node:util'
import { expect } from 'vitest'
import { TokenConfig, toErrorResponse } from '../../packages/tokenlib/src/index.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { createJsonRequest, createRequest, receive, toHttpText } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'

const NAMES = [
  'token',
  'access_token',
  'jwt',
  'Authorization',
  'authorization',
  'bearer',
  'refresh_token',
  'auth',
]

describeAttacks('tokens in URLs, where logs and referrers show them (RFC 6750 §2.3, RFC 9700 §4.3.2)', () => {
  ownAttack('by default a token in the query, a form, a JSON body or a cookie is not read', async () => {
    const { tokens } = createManager()
    const good = tokens.createAccessToken({ uid: 'ada' })
    const check = (request: Request): Promise<string> => outcomeOf(tokens.tokenRequired(request))
    expect(await check(withBearer(good))).toBe('ok')
    for (const name of NAMES) {
      expect(await check(createRequest({ path: `/?${name}=${good}` }))).toBe('TOKEN_MISSING')
      expect(await check(createRequest({ path: `/;${name}=${good}` }))).toBe('TOKEN_MISSING')
      expect(await check(createRequest({ cookies: { [name]: good, access_token_cookie: good } }))).toBe(
        'TOKEN_MISSING',
      )
      expect(await check(createJsonRequest({ [name]: good }))).toBe('TOKEN_MISSING')
      const form = createRequest({ method: 'POST', body: new URLSearchParams({ [name]: good }) })
      expect(await check(form)).toBe('TOKEN_MISSING')
    }
    expect(new TokenConfig().JWT_TOKEN_LOCATION).toEqual(['headers'])
  })

  ownAttack('where queries are read, only one parameter of the exact name is', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['query'] })
    const good = tokens.createAccessToken({ uid: 'ada' })
    const check = (path: string): Promise<string> =>
      outcomeOf(tokens.accessTokenRequired(createRequest({ path })))
    expect(await check(`/?token=${good}`)).toBe('ok')
    for (const path of [
      `/token=${good}`,
      `/#token=${good}`,
      `/#?token=${good}`,
      `/?Token=${good}`,
      `/?token[]=${good}`,
      `/?token%00=${good}`,
      `/?%20token=${good}`,
      `/?a=1;token=${good}`,
      `/?a=?token=${good}`,
      `/?tokentoken=${good}`,
    ]) {
      expect(await check(path), path.replace(good, '…')).toBe('TOKEN_MISSING')
    }
    // Spellings of the value that a URL parser undoes are the token; any other is none.
    for (const value of [`${good}%00`, `${good}+`, `+${good}`, `${good}%0A`, good.replace('.', '%252E')]) {
      expect(await check(`/?token=${value}`)).toBe('TOKEN_INVALID')
    }
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(good)))).toBe('TOKEN_MISSING')
  })

  ownAttack('a fragment, or a whole URL, in the request line of a real connection', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['query'] })
    const good = tokens.createAccessToken({ uid: 'ada' })
    const send = (target: string): Promise<string> =>
      receive(toHttpText(`GET ${target}`, []), (request) => outcomeOf(tokens.accessTokenRequired(request)))
    expect(await send(`/?token=${good}`)).toBe('ok')
    expect(await send(`http://localhost/?token=${good}`)).toBe('ok')
    expect(await send(`/#?token=${good}`)).toBe('TOKEN_MISSING')
    expect(await send(`/x#&token=${good}`)).toBe('TOKEN_MISSING')
    expect(await send(`//host?token=${good}&token=x`)).toBe('TOKEN_INVALID')
  })

  ownAttack('a refusal repeats neither the URL nor the token in it', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['query'] })
    const shown: unknown[] = []
    tokens.on('rejected', (event) => shown.push(event))
    const bad = `${tokens.createAccessToken({ uid: 'ada' }).slice(0, -4)}AAAA`
    for (const path of [`/secret-path?token=${bad}`, `/secret-path?token=${bad}&token=${bad}`]) {
      const error: unknown = await tokens
        .accessTokenRequired(createRequest({ path }))
        .catch((thrown: unknown) => thrown)
      shown.push(error, toErrorResponse(error as Parameters<typeof toErrorResponse>[0]))
    }
    const text = inspect(shown, { depth: 10, showHidden: true })
    expect(text).toContain('TOKEN_SIGNATURE_INVALID')
    expect(text).not.toContain('secret-path')
    for (let at = 0; at + 8 <= bad.length; at++) expect(text).not.toContain(bad.slice(at, at + 8))
  })
})
