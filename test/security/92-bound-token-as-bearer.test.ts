import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { chooseManager, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { enforce, handleErrors, inject } from '../../packages/tokenlib/src/frameworks/fetch.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'
import { rememberUpgrade } from '../../packages/tokenlib/src/sockets/upgrade.js'
import { withBearer } from '../helpers/manager.js'
import { createJsonRequest } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'
import { createProver, createView, openBound, PUBLIC_URL } from './harness/prover.js'

const EVERYWHERE = {
  JWT_TOKEN_LOCATION: ['headers', 'cookies', 'json', 'query'],
  JWT_COOKIE_CSRF_PROTECT: false,
} as const

/** A genuine token of ours with whatever is in its `cnf`. */
const withCnf = (cnf: unknown): string => forge({ claims: { ...CLAIMS, cnf } })

describeAttacks('a bound token without its proof (RFC 9449 §7.1 and §7.2, RFC 7800 §3.1)', () => {
  ownAttack('under another scheme, with and without a proof, seen before and not', async () => {
    const { call, prove, accessToken, tokens } = await openBound()
    for (const scheme of ['dpop', 'DPOP', 'DPoP ']) expect(await call(prove(), { scheme })).toBe('ok')
    for (let times = 0; times < 3; times++) {
      for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
        expect(await call(null, { scheme }), scheme).toBe('PROOF_REQUIRED')
        expect(await call(prove(), { scheme }), scheme).toBe('PROOF_REQUIRED')
      }
      expect(await call(null)).toBe('PROOF_REQUIRED')
    }
    for (const scheme of ['', 'Token', 'DPoPx', 'xDPoP', 'DPoP:', 'Basic', 'DPoP,']) {
      expect(await call(prove(), { scheme }), scheme).not.toBe('ok')
    }
    const both = [`Bearer ${accessToken}, DPoP ${accessToken}`, `DPoP ${accessToken}, Bearer ${accessToken}`]
    for (const authorization of [...both, `DPoP ${accessToken}, DPoP ${accessToken}`]) {
      const view = createView({ authorization, dpop: prove() })
      expect(await outcomeOf(tokens.accessTokenRequired(view))).toBe('TOKEN_INVALID')
    }
  })

  ownAttack('in every other place of a request', async () => {
    const { tokens, accessToken, prove } = await openBound({ config: EVERYWHERE })
    const socket = (headers: Readonly<Record<string, string>>) => {
      const view = createView({ connection: 'upgrade', upgrade: 'websocket', ...headers })
      return tokens.sockets.authenticate(view, { origins: ['https://app.example'] })
    }
    const places: readonly ((proof: Readonly<Record<string, string>>) => Promise<unknown>)[] = [
      (proof) =>
        tokens.accessTokenRequired(createView({ cookie: `access_token_cookie=${accessToken}`, ...proof })),
      (proof) => tokens.accessTokenRequired(createView(proof, `/?token=${accessToken}`)),
      (proof) => {
        const request = createJsonRequest({ access_token: accessToken })
        for (const [name, value] of Object.entries(proof)) request.headers.set(name, value)
        return tokens.accessTokenRequired(request)
      },
      (proof) => tokens.sockets.authenticate(createView(proof, `/?token=${accessToken}`)),
      (proof) =>
        socket({ cookie: `access_token_cookie=${accessToken}`, origin: 'https://app.example', ...proof }),
      (proof) => socket({ authorization: `DPoP ${accessToken}`, ...proof }),
    ]
    for (const [at, place] of places.entries()) {
      const method = at === 2 ? 'POST' : 'GET'
      expect(await outcomeOf(place({})), String(at)).toBe('PROOF_REQUIRED')
      const forged = createProver().prove({ token: accessToken, method })
      expect(await outcomeOf(place({ dpop: forged })), String(at)).toBe('PROOF_INVALID')
      const proof = prove({ method })
      expect(await outcomeOf(place({ dpop: proof })), String(at)).toBe('ok')
      expect(await outcomeOf(place({ dpop: proof })), String(at)).toBe('PROOF_REUSED')
    }
    // A subprotocol has a scheme, too: that of bearer tokens.
    for (const name of ['bearer', 'Bearer', 'dpop', 'DPoP']) {
      const offer = { 'sec-websocket-protocol': `${name}, ${accessToken}` }
      expect(await outcomeOf(socket({ ...offer, dpop: prove() })), name).not.toBe('ok')
      expect(await outcomeOf(socket(offer)), name).not.toBe('ok')
    }
  })

  ownAttack('at every door that takes a token', async () => {
    const { tokens, accessToken, refreshToken } = await openBound()
    const chosen = chooseManager(() => tokens)
    const doors: readonly (() => Promise<unknown>)[] = [
      ...[tokens, chosen].flatMap((manager) => [
        () => manager.accessTokenRequired(withBearer(accessToken)),
        () => manager.accessTokenOptional(withBearer(accessToken)),
        () => manager.tokenRequired(withBearer(accessToken)),
        () => manager.getCurrentSubject(withBearer(accessToken)),
        () => manager.require()(withBearer(accessToken)),
        () => manager.require({ optional: true })(withBearer(accessToken)),
        () => manager.require({ skipRevocation: true, withHeader: true })(withBearer(accessToken)),
        () => manager.require({ type: 'any', csrf: false, locations: 'headers' })(withBearer(accessToken)),
        () => manager.refreshTokenRequired(withBearer(refreshToken)),
      ]),
      () => tokens.verify(accessToken),
      () => tokens.verify(accessToken, { skipRevocation: true }),
      () => tokens.verify(accessToken, { proofOf: withBearer(accessToken) }),
      () => tokens.sessions.refresh(refreshToken),
      () => tokens.sockets.authenticate(withBearer(accessToken)),
      () => tokens.sockets.authenticate(withBearer(accessToken), { until: 'session' }),
    ]
    for (const [at, door] of doors.entries()) {
      for (let times = 0; times < 2; times++)
        expect(await outcomeOf(door()), `${at}: ${door.toString()}`).toBe('PROOF_REQUIRED')
    }
    const answer = handleErrors()
    const routes = [
      answer(enforce(tokens.accessTokenRequired)(() => new Response('open'))),
      answer(enforce(tokens.accessTokenOptional, tokens.accessTokenOptional)(() => new Response('open'))),
      answer(inject({ payload: tokens.accessTokenOptional }, () => new Response('open'))),
    ]
    for (const route of routes) {
      for (let times = 0; times < 3; times++) expect((await route(withBearer(accessToken))).status).toBe(401)
    }
  })

  ownAttack('at a manager that checks no proofs, or only those of another kind', async () => {
    const { accessToken, createRequest, prove, store, clock } = await openBound()
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    for (const others of [{}, { mtls: {} }]) {
      const tokens = new TokenManager({ config, store, clock, ...others })
      for (const scheme of ['Bearer', 'DPoP']) {
        const outcome = await outcomeOf(tokens.accessTokenRequired(createRequest(prove(), { scheme })))
        expect(outcome).toBe(scheme === 'Bearer' ? 'PROOF_REQUIRED' : 'TOKEN_MISSING')
      }
      expect(await outcomeOf(tokens.verify(accessToken))).toBe('PROOF_REQUIRED')
      expect(() => internalsOf(tokens).verifyWithoutRevocation(accessToken)).toThrow(
        expect.objectContaining({ code: 'PROOF_REQUIRED' }),
      )
    }
  })
})

describeAttacks('a confirmation that nobody can check (RFC 7800 §3.1)', () => {
  ownAttack('two members, unknown ones, none, and invalid thumbprints', async () => {
    const { client, call } = await openBound()
    const { jkt } = client
    const honest = withCnf({ jkt })
    expect(await call(client.prove({ token: honest }), { token: honest })).toBe('ok')
    for (const cnf of [
      null,
      '',
      jkt,
      0,
      false,
      true,
      [],
      [{ jkt }],
      {},
      { jkt: null },
      { jkt: '' },
      { jkt: [jkt] },
      { jkt: { jkt } },
      { jkt: jkt.slice(1) },
      { jkt: `${jkt}A` },
      { jkt: `${jkt}=` },
      { jkt: ` ${jkt}` },
      { jkt: `${jkt}\n` },
      { jkt: jkt.replace(/^./, '+') },
      { JKT: jkt },
      { jwk: client.jwk },
      { kid: 'key-1' },
      { 'x5t#S256': jkt },
      { jkt, 'x5t#S256': jkt },
      { jkt, kid: 'key-1' },
      { jkt, jwk: client.jwk },
      { jkt, osc: {} },
      { jkt, constructor: jkt },
      { jkt, 'x5t#S256': undefined, jku: 'https://evil.example' },
    ]) {
      const token = withCnf(cnf)
      for (const scheme of ['DPoP', 'Bearer']) {
        const outcome = await call(client.prove({ token }), { token, scheme })
        expect(outcome, JSON.stringify(cnf)).toBe('PROOF_REQUIRED')
        expect(await call(null, { token, scheme }), JSON.stringify(cnf)).toBe('PROOF_REQUIRED')
      }
    }
    const inherited = forge({
      claims: JSON.stringify(CLAIMS).replace('{', `{"__proto__":{"cnf":{"jkt":"${jkt}"}},`),
    })
    expect(await call(client.prove({ token: inherited }), { token: inherited })).toBe('PROOF_INVALID')
    const proto = forge({
      claims: JSON.stringify(CLAIMS).replace('{', `{"cnf":{"__proto__":{"jkt":"${jkt}"}},`),
    })
    expect(await call(client.prove({ token: proto }), { token: proto })).toBe('PROOF_REQUIRED')
  })

  ownAttack('the lower and the upper case of a thumbprint are not the same key', async () => {
    const { client, call } = await openBound()
    for (const jkt of [client.jkt.toLowerCase(), client.jkt.toUpperCase()]) {
      const token = withCnf({ jkt })
      expect(await call(client.prove({ token }), { token })).toBe('PROOF_INVALID')
    }
  })

  ownAttack('a token that is bound to a key and to a certificate needs both', async () => {
    const { client, store, clock, prove } = await openBound()
    const certificate = Buffer.from('a certificate in DER')
    const thumbprint = createHash('sha256').update(certificate).digest('base64url')
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
      store,
      clock,
      dpop: { publicUrl: PUBLIC_URL },
      mtls: {},
    })
    const token = withCnf({ jkt: client.jkt, 'x5t#S256': thumbprint })
    const ask = (dpop: string | null, shown: Uint8Array | null) => {
      const headers = { authorization: `DPoP ${token}`, ...(dpop !== null && { dpop }) }
      return outcomeOf(tokens.accessTokenRequired({ ...createView(headers), certificate: shown }))
    }
    expect(await ask(prove({ token }), certificate)).toBe('ok')
    expect(await ask(prove({ token }), null)).toBe('PROOF_REQUIRED')
    expect(await ask(prove({ token }), Buffer.from('another certificate'))).toBe('PROOF_INVALID')
    expect(await ask(null, certificate)).toBe('PROOF_REQUIRED')
    expect(await ask(createProver().prove({ token }), certificate)).toBe('PROOF_INVALID')
  })
})

describeAttacks('an unbound token where a bound one is needed (RFC 9449 §7.1)', () => {
  ownAttack('under the scheme of bound tokens, with the proof of any key', async () => {
    const { tokens, call, client } = await openBound()
    const token = tokens.createAccessToken({ uid: 'ada' })
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('ok')
    expect(await call(client.prove({ token }), { token })).toBe('PROOF_INVALID')
    expect(await call(null, { token })).toBe('PROOF_INVALID')
    // A proof next to a bearer token proves nothing, and is not looked at.
    expect(await call('nonsense', { token, scheme: 'Bearer' })).toBe('ok')
  })

  ownAttack('at every door that demands a proof, as often as it is tried', async () => {
    const { tokens, client, create, createRequest } = await openBound()
    const strict = create({ required: true })
    const token = tokens.createAccessToken({ uid: 'ada' })
    const refresh = tokens.createRefreshToken({ uid: 'ada' })
    const proven = (text: string) => createRequest(client.prove({ token: text }), { token: text })
    const proof = 'dpop'
    const doors: readonly ((request: () => Request) => Promise<unknown>)[] = [
      (request) => tokens.require({ proof })(request()),
      (request) => tokens.require({ proof, optional: true })(request()),
      (request) => tokens.require({ proof, skipRevocation: true })(request()),
      (request) => chooseManager(() => tokens).require({ proof })(request()),
      (request) => chooseManager(() => strict).accessTokenOptional(request()),
      (request) => tokens.sockets.authenticate(request(), { proof }),
      (request) => tokens.verify(token, { proof, proofOf: request() }),
      () => tokens.verify(token, { proof }),
      (request) => strict.accessTokenRequired(request()),
      (request) => strict.accessTokenOptional(request()),
      (request) => strict.require({ optional: true })(request()),
      (request) => strict.sockets.authenticate(request()),
      (request) => strict.verify(token, { proofOf: request() }),
      () => strict.verify(token),
      () => strict.sessions.refresh(refresh),
    ]
    for (const [at, door] of doors.entries()) {
      for (let times = 0; times < 3; times++) {
        expect(await outcomeOf(door(() => withBearer(token))), String(at)).toBe('PROOF_REQUIRED')
        expect(await outcomeOf(door(() => proven(token))), String(at)).toBe('PROOF_REQUIRED')
      }
    }
    const route = handleErrors()(
      enforce(tokens.require({ proof }), tokens.accessTokenRequired)(() => new Response()),
    )
    for (let times = 0; times < 3; times++) expect((await route(withBearer(token))).status).toBe(401)
    const request = withBearer(token)
    // Repeated for one request, as by the fields of a GraphQL query, after a check that demands less.
    expect(await outcomeOf(tokens.accessTokenRequired(request))).toBe('ok')
    const demanding = tokens.require({ proof })
    const fields = Array.from({ length: 50 }, () => outcomeOf(demanding(request)))
    expect(new Set(await Promise.all(fields))).toEqual(new Set(['PROOF_REQUIRED']))
  })

  ownAttack('in the messages of a socket', async () => {
    const { tokens, accessToken, createRequest, prove } = await openBound()
    const unbound = await tokens.sockets.authenticate(withBearer(tokens.createAccessToken({ uid: 'ada' })))
    const bound = await tokens.sockets.authenticate(createRequest(prove()))
    expect(bound.token.token).toBe(accessToken)
    for (const [upgrade, outcome] of [
      [bound, 'ok'],
      [unbound, 'PROOF_REQUIRED'],
    ] as const) {
      const message = createView({})
      rememberUpgrade(message, upgrade)
      expect(await outcomeOf(tokens.accessTokenRequired(message))).toBe('ok')
      expect(await outcomeOf(tokens.require({ proof: 'dpop' })(message))).toBe(outcome)
    }
  })
})
