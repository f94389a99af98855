import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createForeign } from '../helpers/foreign.js'
import { createClock, createManager, NOW, SECRET } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'

const bearer = (token: string) =>
  new Request('https://api.example/', { headers: { authorization: `Bearer ${token}` } })

describe('a policy with the age of the login', () => {
  test('accepts a fresh token until the login is that long ago', async () => {
    const clock = createClock()
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }), clock })
    const token = tokens.createAccessToken({ uid: 'ada' }, { fresh: true, expiresIn: '1h' })
    const dependency = tokens.require({ fresh: '2m' })
    // Twice: the second time by the fast lane.
    for (const _ of [1, 2]) expect(await outcomeOf(dependency(bearer(token)))).toBe('ok')
    clock.seconds += 119
    expect(await outcomeOf(dependency(bearer(token)))).toBe('ok')
    clock.seconds += 1
    expect(await outcomeOf(dependency(bearer(token)))).toBe('FRESH_TOKEN_REQUIRED')
    expect(await outcomeOf(tokens.verify(token, { fresh: 120 }))).toBe('FRESH_TOKEN_REQUIRED')
    expect(await outcomeOf(tokens.verify(token, { fresh: 'PT3M' }))).toBe('ok')
    expect(await outcomeOf(tokens.freshTokenRequired(bearer(token)))).toBe('ok')
  })

  test('accepts no token whose own freshness has ended, and none that was never fresh', async () => {
    const clock = createClock()
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }), clock })
    const short = tokens.createAccessToken({ uid: 'ada' }, { fresh: '1m' })
    const stale = tokens.createAccessToken({ uid: 'ada' })
    expect(await outcomeOf(tokens.verify(stale, { fresh: '2m' }))).toBe('FRESH_TOKEN_REQUIRED')
    clock.seconds += 61
    expect(await outcomeOf(tokens.verify(short, { fresh: '2m' }))).toBe('FRESH_TOKEN_REQUIRED')
  })

  test.each([0, -1, '', 'soon', Number.NaN, null, []])('of %o is refused at construction', (fresh) => {
    const { tokens } = createManager()
    expect(() => tokens.require({ fresh: fresh as number })).toThrow(
      'fresh must be true, false or a duration',
    )
  })

  test('counts from the auth_time of another issuer, also where a schema leaves that out', async () => {
    const foreign = createForeign('https://issuer.example')
    const clock = createClock()
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
      clock,
      claims: z.object({}),
      issuers: [foreign.trust({ freshFor: '1h' })],
    })
    // The token was issued just now, for a login ten minutes ago.
    const token = foreign.sign({ iat: NOW, auth_time: NOW - 600 })
    expect(await outcomeOf(tokens.verify(token, { fresh: '11m' }))).toBe('ok')
    expect(await outcomeOf(tokens.verify(token, { fresh: '2m' }))).toBe('FRESH_TOKEN_REQUIRED')
    const dependency = tokens.require({ fresh: '2m' })
    for (const _ of [1, 2]) expect(await outcomeOf(dependency(bearer(token)))).toBe('FRESH_TOKEN_REQUIRED')
  })
})
