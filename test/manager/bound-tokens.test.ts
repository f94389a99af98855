import { describe, expect, test } from 'vitest'
import { isTokenError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createIntrospectionRoute, trustLegacyIssuer } from '../../packages/issuers/src/index.js'
import { enforce, handleErrors } from '../../packages/tokenlib/src/frameworks/fetch.js'
import { createEnforcer } from '../../packages/tokenlib/src/requests/dependencies.js'
import { nodeRequestReader } from '../../packages/tokenlib/src/http/request-source.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createForeign } from '../helpers/foreign.js'
import { createClock, NOW, openToken, PATIENT, SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { forge } from '../security/harness/forge.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'
import { naming } from '../helpers/naming.js'

// RFC 7800 §3.1: `cnf` binds a token to a key. Anyone who presents it has to prove that the key is theirs, and a bearer of the
// token alone proves nothing.
const PROVIDER = createForeign('https://id.example')
const PEER = createForeign('https://peer.example')
const OLD_SECRET = 'Rk2vYw8sQe5uTz1xLm7nBc4pHd9fGj3a'

function open() {
  const clock = createClock()
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, JWT_TOKEN_LOCATION: ['headers', 'query'] }),
    clock,
    store: createMemoryStore({ clock }),
    issuers: [
      PROVIDER.trust({ subjectPrefix: 'provider:' }),
      PEER.trust({ subjectPrefix: 'peer:', profile: 'tokenlib' }),
      trustLegacyIssuer({
        issuer: 'before',
        withoutIss: true,
        secret: OLD_SECRET,
        maxTokenAge: '1h',
        acceptUntil: new Date((NOW + 86_400) * 1000),
      }),
    ],
  })
  return { tokens, clock }
}

const CONFIRMATIONS = [
  ['of DPoP', { jkt: '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I' }],
  ['of mutual TLS', { 'x5t#S256': 'bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2' }],
  ['with a key', { jwk: PROVIDER.jwk }],
  ['with an unknown member', { other: true }],
  ['without a member', {}],
  ['that is a text', 'x'],
  ['that is a list', []],
  ['that is null', null],
  ['that is false', false],
] as const

/** An own token with any claims: what another program with the same key can make. */
function forgeOwn(token: string, others: object): string {
  const { header, claims } = openToken(token)
  return forge({ key: SECRET, header, claims: { ...claims, ...others } })
}

const TOKENS = {
  own: (tokens: TokenManager, others: object) => forgeOwn(tokens.createAccessToken({ uid: 'ada' }), others),
  'of an issuer': (_: TokenManager, others: object) => PROVIDER.sign(others),
  'of an application with this library': (_: TokenManager, others: object) =>
    PEER.sign({ type: 'access', ...others }),
  'of the application before': (_: TokenManager, others: object) =>
    forge({ key: OLD_SECRET, claims: { sub: 'ada', iat: NOW - 60, exp: NOW + 600, ...others } }),
}

describe.each(Object.entries(TOKENS))('a token %s', (_, create) => {
  test('without cnf is accepted', async () => {
    const { tokens } = open()
    expect(await outcomeOf(tokens.verify(create(tokens, {})))).toBe('ok')
  })

  test.each(CONFIRMATIONS)('with a cnf %s is refused as a bearer token', async (_case, cnf) => {
    const { tokens } = open()
    const token = create(tokens, { cnf })
    expect(await outcomeOf(tokens.verify(token))).toBe('PROOF_REQUIRED')
    expect(await outcomeOf(tokens.verify(token, { skipRevocation: true }))).toBe('PROOF_REQUIRED')
    expect(await outcomeOf(internalsOf(tokens).inspectToken(token))).toBe('PROOF_REQUIRED')
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('PROOF_REQUIRED')
    expect(await outcomeOf(tokens.accessTokenOptional(withBearer(token)))).toBe('PROOF_REQUIRED')
    expect(
      await outcomeOf(
        (async () => internalsOf(tokens).verifyWithoutRevocation(token, { allowExpired: true }))(),
      ),
    ).toBe('PROOF_REQUIRED')
  })

  test('with cnf is refused however often it comes, on the fast lane too', async () => {
    const { tokens } = open()
    const token = create(tokens, { cnf: { jkt: 'x' } })
    const request = {
      method: 'GET',
      url: '/',
      headers: { authorization: `Bearer ${token}` },
      rawHeaders: ['Authorization', `Bearer ${token}`],
    }
    const enforcer = createEnforcer([tokens.accessTokenRequired], nodeRequestReader)
    for (let times = 0; times < 4; times++) {
      expect(enforcer.passesNow({ ...request })).toBe(false)
      expect(await outcomeOf(enforcer.enforce({ ...request }))).toBe('PROOF_REQUIRED')
    }
  })

  test('with cnf does not open a socket', async () => {
    const { tokens } = open()
    const upgrade = new Request(`http://localhost/?token=${create(tokens, { cnf: { jkt: 'x' } })}`, {
      headers: { upgrade: 'websocket', connection: 'upgrade' },
    })
    expect(await outcomeOf(tokens.sockets.authenticate(upgrade))).toBe('PROOF_REQUIRED')
  })

  test('with cnf is inactive for introspection, which cannot check the proof either', async () => {
    const { tokens } = open()
    const route = createIntrospectionRoute(tokens, { client: () => ({ id: 'rs' }) })
    const ask = async (token: string): Promise<unknown> => {
      const response = await route.handle(
        new Request('http://localhost/oauth/introspect', {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams({ token }),
        }),
      )
      return response?.json()
    }
    expect(await ask(create(tokens, {}))).toMatchObject({ active: true })
    expect(await ask(create(tokens, { cnf: { jkt: 'x' } }))).toEqual({ active: false })
  })
})

test('a token of Keycloak that is bound to a key is told what is missing', async () => {
  const { tokens } = open()
  expect(await outcomeOf(tokens.verify(PROVIDER.sign({ typ: 'DPoP', cnf: { jkt: 'x' } })))).toBe(
    'PROOF_REQUIRED',
  )
  expect(await outcomeOf(tokens.verify(PROVIDER.sign({ typ: 'DPoP' })))).toBe('TOKEN_INVALID')
})

test('a refresh token with cnf refreshes nothing, and its session can still be ended', async () => {
  const { tokens } = open()
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  const bound = forgeOwn(refreshToken, { cnf: { jkt: 'x' } })
  expect(await outcomeOf(tokens.sessions.refresh(bound))).toBe('PROOF_REQUIRED')
  expect(await outcomeOf(tokens.sessions.refresh(withBearer(bound)))).toBe('PROOF_REQUIRED')
  await tokens.logout(withBearer(bound))
  expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('TOKEN_REVOKED')
})

test('an expired token with cnf is expired: with a proof it would be refused all the same', async () => {
  const { tokens, clock } = open()
  const token = PROVIDER.sign({ cnf: { jkt: 'x' } })
  clock.seconds += 3600
  expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_EXPIRED')
})

test('the client is told with 401 and invalid_token, and an event has the code', async () => {
  const { tokens } = open()
  const codes: string[] = []
  tokens.on('rejected', ({ code }) => codes.push(code))
  const handler = handleErrors()(enforce(tokens.accessTokenRequired)(() => new Response('open')))
  const response = await handler(withBearer(PROVIDER.sign({ cnf: { jkt: 'x' } })))
  expect(response.status).toBe(401)
  expect(response.headers.get('www-authenticate')).toMatch(/^Bearer realm="api", error="invalid_token"/)
  expect(await response.json()).toMatchObject({ error_type: 'ProofRequiredError', code: 'PROOF_REQUIRED' })
  expect(codes).toEqual(['PROOF_REQUIRED'])
})

test('a token with cnf cannot be created: this manager would refuse it', async () => {
  const { tokens } = open()
  const claims = { uid: 'ada', cnf: { jkt: 'x' } }
  expect(() => tokens.createAccessToken(claims)).toThrow(TypeError)
  expect(() => tokens.createRefreshToken(claims)).toThrow(naming('TypeError', 'cnf'))
  const failed: unknown = await tokens.sessions.open(claims).catch((error: unknown) => error)
  expect(failed).toBeInstanceOf(TypeError)
  expect(isTokenError(failed)).toBe(false)
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_IDENTITY_CLAIM: 'cnf' })
  expect(() => new TokenManager({ config })).toThrow(naming('ConfigurationError', 'JWT_IDENTITY_CLAIM'))
})

test('a JWT of an issuer that is no access token is refused with cnf: nobody checks who sends it', async () => {
  const { tokens } = open()
  const verify = (others: object) =>
    internalsOf(tokens).verifyIssuedJwt(
      PROVIDER.sign({ aud: 'receiver', ...others }, { typ: 'logout+jwt' }),
      {
        typ: 'logout+jwt',
        audience: 'receiver',
      },
    )
  expect(await outcomeOf(verify({}))).toBe('ok')
  expect(await outcomeOf(verify({ cnf: { jkt: 'x' } }))).toBe('PROOF_REQUIRED')
})
