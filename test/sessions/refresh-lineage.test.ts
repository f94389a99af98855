import { describe, expect, onTestFinished, test } from 'vitest'
import { refreshImplicitly, setRefreshCookies, type TokenManager } from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { openToken, withBearer } from '../helpers/manager.js'
import { advance, createRevocable, outcomeOf } from '../helpers/revocable.js'
import { signClaims } from '../helpers/sign-claims.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const COOKIES = { JWT_TOKEN_LOCATION: ['headers', 'cookies'] } as const
const claimsOf = (token: string) => openToken(token).claims

/** Two sessions, of Ada and of Grace, and what happens to them. Grace's has moved on once. */
async function open() {
  const revocable = createRevocable(COOKIES)
  const { tokens } = revocable
  const ada = await tokens.sessions.open({ uid: 'ada' })
  const login = await tokens.sessions.open({ uid: 'grace' })
  const grace = await advance(revocable, login.refreshToken)
  const ended: unknown[] = []
  onTestFinished(tokens.on('revoked', ({ id, reason }) => ended.push([id, reason])))
  const isAlive = async (accessToken: string): Promise<boolean> =>
    (await outcomeOf(tokens.verify(accessToken))) === 'ok'
  return { ...revocable, ada, grace, ended, isAlive }
}

const WAYS_IN: readonly (readonly [string, (tokens: TokenManager, token: string) => Promise<unknown>])[] = [
  ['refresh', (tokens, token) => tokens.sessions.refresh(token)],
  ['refresh of a request', (tokens, token) => tokens.sessions.refresh(withBearer(token))],
  ['refreshTokenRequired', (tokens, token) => tokens.refreshTokenRequired(withBearer(token))],
  ['tokenRequired', (tokens, token) => tokens.tokenRequired(withBearer(token))],
  ['verify', (tokens, token) => tokens.verify(token, { type: 'refresh' })],
  ['inspectToken', (tokens, token) => internalsOf(tokens).inspectToken(token)],
]

describe('a refresh token without a parent ends nothing', () => {
  test('one of createRefreshToken belongs to no session', async () => {
    const { tokens, ended } = await open()
    const token = tokens.createRefreshToken({ uid: 'ada' })
    for (const [, present] of WAYS_IN.slice(0, 2)) {
      await expect(present(tokens, token)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
    // It is genuine all the same.
    for (const [, present] of WAYS_IN.slice(2)) expect(await outcomeOf(present(tokens, token))).toBe('ok')
    expect([ended, await tokens.sessions.list('ada')]).toEqual([[], [expect.anything()]])
  })

  describe.each(WAYS_IN)('%s', (_way, present) => {
    test.each<[string, (claims: Record<string, unknown>) => object]>([
      ['one of an older version', ({ par: _par, sat: _sat, ...claims }) => ({ ...claims, gen: 0 })],
      ['one that has been refreshed there', ({ par: _par, sat: _sat, ...claims }) => ({ ...claims, gen: 7 })],
      ['one without a time of the store', ({ sat: _sat, ...claims }) => claims],
      ['one without an id of its own', ({ jti: _jti, ...claims }) => claims],
    ])('%s', async (_what, change) => {
      const { tokens, ada, ended, isAlive } = await open()
      const token = signClaims(change(claimsOf(ada.refreshToken)))
      await expect(present(tokens, token)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
      expect([ended, await isAlive(ada.accessToken)]).toEqual([[], true])
    })
  })

  test('in a cookie, it is refused by the session routes and passed by an implicit refresh; the cookie stays', async () => {
    const { tokens, ada, ended } = await open()
    const { par: _par, sat: _sat, ...claims } = claimsOf(ada.refreshToken)
    const token = signClaims(claims)
    const [cookie = ''] = setRefreshCookies(tokens, token)
    const headers = { cookie: cookie.split(';', 1)[0] as string, 'x-csrf-token': String(claims['csrf']) }
    const routes = createSessionRoutes(tokens, { logIn: () => null })
    const answer = await routes.refresh(
      new Request('http://localhost/auth/refresh', { method: 'POST', headers }),
    )
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([401, []])
    expect(await answer.json()).toMatchObject({ code: 'TOKEN_INVALID' })
    expect(await refreshImplicitly(tokens, new Request('http://localhost/', { headers }))).toBeNull()
    expect(ended).toEqual([])
  })
})

describe('a forged or foreign parent', () => {
  test.each<[string, (claims: Record<string, unknown>, foreign: string) => object]>([
    ['a parent of another session', (claims, foreign) => ({ ...claims, par: foreign })],
    ['a parent that never was', (claims) => ({ ...claims, par: 'x'.repeat(22) })],
    ['no parent', (claims) => ({ ...claims, par: '' })],
    ['a later generation', (claims) => ({ ...claims, gen: 99 })],
    ['a later time', (claims) => ({ ...claims, sat: Number.MAX_SAFE_INTEGER })],
  ])('cannot exist, because it is signed: %s', async (_what, change) => {
    const { tokens, ada, grace, ended, isAlive } = await open()
    const forged = change(claimsOf(grace.refreshToken), String(claimsOf(ada.refreshToken)['jti']))
    const [header, , signature] = grace.refreshToken.split('.')
    const kept = `${header}.${Buffer.from(JSON.stringify(forged)).toString('base64url')}.${signature}`
    for (const token of [
      kept,
      signClaims(forged, 'a secret of somebody else, which is as long as the right one'),
    ]) {
      for (const [, present] of WAYS_IN) {
        expect(await outcomeOf(present(tokens, token))).toBe('TOKEN_SIGNATURE_INVALID')
      }
    }
    expect([ended, await isAlive(ada.accessToken), await isAlive(grace.accessToken)]).toEqual([
      [],
      true,
      true,
    ])
  })

  test.each([
    ['par', 7],
    ['par', null],
    ['par', ['x']],
    ['sat', 'now'],
    ['sat', null],
    ['gen', -1],
    ['gen', 1.5],
  ])('one that is no claim of its kind is no token, no matter who signed it: %s %j', async (name, value) => {
    const { tokens, ada, ended } = await open()
    const token = signClaims({ ...claimsOf(ada.refreshToken), [name]: value })
    for (const [, present] of WAYS_IN) expect(await outcomeOf(present(tokens, token))).toBe('TOKEN_INVALID')
    expect(ended).toEqual([])
  })

  // Only the owner of the key can make these, and the owner can make any token. They show what the table says about a
  // token that is neither `current`, nor one of its children, nor one of its siblings.
  test('with the right key, a parent of another session ends the session that the token names, and no other', async () => {
    const { tokens, ada, grace, ended, isAlive } = await open()
    const par = claimsOf(ada.refreshToken)['jti']
    const token = signClaims({ ...claimsOf(grace.refreshToken), par })
    expect(await outcomeOf(tokens.sessions.refresh(token))).toBe('REFRESH_TOKEN_REUSED')
    expect(ended).toEqual([[claimsOf(grace.refreshToken)['sid'], 'reuse']])
    expect([await isAlive(ada.accessToken), await isAlive(grace.accessToken)]).toEqual([true, false])
  })

  test('with the right key and far ahead of the store, it counts as what the store has lost', async () => {
    const { tokens, clock, ada, grace, ended, isAlive } = await open()
    const par = claimsOf(ada.refreshToken)['jti']
    const token = signClaims({ ...claimsOf(grace.refreshToken), par, gen: 9, sat: clock() - 60_000 })
    expect(await outcomeOf(tokens.sessions.refresh(token))).toBe('ok')
    expect([ended, await isAlive(ada.accessToken), await isAlive(grace.accessToken)]).toEqual([
      [],
      true,
      true,
    ])
  })
})
