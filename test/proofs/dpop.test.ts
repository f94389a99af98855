import { beforeAll, describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import type { DpopOptions } from '../../packages/tokenlib/src/proofs/dpop.js'
import { enforce, handleErrors } from '../../packages/tokenlib/src/frameworks/fetch.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createDpopClient, PUBLIC_URL } from '../helpers/dpop.js'
import { createForeign, flipToken } from '../helpers/foreign.js'
import { createClock, openToken, PATIENT, SECRET, withBearer } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { outcomeOf } from '../helpers/revocable.js'

const NONCE_SECRET = 'a-secret-for-nonces-of-at-least-32-bytes'

let client: Awaited<ReturnType<typeof createDpopClient>>
let thief: typeof client

beforeAll(async () => {
  client = await createDpopClient()
  thief = await createDpopClient()
})

function open(dpop: Partial<DpopOptions> = {}, config: TokenConfigOptions = {}) {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, ...config }),
    clock,
    store,
    dpop: { publicUrl: PUBLIC_URL, ...dpop },
  })
  const logIn = async () => {
    const request = await client.request(null, { method: 'POST', url: `${PUBLIC_URL}/login` })
    return tokens.sessions.open({ uid: 'ada' }, { proofOf: request })
  }
  return { tokens, clock, store, logIn }
}

describe('a session that is bound to a key', () => {
  test('has both tokens bound to the key of the proof', async () => {
    const { logIn } = open()
    const { accessToken, refreshToken, tokenType } = await logIn()
    expect(tokenType).toBe('DPoP')
    expect(openToken(accessToken).claims['cnf']).toEqual({ jkt: client.jkt })
    expect(openToken(refreshToken).claims['cnf']).toEqual({ jkt: client.jkt })
  })

  test('calls routes with a proof', async () => {
    const { tokens, logIn } = open()
    const { accessToken } = await logIn()
    const payload = await tokens.accessTokenRequired(await client.request(accessToken))
    expect(payload.sub).toBe('ada')
    expect(payload.cnf).toEqual({ jkt: client.jkt })
  })

  test('is refreshed with a proof, and stays bound', async () => {
    const { tokens, clock, logIn } = open()
    let { refreshToken } = await logIn()
    for (let round = 0; round < 3; round++) {
      clock.seconds += 100
      const request = await client.request(refreshToken, { method: 'POST', claims: { iat: clock.seconds } })
      const refreshed = await tokens.sessions.refresh(request)
      expect(refreshed.tokenType).toBe('DPoP')
      expect(openToken(refreshed.accessToken).claims['cnf']).toEqual({ jkt: client.jkt })
      refreshToken = refreshed.refreshToken ?? refreshToken
      expect(openToken(refreshToken).claims['cnf']).toEqual({ jkt: client.jkt })
    }
  })

  test('is not refreshed without a proof, which an event reports', async () => {
    const { tokens, logIn } = open()
    const { refreshToken } = await logIn()
    const rejected: unknown[] = []
    tokens.on('rejected', (event) => rejected.push(event))
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('PROOF_REQUIRED')
    expect(await outcomeOf(tokens.sessions.refresh(withBearer(refreshToken)))).toBe('PROOF_REQUIRED')
    expect(await outcomeOf(tokens.sessions.refresh(await thief.request(refreshToken)))).toBe('PROOF_INVALID')
    expect(rejected).toMatchObject([
      { code: 'PROOF_REQUIRED', sub: 'ada', sid: expect.any(String) },
      { code: 'PROOF_REQUIRED', sub: 'ada' },
      { code: 'PROOF_INVALID', sub: 'ada' },
    ])
    // The session itself goes on.
    expect(await outcomeOf(tokens.sessions.refresh(await client.request(refreshToken)))).toBe('ok')
  })

  test('takes the proof of another request where the token came another way', async () => {
    const { tokens, logIn } = open()
    const { accessToken, refreshToken } = await logIn()
    const refresh = await client.request(null, { token: refreshToken })
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken, { proofOf: refresh }))).toBe('ok')
    const call = await client.request(null, { token: accessToken })
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('PROOF_REQUIRED')
    expect(await outcomeOf(tokens.verify(accessToken, { proofOf: call }))).toBe('ok')
  })

  test('is not opened without a proof', async () => {
    const { tokens } = open()
    const none = new Request(`${PUBLIC_URL}/login`, { method: 'POST' })
    expect(await outcomeOf(tokens.sessions.open({ uid: 'ada' }, { proofOf: none }))).toBe('PROOF_REQUIRED')
    const wrong = await client.request(null, { url: `${PUBLIC_URL}/elsewhere`, method: 'POST' })
    const moved = new Request(`${PUBLIC_URL}/login`, wrong)
    expect(await outcomeOf(tokens.sessions.open({ uid: 'ada' }, { proofOf: moved }))).toBe('PROOF_INVALID')
    expect(await tokens.sessions.list('ada')).toEqual([])
  })
})

describe('a proof', () => {
  test('is accepted once, also by other processes on the same store', async () => {
    const { tokens, clock, store, logIn } = open()
    const other = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT }),
      clock,
      store,
      dpop: { publicUrl: PUBLIC_URL },
    })
    const { accessToken } = await logIn()
    const request = await client.request(accessToken)
    const copies = Array.from({ length: 20 }, (_, at) =>
      (at % 2 ? tokens : other).accessTokenRequired(new Request(request)),
    )
    const outcomes = await Promise.all(copies.map(outcomeOf))
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'PROOF_REUSED')).toHaveLength(19)
  })

  test('is used up once, however many dependencies a route has', async () => {
    const { tokens, logIn } = open()
    const { accessToken } = await logIn()
    const route = handleErrors()(
      enforce(
        tokens.accessTokenRequired,
        tokens.tokenRequired,
        tokens.require({ proof: 'dpop' }),
      )(async (request) => Response.json((await tokens.accessTokenRequired(request)).sub)),
    )
    const response = await route(await client.request(accessToken))
    expect(response.status).toBe(200)
  })

  test('is not used up by a request that is refused', async () => {
    const { tokens, logIn } = open()
    const { accessToken } = await logIn()
    const request = await client.request(accessToken)
    expect(await outcomeOf(tokens.require({ scopes: ['admin'] })(new Request(request)))).toBe(
      'INSUFFICIENT_SCOPE',
    )
    expect(await outcomeOf(tokens.accessTokenRequired(new Request(request)))).toBe('ok')
  })

  test('is refused where the store does not answer', async () => {
    const { tokens, store, logIn } = open()
    const { accessToken } = await logIn()
    store.spend = () => Promise.reject(new Error('connection lost'))
    expect(await outcomeOf(tokens.accessTokenRequired(await client.request(accessToken)))).toBe(
      'REVOCATION_UNAVAILABLE',
    )
  })
})

test.each(['ES256', 'ES384', 'ES512'] as const)(
  'a proof is for a token as its issuer has signed it with %s, with either s',
  async (algorithm) => {
    const issuer = createForeign('https://idp.example', { algorithm })
    const clock = createClock()
    const tokens = new TokenManager({
      config: new TokenConfig(),
      clock,
      store: createMemoryStore({ clock }),
      issuers: [issuer.trust()],
      dpop: { publicUrl: PUBLIC_URL },
    })
    const token = issuer.sign({ cnf: { jkt: client.jkt } })
    for (const spelling of [token, flipToken(token, algorithm)]) {
      const payload = await tokens.accessTokenRequired(await client.request(spelling))
      expect(payload.cnf).toEqual({ jkt: client.jkt })
      const proofOf = await client.request(spelling)
      expect((await tokens.verify(spelling, { proofOf })).sub).toBe('ada')
    }
    const other = issuer.sign({ cnf: { jkt: client.jkt }, jti: 'token-2' })
    const stolen = await client.request(token, { token: other })
    expect(await outcomeOf(tokens.accessTokenRequired(stolen))).toBe('PROOF_INVALID')
  },
)

describe('no downgrade', () => {
  test('a bound token is not accepted as a bearer token, with or without a proof, on the fast lane or not', async () => {
    const { tokens, logIn } = open()
    const { accessToken } = await logIn()
    expect(await outcomeOf(tokens.accessTokenRequired(await client.request(accessToken)))).toBe('ok')
    for (let times = 0; times < 4; times++) {
      expect(await outcomeOf(tokens.accessTokenRequired(withBearer(accessToken)))).toBe('PROOF_REQUIRED')
      const proof = await client.prove({ token: accessToken })
      const request = new Request(`${PUBLIC_URL}/`, {
        headers: { authorization: `Bearer ${accessToken}`, dpop: proof },
      })
      expect(await outcomeOf(tokens.accessTokenRequired(request))).toBe('PROOF_REQUIRED')
    }
  })

  test('an unbound token is refused with the scheme of bound ones, and where a proof is demanded', async () => {
    const { tokens } = open()
    const token = tokens.createAccessToken({ uid: 'ada' })
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('ok')
    expect(await outcomeOf(tokens.accessTokenRequired(await client.request(token)))).toBe('PROOF_INVALID')
    const strict = tokens.require({ proof: 'dpop' })
    for (let times = 0; times < 3; times++) {
      expect(await outcomeOf(strict(withBearer(token)))).toBe('PROOF_REQUIRED')
      expect(await outcomeOf(strict(await client.request(token)))).toBe('PROOF_REQUIRED')
    }
  })

  test('required demands a proof on every route, and of every new session', async () => {
    const { tokens, logIn } = open({ required: true })
    const token = tokens.createAccessToken({ uid: 'ada' })
    for (let times = 0; times < 3; times++) {
      expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('PROOF_REQUIRED')
    }
    expect(await outcomeOf(tokens.verify(token))).toBe('PROOF_REQUIRED')
    await expect(tokens.sessions.open({ uid: 'ada' })).rejects.toThrow(naming('TypeError', 'proofOf'))
    const { accessToken } = await logIn()
    expect(await outcomeOf(tokens.accessTokenRequired(await client.request(accessToken)))).toBe('ok')
  })

  test('a request with both schemes is refused', async () => {
    const { tokens, logIn } = open()
    const { accessToken } = await logIn()
    const plain = tokens.createAccessToken({ uid: 'ada' })
    const request = await client.request(
      accessToken,
      {},
      { authorization: `Bearer ${plain}, DPoP ${accessToken}` },
    )
    expect(await outcomeOf(tokens.accessTokenRequired(request))).toBe('TOKEN_INVALID')
  })
})

describe('nonces', () => {
  test('are demanded, sent with the refusal, and accepted by every process with the secret', async () => {
    const { tokens, clock, logIn } = open({ nonceSecret: NONCE_SECRET })
    const refused = await logIn().catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'PROOF_NONCE_REQUIRED', dpop: { nonce: expect.any(String) } })
    const { nonce } = (refused as { dpop: { nonce: string } }).dpop
    const other = open({ nonceSecret: NONCE_SECRET })
    const request = await client.request(null, { claims: { nonce } })
    const { accessToken } = await other.tokens.sessions.open({ uid: 'ada' }, { proofOf: request })
    const again = await client.request(accessToken, { claims: { nonce } })
    expect(await outcomeOf(tokens.accessTokenRequired(again))).toBe('ok')

    clock.seconds += 301
    const late = await client.request(accessToken, { claims: { nonce, iat: clock.seconds } })
    expect(await outcomeOf(tokens.accessTokenRequired(late))).toBe('PROOF_NONCE_REQUIRED')
  })

  test.each(['', 'x', 'A'.repeat(30), `${'A'.repeat(29)}=`])('%j is no nonce of ours', async (nonce) => {
    const { tokens } = open({ nonceSecret: NONCE_SECRET })
    const request = await client.request(null, { claims: { nonce } })
    expect(await outcomeOf(tokens.sessions.open({ uid: 'ada' }, { proofOf: request }))).toBe(
      'PROOF_NONCE_REQUIRED',
    )
  })

  test('replace the memory of proofs where the application says so', async () => {
    const clock = createClock()
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT }),
      clock,
      dpop: { publicUrl: PUBLIC_URL, nonceSecret: NONCE_SECRET, rememberProofs: false },
    })
    const refused = await tokens.sessions
      .open({ uid: 'ada' }, { proofOf: await client.request(null) })
      .catch((error: unknown) => error)
    const { nonce } = (refused as { dpop: { nonce: string } }).dpop
    const request = await client.request(null, { claims: { nonce } })
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' }, { proofOf: request })
    const call = await client.request(accessToken, { claims: { nonce } })
    expect(await outcomeOf(tokens.accessTokenRequired(new Request(call)))).toBe('ok')
    expect(await outcomeOf(tokens.accessTokenRequired(new Request(call)))).toBe('ok')
  })
})

describe('challenges', () => {
  const answer = async (tokens: TokenManager, request: Request) =>
    handleErrors()(enforce(tokens.accessTokenRequired)(() => new Response('open')))(request)

  test('offer both schemes to a request without a token', async () => {
    const { tokens } = open()
    const { status, headers } = await answer(tokens, new Request(`${PUBLIC_URL}/`))
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toBe(
      'Bearer realm="api", DPoP algs="ES256 ES384 ES512 Ed25519 EdDSA PS256 RS256"',
    )
  })

  test('say what is wrong with a proof, and send a nonce', async () => {
    const { tokens, logIn } = open()
    const { accessToken } = await logIn()
    const wrong = await answer(tokens, await client.request(accessToken, { claims: { htm: 'PUT' } }))
    expect(wrong.status).toBe(401)
    expect(wrong.headers.get('www-authenticate')).toMatch(
      /^DPoP realm="api", error="invalid_dpop_proof", error_description="[^"]+", algs="ES256 /,
    )
    expect(wrong.headers.has('dpop-nonce')).toBe(false)
    const bearer = await answer(tokens, withBearer(accessToken))
    expect(bearer.headers.get('www-authenticate')).toMatch(/^DPoP realm="api", error="invalid_token", /)

    const nonces = open({ nonceSecret: NONCE_SECRET, algorithms: ['ES256'] })
    const token = nonces.tokens.createAccessToken({ uid: 'ada' })
    const refused = await answer(nonces.tokens, await client.request(token))
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toMatch(/algs="ES256"$/)
    expect(refused.headers.get('dpop-nonce')).toMatch(/^[\w-]{30}$/)
  })

  test('without the option, nothing changes', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    const { headers } = await answer(tokens, await client.request('a.b.c'))
    expect(headers.get('www-authenticate')).toBe('Bearer realm="api"')
  })
})

describe('wrong options', () => {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
  const store = createMemoryStore()

  test.each([
    [{}, 'publicUrl'],
    [{ publicUrl: 'api.example' }, 'publicUrl'],
    [{ publicUrl: 'https://api.example?x' }, 'publicUrl'],
    [{ publicUrl: [] }, 'publicUrl'],
    [{ publicUrl: PUBLIC_URL, maxAge: '1h' }, 'maxAge'],
    [{ publicUrl: PUBLIC_URL, algorithms: ['HS256'] }, 'algorithms'],
    [{ publicUrl: PUBLIC_URL, algorithms: [] }, 'algorithms'],
    [{ publicUrl: PUBLIC_URL, nonceSecret: 'short' }, 'nonceSecret'],
    [{ publicUrl: PUBLIC_URL, requried: true }, 'requried'],
  ])('%j is a TypeError', (dpop, name) => {
    expect(() => new TokenManager({ config, store, dpop: dpop as never })).toThrow(naming('TypeError', name))
  })

  test.each([
    [{ nonceMaxAge: '1m' }, 'nonceSecret'],
    [{ rememberProofs: false }, 'nonceSecret'],
  ])('%j is a ConfigurationError', (dpop, name) => {
    const given = { publicUrl: PUBLIC_URL, ...dpop }
    expect(() => new TokenManager({ config, store, dpop: given })).toThrow(naming('ConfigurationError', name))
  })

  test('the scheme of bound tokens cannot be that of bearer tokens', () => {
    expect(() => open({}, { JWT_HEADER_TYPE: 'dpop' })).toThrow(
      naming('ConfigurationError', 'JWT_HEADER_TYPE'),
    )
  })

  test('proofs need a store that can remember them', () => {
    const dpop = { publicUrl: PUBLIC_URL }
    expect(() => new TokenManager({ config, dpop })).toThrow(ConfigurationError)
    const { spend: _, ...forgetful } = store
    expect(() => new TokenManager({ config, dpop, store: forgetful })).toThrow(ConfigurationError)
  })

  test('a policy cannot demand what the manager does not check', () => {
    const tokens = new TokenManager({ config })
    expect(() => tokens.require({ proof: 'dpop' })).toThrow(naming('TypeError', 'dpop'))
    expect(() => tokens.require({ proof: 'mtls' })).toThrow(naming('TypeError', 'mtls'))
    expect(() => tokens.require({ proof: 'jwt' as never })).toThrow(naming('TypeError', 'proof'))
  })
})
