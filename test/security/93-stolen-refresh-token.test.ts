import { expect } from 'vitest'
import { createImplicitRefresh } from '../../packages/tokenlib/src/sessions/implicit-refresh.js'
import { openToken, withBearer } from '../helpers/manager.js'
import { createJsonRequest } from '../helpers/requests.js'
import { outcomeOf, toPair } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { createProver, createView, openBound, PUBLIC_URL } from './harness/prover.js'

const COOKIES = {
  JWT_TOKEN_LOCATION: ['headers', 'cookies', 'json'],
  JWT_COOKIE_CSRF_PROTECT: false,
  JWT_REFRESH_COOKIE_PATH: '/',
} as const

describeAttacks('a stolen refresh token that is bound to a key (RFC 9449 §5, RFC 9700 §4.14)', () => {
  ownAttack('without a proof, and with that of the thief, wherever it is sent', async () => {
    const { tokens, refreshToken, client, createRequest } = await openBound({ config: COOKIES })
    const thief = createProver()
    const json = (dpop?: string) => {
      const request = createJsonRequest({ refresh_token: refreshToken })
      if (dpop !== undefined) request.headers.set('dpop', dpop)
      return request
    }
    const cookie = `refresh_token_cookie=${refreshToken}`
    for (const attempt of [
      () => tokens.sessions.refresh(refreshToken),
      () => tokens.sessions.refresh(withBearer(refreshToken)),
      () => tokens.sessions.refresh(json()),
      () => tokens.sessions.refresh(createView({ cookie })),
      () => tokens.sessions.refresh(refreshToken, { proofOf: withBearer(refreshToken) }),
    ]) {
      expect(await outcomeOf(attempt())).toBe('PROOF_REQUIRED')
    }
    const forged = (method = 'GET') => thief.prove({ token: refreshToken, method })
    const sent = { token: refreshToken }
    for (const attempt of [
      () => tokens.sessions.refresh(createRequest(forged(), sent)),
      () => tokens.sessions.refresh(json(forged('POST'))),
      () => tokens.sessions.refresh(createView({ cookie, dpop: forged() })),
      () => tokens.sessions.refresh(refreshToken, { proofOf: createRequest(forged(), sent) }),
      // The proof of the client, of another request or for another token.
      () =>
        tokens.sessions.refresh(
          createRequest(client.prove({ token: refreshToken, url: `${PUBLIC_URL}/x` }), sent),
        ),
      () => tokens.sessions.refresh(createRequest(client.prove(), sent)),
    ]) {
      expect(await outcomeOf(attempt())).toBe('PROOF_INVALID')
    }
    // None of it has used the token up, or ended its session.
    const own = createRequest(client.prove({ token: refreshToken }), sent)
    expect(await outcomeOf(tokens.sessions.refresh(own))).toBe('ok')
  })

  ownAttack('a refresh that moves the session to another key', async () => {
    const { tokens, client, clock, logIn, createRequest } = await openBound({
      config: { JWT_REFRESH_GRACE: 0 },
    })
    const thief = createProver()
    let { refreshToken } = await logIn()
    for (let round = 0; round < 3; round++) {
      clock.seconds += 60
      const claims = { iat: clock.seconds, cnf: { jkt: thief.jkt }, jkt: thief.jkt }
      const proof = client.prove({
        token: refreshToken,
        claims,
        header: { jkt: thief.jkt, cnf: { jkt: thief.jkt } },
      })
      const pair = toPair(await tokens.sessions.refresh(createRequest(proof, { token: refreshToken })))
      for (const token of [pair.accessToken, pair.refreshToken]) {
        expect(openToken(token).claims['cnf']).toEqual({ jkt: client.jkt })
      }
      expect(pair.tokenType).toBe('DPoP')
      ;({ refreshToken } = pair)
    }
  })

  ownAttack(
    'a refresh token that was used before still ends its session, for anyone who has the key alone',
    async () => {
      const { tokens, client, clock, refreshToken, createRequest } = await openBound({
        config: { JWT_REFRESH_GRACE: 0 },
      })
      const thief = createProver()
      const refresh = (token: string, prover = client) => {
        const proof = prover.prove({ token, claims: { iat: clock.seconds } })
        return tokens.sessions.refresh(createRequest(proof, { token }))
      }
      clock.seconds += 60
      const { refreshToken: second } = toPair(await refresh(refreshToken))
      clock.seconds += 60
      const { refreshToken: third } = toPair(await refresh(second))
      clock.seconds += 60
      // A thief without the key must not be able to log the user out.
      expect(await outcomeOf(refresh(refreshToken, thief))).toBe('PROOF_INVALID')
      expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('PROOF_REQUIRED')
      const { refreshToken: fourth } = toPair(await refresh(third))
      clock.seconds += 60
      expect(await outcomeOf(refresh(refreshToken))).toBe('REFRESH_TOKEN_REUSED')
      expect(await outcomeOf(refresh(fourth))).toBe('TOKEN_REVOKED')
    },
  )

  ownAttack('fifty refreshes with one proof have one successor', async () => {
    const { tokens, client, refreshToken, createRequest } = await openBound()
    const proof = client.prove({ token: refreshToken })
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () =>
        outcomeOf(tokens.sessions.refresh(createRequest(proof, { token: refreshToken }))),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'PROOF_REUSED')).toHaveLength(49)
  })

  ownAttack('the refresh of a page, which nobody has asked for', async () => {
    const { tokens, refreshToken, client } = await openBound({ config: COOKIES })
    const refresh = createImplicitRefresh(tokens)
    const cookie = `refresh_token_cookie=${refreshToken}`
    expect(await refresh(createView({ cookie }))).toBeNull()
    expect(await refresh(createView({ cookie, dpop: createProver().prove() }))).toBeNull()
    expect(await refresh(createView({ cookie, dpop: client.prove({ token: refreshToken }) }))).not.toBeNull()
  })

  ownAttack('a session of the thief under the key of somebody else, or under two', async () => {
    const { tokens, client } = await openBound()
    const thief = createProver()
    const open = (dpop: string | null) => {
      const request = new Request(`${PUBLIC_URL}/`, { headers: dpop === null ? {} : { dpop } })
      return outcomeOf(tokens.sessions.open({ uid: 'mallory' }, { proofOf: request }))
    }
    expect(await open(null)).toBe('PROOF_REQUIRED')
    expect(await open(thief.prove({ header: { jwk: client.jwk } }))).toBe('PROOF_INVALID')
    expect(await open(`${thief.prove()}, ${client.prove()}`)).toBe('PROOF_INVALID')
    expect(await open(client.prove({ method: 'POST' }))).toBe('PROOF_INVALID')
    const copied = client.prove()
    expect(await open(copied)).toBe('ok')
    expect(await open(copied)).toBe('PROOF_REUSED')
    expect(await tokens.sessions.list('mallory')).toHaveLength(1)
    // Nor does a claim bind a token.
    for (const claims of [{ cnf: { jkt: client.jkt } }, { cnf: null }]) {
      expect(() => tokens.createAccessToken({ uid: 'mallory', ...claims })).toThrow()
      expect(await outcomeOf(tokens.sessions.open({ uid: 'mallory', ...claims }))).not.toBe('ok')
    }
  })
})
