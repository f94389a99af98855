import { expect } from 'vitest'
import { TokenManager } from '../../packages/tokenlib/src/index.js'
import { enforce, handleErrors } from '../../packages/tokenlib/src/frameworks/fetch.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { flipS, NOW } from './harness/forge.js'
import { createProver, openBound, PUBLIC_URL } from './harness/prover.js'

const COUNT = 50

const countOf = (outcomes: readonly string[], outcome: string): number =>
  outcomes.filter((each) => each === outcome).length

describeAttacks('a proof that is used twice (RFC 9449 §11.1)', () => {
  ownAttack('copies of a request, one after another and all at once', async () => {
    const { prove, call } = await openBound()
    const proof = prove()
    expect(await call(proof)).toBe('ok')
    expect(await call(proof)).toBe('PROOF_REUSED')
    const copied = prove()
    const outcomes = await Promise.all(Array.from({ length: COUNT }, () => call(copied)))
    expect(countOf(outcomes, 'ok')).toBe(1)
    expect(countOf(outcomes, 'PROOF_REUSED')).toBe(COUNT - 1)
  })

  ownAttack('the other signature with the same r, and the same id in another proof', async () => {
    for (const algorithm of ['ES256', 'ES384', 'ES512']) {
      const { client, prove, call } = await openBound({ client: createProver(algorithm) })
      const proof = prove()
      const at = proof.lastIndexOf('.') + 1
      const flipped = flipS(Buffer.from(proof.slice(at), 'base64url'), algorithm)
      const other = proof.slice(0, at) + flipped.toString('base64url')
      expect(other).not.toBe(proof)
      // Both are signatures of the client, so either may come first.
      expect(await call(other)).toBe('ok')
      expect(await call(proof)).toBe('PROOF_REUSED')
      const claims = { jti: 'chosen' }
      expect(await call(prove({ claims }))).toBe('ok')
      expect(await call(prove({ claims, method: 'POST' }), { method: 'POST' })).toBe('PROOF_REUSED')
      expect(await call(prove({ claims, header: { kid: 'x' } }))).toBe('PROOF_REUSED')
      expect(await call(prove({ claims, header: { jwk: { ...client.jwk, alg: algorithm } } }))).toBe(
        'PROOF_REUSED',
      )
    }
  })

  ownAttack('a proof that is kept until nobody remembers it', async () => {
    const { prove, call, clock } = await openBound()
    // Made by a clock that is as far ahead as it may be, so that the proof can be used for as long as possible.
    const proof = prove({ claims: { iat: NOW + 5 } })
    expect(await call(proof)).toBe('ok')
    for (let second = 1; second <= 200; second++) {
      clock.seconds = NOW + second
      expect(await call(proof), String(second)).toBe(second <= 65 ? 'PROOF_REUSED' : 'PROOF_INVALID')
    }
  })

  ownAttack('ids that nobody can choose for another key', async () => {
    const { prove, call, logIn } = await openBound()
    const thief = createProver()
    const { accessToken } = await logIn(thief)
    const jti = 'the-id-of-the-next-proof'
    const used = thief.prove({ token: accessToken, claims: { jti } })
    expect(await call(used, { token: accessToken })).toBe('ok')
    expect(await call(prove({ claims: { jti } }))).toBe('ok')
  })

  ownAttack('ids of any length and in any alphabet, which stay apart', async () => {
    const { client, prove, call } = await openBound()
    const ids = [
      'a',
      'A',
      'a ',
      ' a',
      '\u00e9',
      'e\u0301',
      '\0',
      '\0\0',
      'a\0',
      '\u{1F511}',
      '__proto__',
      'constructor',
      'dpop:a',
      `${client.jkt}.a`,
      'a'.repeat(255),
      'a'.repeat(256),
    ]
    for (const jti of ids) expect(await call(prove({ claims: { jti } })), jti).toBe('ok')
    for (const jti of ids) expect(await call(prove({ claims: { jti } })), jti).toBe('PROOF_REUSED')
    for (const jti of [undefined, null, '', 7, true, ['a'], { id: 'a' }, 'a'.repeat(257), 'a'.repeat(2000)]) {
      expect(await call(prove({ claims: { jti } })), JSON.stringify(jti)).toBe('PROOF_INVALID')
    }
  })

  ownAttack(
    'one proof at every door: routes, login, refresh, sockets, and tokens by themselves',
    async () => {
      const { tokens, prove, refreshToken, accessToken, createRequest, client } = await openBound()
      const doors = [
        (request: Request) => tokens.accessTokenRequired(request),
        (request: Request) => tokens.require({ optional: true })(request),
        (request: Request) => tokens.verify(accessToken, { proofOf: request }),
        (request: Request) => tokens.sockets.authenticate(request),
        (request: Request) => tokens.sessions.open({ uid: 'ada' }, { proofOf: request }),
      ]
      for (const first of doors) {
        const proof = prove()
        expect(await outcomeOf(first(createRequest(proof)))).toBe('ok')
        for (const second of doors) expect(await outcomeOf(second(createRequest(proof)))).toBe('PROOF_REUSED')
      }
      const refresh = client.prove({ token: refreshToken })
      const request = { token: refreshToken }
      expect(await outcomeOf(tokens.sessions.refresh(createRequest(refresh, request)))).toBe('ok')
      expect(await outcomeOf(tokens.sessions.refresh(createRequest(refresh, request)))).toBe('PROOF_REUSED')
    },
  )

  ownAttack(
    'a proof of a refused request is not used up, and that of a request with many checks once',
    async () => {
      const { tokens, prove, createRequest } = await openBound()
      const request = createRequest(prove())
      for (const refusing of [
        tokens.require({ scopes: ['admin'] }),
        tokens.freshTokenRequired,
        tokens.refreshTokenRequired,
      ]) {
        expect(await outcomeOf(refusing(new Request(request)))).not.toBe('ok')
      }
      // As GraphQL resolvers do: thousands of checks of one request.
      const fields = Array.from({ length: 200 }, () => outcomeOf(tokens.accessTokenRequired(request)))
      expect(new Set(await Promise.all(fields))).toEqual(new Set(['ok']))
      expect(await outcomeOf(tokens.accessTokenRequired(new Request(request)))).toBe('PROOF_REUSED')
      const route = handleErrors()(
        enforce(
          tokens.accessTokenRequired,
          tokens.tokenRequired,
          tokens.require({ proof: 'dpop' }),
        )(() => Response.json('open')),
      )
      const once = createRequest(prove())
      expect((await route(new Request(once))).status).toBe(200)
      expect((await route(new Request(once))).status).toBe(401)
    },
  )

  ownAttack('a store that fails, or answers with something else than yes or no', async () => {
    for (const spend of [
      () => Promise.reject(new Error('connection lost')),
      () => {
        throw new Error('connection lost')
      },
      async () => undefined,
      async () => null,
      async () => 1,
      async () => 'OK',
      async () => 'false',
      async () => ({}),
    ]) {
      const { prove, call, store } = await openBound()
      const working = store.spend
      store.spend = spend as () => Promise<boolean>
      const proof = prove()
      expect(await call(proof)).toBe('REVOCATION_UNAVAILABLE')
      Object.assign(store, { spend: working })
      expect(await call(proof)).toBe('ok')
    }
  })

  ownAttack(
    'the same request checked by two managers: one store accepts it once, two stores once each',
    async () => {
      const { create, prove, createRequest, tokens } = await openBound()
      const request = createRequest(prove())
      expect(await outcomeOf(tokens.accessTokenRequired(request))).toBe('ok')
      expect(await outcomeOf(create().accessTokenRequired(request))).toBe('PROOF_REUSED')
      const apart = new TokenManager({
        config: tokens.config,
        clock: () => NOW * 1000,
        store: createMemoryStore({ clock: () => NOW * 1000 }),
        dpop: { publicUrl: PUBLIC_URL },
      })
      const again = createRequest(prove())
      expect(await outcomeOf(tokens.accessTokenRequired(again))).toBe('ok')
      expect(await outcomeOf(apart.accessTokenRequired(again))).toBe('ok')
      expect(await outcomeOf(apart.accessTokenRequired(new Request(again)))).toBe('PROOF_REUSED')
    },
  )
})
