import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'vitest'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import { type LegacyIssuerOptions, trustLegacyIssuer } from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createForeign, createReceiver } from '../helpers/foreign.js'
import { createClock, NOW, PATIENT, SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { encode, forge } from './harness/forge.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const OLD_SECRET = 'Rk2vYw8sQe5uTz1xLm7nBc4pHd9fGj3a'

const LEGACY: LegacyIssuerOptions = {
  issuer: 'before',
  withoutIss: true,
  secret: OLD_SECRET,
  maxTokenAge: '1h',
  acceptUntil: new Date((NOW + 86_400) * 1000),
}

const CLAIMS = { sub: 'ada', iat: NOW - 60, exp: NOW + 600 }
const old = (claims: object = {}, header: object = {}) =>
  forge({
    key: OLD_SECRET,
    header: { alg: 'HS256', typ: 'JWT', ...header },
    claims: { ...CLAIMS, ...claims },
  })

/** A manager that takes honest old and new tokens. */
async function openHonest(
  config: TokenConfigOptions = {},
  legacy: Partial<LegacyIssuerOptions> = {},
): Promise<TokenManager> {
  const clock = createClock()
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, ...config }),
    clock,
    store: createMemoryStore({ clock }),
    issuers: [
      trustLegacyIssuer({ ...LEGACY, ...legacy }),
      createForeign('https://id.example').trust({ subjectPrefix: 'id:' }),
    ],
  })
  if (legacy.secret === undefined && !('publicKey' in legacy)) {
    expect((await tokens.verify(old())).iss).toBe('before')
  }
  expect(await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))).toBe('ok')
  return tokens
}

/** Refused at every entry point, and always as a token, not with an exception. */
async function refuse(tokens: TokenManager, token: string, title = ''): Promise<void> {
  const outcomes = [
    await outcomeOf(tokens.verify(token)),
    await outcomeOf(tokens.accessTokenRequired(withBearer(token))),
    await outcomeOf(tokens.tokenRequired(withBearer(token))),
    await outcomeOf(tokens.sockets.authenticate(withBearer(token))),
    await outcomeOf((async () => internalsOf(tokens).verifyWithoutRevocation(token))()),
    await outcomeOf(tokens.sessions.refresh(token)),
    await outcomeOf(internalsOf(tokens).inspectToken(token)),
  ]
  for (const outcome of outcomes) {
    expect(outcome, title).toMatch(/^TOKEN_(?:INVALID|SIGNATURE_INVALID|ISSUER_INVALID|AUDIENCE_INVALID)$/)
  }
}

describeAttacks('a token of the application before that passes for another (RFC 8725 §3.8)', () => {
  ownAttack('the old secret signs what looks like one of our tokens', async () => {
    const tokens = await openHonest({ JWT_ENCODE_ISSUER: 'us' })
    const { current: keyId } = tokens.keys
    for (const claims of [{ type: 'access' }, { type: 'refresh', sid: 's', gen: 0 }]) {
      await refuse(tokens, old(claims, { kid: keyId }), 'with our kid')
      await refuse(tokens, old({ ...claims, iss: 'us' }), 'with our iss')
      await refuse(tokens, old({ ...claims, iss: 'us' }, { kid: keyId }), 'with both')
    }
    await refuse(tokens, old({ type: 'refresh', sid: 's', gen: 0 }))
  })

  ownAttack('an old token is never a refresh token, nor fresh', async () => {
    const tokens = await openHonest()
    const token = old({ type: 'access', fresh: true, gen: 0, sid: 's' })
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    expect(await outcomeOf(tokens.sessions.refresh(token))).toBe('TOKEN_ISSUER_INVALID')
    expect(await outcomeOf(tokens.refreshTokenRequired(withBearer(token)))).toBe('REFRESH_TOKEN_REQUIRED')
    expect(await outcomeOf(tokens.freshTokenRequired(withBearer(token)))).toBe('FRESH_TOKEN_REQUIRED')
  })

  ownAttack('our own key signs what looks like an old token', async () => {
    const tokens = await openHonest()
    for (const kid of [undefined, tokens.keys.current ?? '', 'before', '']) {
      const header = { alg: 'HS256', typ: 'JWT', ...(kid === undefined ? {} : { kid }) }
      await refuse(tokens, forge({ key: SECRET, header, claims: CLAIMS }), `kid ${kid}`)
      await refuse(
        tokens,
        forge({ key: SECRET, header, claims: { ...CLAIMS, iss: 'before', type: 'access' } }),
      )
    }
  })

  ownAttack('the name that stands for a missing iss is not an iss', async () => {
    const tokens = await openHonest()
    for (const iss of ['before', null, '', 0, ['before'], { before: true }]) {
      await refuse(tokens, old({ iss, type: 'access' }), JSON.stringify(iss))
    }
    expect(() => tokens.createAccessToken({ uid: 'ada' }, { issuer: 'before' })).toThrow(TypeError)
  })

  ownAttack('an old token in the name of an identity provider, and the reverse', async () => {
    const provider = createForeign('https://id.example')
    const tokens = await openHonest()
    await refuse(tokens, old({ iss: 'https://id.example', aud: 'https://api.example' }))
    await refuse(tokens, provider.sign({ iss: undefined }))
    await refuse(tokens, provider.sign({ iss: 'before' }))
  })

  ownAttack('the public key of old tokens as a secret, and other algorithms', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const tokens = await openHonest({}, { secret: undefined, publicKey: pem, algorithm: 'RS256' })
    const sign = (algorithm: string) => forge({ algorithm, key: privateKey, claims: CLAIMS })
    expect(await outcomeOf(tokens.verify(sign('RS256')))).toBe('ok')
    await refuse(tokens, sign('RS512'))
    await refuse(tokens, sign('PS256'))
    await refuse(tokens, forge({ key: pem, claims: CLAIMS }))
    await refuse(tokens, `${encode({ alg: 'none' })}.${encode(CLAIMS)}.AA`)
  })

  ownAttack('a logout token or an event that the old secret has signed', async () => {
    const wanted = { typ: 'logout+jwt', audience: 'us' }
    const claims = { aud: 'us', jti: 'x', events: {} }
    const tokens = await openHonest()
    const nameless = old(claims, { typ: 'logout+jwt' })
    expect(await outcomeOf(internalsOf(tokens).verifyIssuedJwt(nameless, wanted))).toBe(
      'TOKEN_ISSUER_INVALID',
    )
    const { tokens: named } = createReceiver([
      trustLegacyIssuer({ ...LEGACY, issuer: 'old-app', withoutIss: false }),
    ])
    expect(await outcomeOf(named.verify(old({ iss: 'old-app' })))).toBe('ok')
    const jwt = old({ ...claims, iss: 'old-app' }, { typ: 'logout+jwt' })
    expect(await outcomeOf(internalsOf(named).verifyIssuedJwt(jwt, wanted))).toBe('TOKEN_ISSUER_INVALID')
  })

  ownAttack('one key for old and new tokens cannot be configured, nor brought in later', async () => {
    const reused = (config: TokenConfigOptions, legacy: Partial<LegacyIssuerOptions>) => () =>
      new TokenManager({
        config: new TokenConfig(config),
        issuers: [trustLegacyIssuer({ ...LEGACY, ...legacy })],
      })
    const code = expect.objectContaining({ code: 'CONFIGURATION_INVALID' }) as Error
    expect(reused({ JWT_SECRET_KEY: OLD_SECRET }, {})).toThrow(code)
    expect(reused({ JWT_SECRET_KEY: Buffer.from(OLD_SECRET) }, {})).toThrow(code)
    expect(reused({ JWT_SECRET_KEY: SECRET, JWT_PREVIOUS_SECRET_KEY: OLD_SECRET }, {})).toThrow(code)
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const ec = { secret: undefined, publicKey, algorithm: 'ES256' } as const
    expect(reused({ JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: privateKey }, ec)).toThrow(code)

    const tokens = new TokenManager({
      config: new TokenConfig(),
      clock: createClock(),
      keys: [{ secret: SECRET, algorithm: 'HS256' }],
      issuers: [trustLegacyIssuer(LEGACY)],
    })
    const before = tokens.keys.current
    expect(() => tokens.keys.set([{ secret: OLD_SECRET, algorithm: 'HS256' }])).toThrow(code)
    expect(tokens.keys.current).toBe(before)
  })
})
