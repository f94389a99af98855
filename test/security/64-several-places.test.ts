import { expect } from 'vitest'
import type { TokenLocation } from '../../packages/tokenlib/src/kit.js'
import { createManager } from '../helpers/manager.js'
import { createJsonRequest, createRequest, csrfOf } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'

const ALL: readonly TokenLocation[] = ['headers', 'cookies', 'json', 'query']
const PAIRS = ALL.flatMap((first) =>
  ALL.filter((one) => one !== first).map((second) => [first, second] as const),
)

/** Every order of a list. */
function ordersOf<Value>(values: readonly Value[]): Value[][] {
  if (values.length === 0) return [[]]
  return values.flatMap((first) =>
    ordersOf(values.filter((value) => value !== first)).map((rest) => [first, ...rest]),
  )
}

/** A POST that carries a token in each of these places, and the CSRF value of the one in the cookie. */
function carry({ headers, cookies, json, query }: Partial<Record<TokenLocation, string>>): Request {
  const csrf = cookies?.includes('.') ? csrfOf(cookies) : undefined
  return createRequest({
    method: 'POST',
    path: query === undefined ? '/' : `/?token=${query}`,
    headers: {
      'content-type': 'application/json',
      ...(headers !== undefined && { authorization: `Bearer ${headers}` }),
      ...(csrf !== undefined && { 'x-csrf-token': csrf }),
    },
    ...(cookies !== undefined && { cookies: { access_token_cookie: cookies } }),
    body: JSON.stringify(json === undefined ? {} : { access_token: json }),
  })
}

const createTokens = (...locations: readonly TokenLocation[]) =>
  createManager({ JWT_TOKEN_LOCATION: [...locations] }).tokens
// With a CSRF value, which tokens have only where cookies are read.
const mint = (uid = 'ada'): string => createTokens('cookies').createAccessToken({ uid })

describeAttacks('several tokens in one request (RFC 6750 §2)', () => {
  ownAttack('a good token in a later place does not save a bad one in an earlier', async () => {
    for (const [first, second] of PAIRS) {
      const tokens = createTokens(first, second)
      const good = mint()
      expect(await outcomeOf(tokens.accessTokenRequired(carry({ [second]: good })))).toBe('ok')
      for (const bad of ['garbage', `${good.slice(0, -4)}AAAA`, `${good}x`]) {
        const outcome = await outcomeOf(tokens.accessTokenRequired(carry({ [first]: bad, [second]: good })))
        expect(outcome, `${first}, then ${second}`).toMatch(/^TOKEN_(?:INVALID|SIGNATURE_INVALID)$/)
        // Where no token will do, a bad one does not.
        const optional = await outcomeOf(tokens.accessTokenOptional(carry({ [first]: bad, [second]: good })))
        expect(optional).toBe(outcome)
      }
    }
  })

  ownAttack('a good token in a later place does not save a revoked one in an earlier', async () => {
    for (const [first, second] of PAIRS) {
      const tokens = createTokens(first, second)
      const [good, revoked] = [mint(), mint()]
      tokens.setTokenBlocklist((token) => token === revoked)
      expect(await outcomeOf(tokens.accessTokenRequired(carry({ [first]: good, [second]: revoked })))).toBe(
        'ok',
      )
      expect(await outcomeOf(tokens.accessTokenRequired(carry({ [first]: revoked, [second]: good })))).toBe(
        'TOKEN_REVOKED',
      )
    }
  })

  ownAttack('what is checked is what the route gets, in every order of four places', async () => {
    const given = Object.fromEntries(ALL.map((location) => [location, mint(location)]))
    for (const order of ordersOf(ALL)) {
      const tokens = createTokens(...order)
      const asked: string[] = []
      tokens.setTokenBlocklist((token) => asked.push(token) === 0)
      tokens.setSubjectGetter((uid) => uid)
      const [first = 'headers'] = order
      const request = carry(given)
      expect((await tokens.accessTokenRequired(request)).sub).toBe(first)
      expect((await tokens.tokenRequired(request)).sub).toBe(first)
      expect(await tokens.getCurrentSubject(request)).toBe(first)
      expect(await tokens.getTokenFromRequest(request)).toMatchObject({
        token: given[first],
        location: first,
      })
      expect(new Set(asked)).toEqual(new Set([given[first]]))
    }
  })

  ownAttack('an empty token in one place does not lift the CSRF check of the cookie after it', async () => {
    const tokens = createTokens('headers', 'json', 'query', 'cookies')
    const token = mint()
    const empty = {
      headers: [{ authorization: 'Bearer ' }, { authorization: 'Bearer' }, { authorization: 'Basic x' }, {}],
      paths: ['/', '/?token', '/?token=', '/?token=#x'],
      bodies: ['', '{}', '{"access_token":""}', '{"access_token":null}', '[]', '{'],
    }
    for (const headers of empty.headers) {
      for (const path of empty.paths) {
        for (const body of empty.bodies) {
          const send = (csrf: Record<string, string>): Promise<string> => {
            const cookies = { access_token_cookie: token }
            const all = { 'content-type': 'application/json', ...headers, ...csrf }
            const request = createRequest({ method: 'POST', path, body, cookies, headers: all })
            return outcomeOf(tokens.accessTokenRequired(request))
          }
          expect(await send({ 'x-csrf-token': csrfOf(token) })).toBe('ok')
          expect(await send({})).toBe('CSRF_MISSING')
        }
      }
    }
  })

  ownAttack('two values in one place', async () => {
    const tokens = createTokens(...ALL)
    const [good, other] = [mint(), mint('mallory')]
    const check = (request: Request): Promise<string> => outcomeOf(tokens.accessTokenRequired(request))
    expect(await check(createRequest({ path: `/?a=1&token=${good}&b=2` }))).toBe('ok')
    expect(await check(createRequest({ path: `/?token=${good}&token=${other}` }))).toBe('TOKEN_INVALID')
    expect(await check(createRequest({ path: `/?token=${good}&token=` }))).toBe('TOKEN_INVALID')
    expect(await check(createRequest({ path: `/?token=&%74oken=${good}` }))).toBe('TOKEN_INVALID')
    expect(await check(createJsonRequest({ access_token: good }))).toBe('ok')
    for (const value of [[good], [good, other], { 0: good }, { token: good }, 1, true]) {
      expect(await check(createJsonRequest({ access_token: value }))).toBe('TOKEN_INVALID')
    }
  })

  ownAttack('a token that is inherited, nested or in a list is in no place at all', async () => {
    const tokens = createTokens('json')
    const good = mint()
    const check = (body: unknown, type?: string): Promise<string> =>
      outcomeOf(tokens.accessTokenRequired(createJsonRequest(body, type)))
    expect(await check({ access_token: good })).toBe('ok')
    for (const body of [
      `{"__proto__":{"access_token":"${good}"}}`,
      `{"constructor":{"prototype":{"access_token":"${good}"}}}`,
      `[{"access_token":"${good}"}]`,
      `{"data":{"access_token":"${good}"}}`,
      `"${good}"`,
      `{"Access_Token":"${good}"}`,
    ]) {
      expect(await check(body)).toBe('TOKEN_MISSING')
    }
    // What a form of another site can send without being asked first.
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      '',
    ]) {
      expect(await check({ access_token: good }, type)).toBe('TOKEN_MISSING')
    }
  })
})
