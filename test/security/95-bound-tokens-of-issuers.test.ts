import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { DpopOptions } from '../../packages/tokenlib/src/proofs/dpop.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createForeign, flipToken, type Foreign } from '../helpers/foreign.js'
import { createClock, PATIENT, SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { createProver, createView, PUBLIC_URL } from './harness/prover.js'

const A = createForeign('https://a.example')
const B = createForeign('https://b.example', { algorithm: 'RS256' })

function open(dpop: Partial<DpopOptions> | null = {}, issuer: Foreign = A) {
  const clock = createClock()
  const client = createProver()
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT }),
    clock,
    store: createMemoryStore({ clock }),
    issuers: [issuer.trust({ subjectPrefix: 'a:' }), B.trust({ subjectPrefix: 'b:' })],
    ...(dpop !== null && { dpop: { publicUrl: PUBLIC_URL, ...dpop } }),
  })
  const call = (token: string, proof: string | null, scheme = 'DPoP') => {
    const headers = { authorization: `${scheme} ${token}`, ...(proof !== null && { dpop: proof }) }
    return outcomeOf(tokens.accessTokenRequired(createView(headers)))
  }
  return { tokens, client, call, clock }
}

describeAttacks('bound tokens of other issuers (RFC 9449 §6.1 and §7)', () => {
  ownAttack('pass with a proof of their key, and in no other way', async () => {
    const { tokens, client, call } = open()
    const thief = createProver()
    for (const issuer of [A, B]) {
      const token = issuer.sign({ cnf: { jkt: client.jkt } })
      for (let times = 0; times < 2; times++) {
        const proof = client.prove({ token })
        expect(await call(token, proof)).toBe('ok')
        expect(await call(token, proof)).toBe('PROOF_REUSED')
        expect(await call(token, null)).toBe('PROOF_REQUIRED')
        expect(await call(token, client.prove({ token }), 'Bearer')).toBe('PROOF_REQUIRED')
        expect(await call(token, null, 'Bearer')).toBe('PROOF_REQUIRED')
        expect(await call(token, thief.prove({ token }))).toBe('PROOF_INVALID')
        expect(await call(token, client.prove())).toBe('PROOF_INVALID')
        expect(await outcomeOf(tokens.verify(token))).toBe('PROOF_REQUIRED')
        expect(await outcomeOf(tokens.sockets.authenticate(withBearer(token)))).toBe('PROOF_REQUIRED')
      }
    }
    const payload = await tokens.require({ proof: 'dpop' })(
      createView(
        ((token) => ({ authorization: `DPoP ${token}`, dpop: client.prove({ token }) }))(
          A.sign({ cnf: { jkt: client.jkt } }),
        ),
      ),
    )
    expect(payload).toMatchObject({ sub: 'a:ada', cnf: { jkt: client.jkt } })
  })

  ownAttack('a token of one issuer with the proof for that of another', async () => {
    const { client, call } = open()
    const cnf = { jkt: client.jkt }
    const proof = client.prove({ token: A.sign({ cnf }) })
    expect(await call(B.sign({ cnf }), proof)).toBe('PROOF_INVALID')
  })

  ownAttack('the hash of a token is that of either of its signatures, and of nothing else', async () => {
    const { client, call } = open()
    for (const algorithm of ['ES256', 'ES384', 'ES512'] as const) {
      const issuer = createForeign('https://a.example', { algorithm })
      const { tokens, client: other } = open({}, issuer)
      const token = issuer.sign({ cnf: { jkt: other.jkt } })
      // A client has one of them, and hashes that one.
      for (const sent of [token, flipToken(token, algorithm)]) {
        const view = () => createView({ authorization: `DPoP ${sent}`, dpop: other.prove({ token: sent }) })
        expect(await outcomeOf(tokens.accessTokenRequired(view()))).toBe('ok')
        expect(await outcomeOf(tokens.verify(sent, { proofOf: view() }))).toBe('ok')
        expect(await outcomeOf(tokens.sockets.authenticate(view()))).toBe('ok')
      }
    }
    const token = A.sign({ cnf: { jkt: client.jkt } })
    const other = A.sign({ cnf: { jkt: client.jkt }, jti: 'token-2' })
    for (const forged of [other, flipToken(other, 'ES256'), `${token}A`]) {
      expect(await call(token, client.prove({ token: forged }))).toBe('PROOF_INVALID')
    }
  })

  ownAttack('a confirmation that is no thumbprint', async () => {
    const { client, call } = open()
    for (const cnf of [
      null,
      {},
      [],
      client.jkt,
      { jwk: client.jwk },
      { jkt: '' },
      { kid: 'a' },
      { jkt: client.jkt, kid: 'a' },
    ]) {
      const token = A.sign({ cnf })
      for (const scheme of ['DPoP', 'Bearer']) {
        expect(await call(token, client.prove({ token }), scheme), JSON.stringify(cnf)).toBe('PROOF_REQUIRED')
      }
    }
  })

  ownAttack('unbound tokens under the scheme of bound ones, and where a proof is demanded', async () => {
    const { tokens, client, call } = open()
    const token = A.sign()
    expect(await call(token, null, 'Bearer')).toBe('ok')
    expect(await call(token, client.prove({ token }))).toBe('PROOF_INVALID')
    expect(await outcomeOf(tokens.require({ proof: 'dpop' })(withBearer(token)))).toBe('PROOF_REQUIRED')
    const strict = open({ required: true })
    expect(await strict.call(token, client.prove({ token }))).toBe('PROOF_REQUIRED')
    expect(await strict.call(token, null, 'Bearer')).toBe('PROOF_REQUIRED')
  })

  ownAttack('at a manager that checks no proofs', async () => {
    const { client, call, tokens } = open(null)
    const token = A.sign({ cnf: { jkt: client.jkt } })
    expect(await call(A.sign(), null, 'Bearer')).toBe('ok')
    expect(await call(token, client.prove({ token }), 'Bearer')).toBe('PROOF_REQUIRED')
    expect(await outcomeOf(tokens.verify(token))).toBe('PROOF_REQUIRED')
  })

  ownAttack('a token that Keycloak has typed DPoP, but not bound', async () => {
    const keycloak = createForeign('https://keycloak.example/realms/app')
    const { client, call } = open({}, keycloak)
    const sign = (claims: object) => keycloak.sign({ azp: 'app', ...claims }, { typ: 'JWT' })
    expect(await call(sign({ typ: 'Bearer' }), null, 'Bearer')).toBe('ok')
    const bound = sign({ typ: 'DPoP', cnf: { jkt: client.jkt } })
    expect(await call(bound, client.prove({ token: bound }))).toBe('ok')
    expect(await call(bound, client.prove({ token: bound }), 'Bearer')).toBe('PROOF_REQUIRED')
    const unbound = sign({ typ: 'DPoP' })
    for (const scheme of ['DPoP', 'Bearer']) {
      expect(await call(unbound, client.prove({ token: unbound }), scheme)).toBe('TOKEN_INVALID')
    }
  })
})
