import { createPrivateKey, createSecretKey } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { format, inspect } from 'node:util'
import { expect } from 'vitest'
import {
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  toErrorResponse,
} from '../../packages/tokenlib/src/index.js'
import { trustIssuer } from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createKeyPair } from '../helpers/keys.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { type Answer, json, startKeyServer } from '../helpers/key-server.js'
import { createRequest, csrfOf } from '../helpers/requests.js'
import { advance, createRevocable } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { keyPairOf, SECRET } from './harness/forge.js'

/** Every way in which a program shows a value without meaning to. */
function show(value: unknown): string {
  const texts = [
    inspect(value),
    inspect(value, { depth: Infinity, showHidden: true, maxStringLength: null }),
    inspect(value, { depth: Infinity, getters: true, maxStringLength: null }),
    inspect({ nested: [value] }, { depth: Infinity }),
    format('%s %o %O %j', value, value, value, value),
    JSON.stringify(value),
    JSON.stringify({ value }),
    String(value),
  ]
  if (value instanceof Error)
    texts.push(value.stack ?? '', value.message, JSON.stringify({ ...value }), show(value.cause))
  return texts.join('\n')
}

/** The pieces of eight characters of these texts that another text contains. */
function findPieces(text: string, secrets: readonly string[]): string[] {
  const found: string[] = []
  for (const secret of secrets) {
    for (let at = 0; at + 8 <= secret.length; at++) {
      if (text.includes(secret.slice(at, at + 8))) found.push(secret.slice(at, at + 8))
    }
  }
  return found
}

describeAttacks('secrets and tokens in logs (CWE-532, CVE-2019-7644, GO-2022-1178)', () => {
  ownAttack('a configuration and a manager, with a key of every form', () => {
    const { privateKey } = keyPairOf('ES256')
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    const jwk = privateKey.export({ format: 'jwk' })
    const bytes = Buffer.from(SECRET)
    const secretsOf = [SECRET, bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')]
    const listed = [...bytes.subarray(0, 4)].join(', ')
    const fields: readonly TokenConfigOptions[] = [
      { JWT_SECRET_KEY: SECRET, JWT_PREVIOUS_SECRET_KEY: `${SECRET}!` },
      { JWT_SECRET_KEY: bytes },
      { JWT_SECRET_KEY: createSecretKey(bytes) },
      { JWT_SECRET_KEY: { kty: 'oct', k: bytes.toString('base64url') } },
      { JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: pem },
      { JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: jwk },
      { JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: createPrivateKey(pem) },
    ]
    for (const options of fields) {
      const config = new TokenConfig(options)
      const tokens = new TokenManager({ config, store: createMemoryStore() })
      const text = [config, tokens, tokens.config, { config, tokens }].map(show).join('\n')
      expect(text).toContain('[hidden]')
      expect(findPieces(text, [...secretsOf, String(jwk.d), pem.replaceAll(/-.*-|\n/g, '')])).toEqual([])
      expect(text).not.toContain(listed)
      expect(text).not.toMatch(/Buffer|Uint8Array|KeyObject/)
    }
  })

  ownAttack('a wrong configuration, whose error would quote it', () => {
    const secret = SECRET.slice(0, 24)
    const attempts: readonly (() => unknown)[] = [
      () => createManager({ JWT_SECRET_KEY: secret }),
      () => createManager({ JWT_SECRET_KEY: { kty: 'EC', d: SECRET } }),
      () => createManager({ JWT_SECRET_KEY: null, JWT_ALGORITHM: 'RS256', JWT_PRIVATE_KEY: SECRET }),
      () =>
        createManager({
          JWT_SECRET_KEY: null,
          JWT_ALGORITHM: 'ES256',
          JWT_PRIVATE_KEY: { kty: 'EC', d: SECRET },
        }),
      () => new TokenConfig({ JWT_ALGORITHM: SECRET as 'HS256' }),
      () => new TokenConfig({ JWT_ACCESS_TOKEN_EXPIRES: SECRET }),
      () => new TokenConfig({ JWT_ACCESS_COOKIE_NAME: `${SECRET};` }),
      () => TokenConfig.fromEnv({}, { JWT_ALGORITHM: SECRET, JWT_SECRET_KEY: SECRET }),
    ]
    for (const [at, attempt] of attempts.entries()) {
      let thrown: unknown
      try {
        attempt()
      } catch (error) {
        thrown = error
      }
      expect(thrown, String(at)).toBeInstanceOf(Error)
      expect(findPieces(show(thrown), [SECRET]), String(at)).toEqual([])
    }
  })

  ownAttack('every error that a request can cause, what listeners hear of it, and its answer', async () => {
    const heard: unknown[] = []
    const hear = (event: unknown): void => void heard.push(event)
    const NAMES = [
      'issued',
      'rejected',
      'loggedIn',
      'loggedOut',
      'revoked',
      'refreshed',
      'reuseDetected',
      'storeLostData',
      'replicaStale',
      'replicaFresh',
      'replicaReset',
      'keysLoaded',
      'keysFailed',
      'storeUnavailable',
    ] as const
    for (const name of NAMES) subscribe(`tokenlib:${name}`, hear)
    try {
      const { tokens, clock } = createRevocable({
        JWT_SECRET_KEY: SECRET,
        JWT_TOKEN_LOCATION: ['headers', 'cookies', 'query', 'json'],
      })
      for (const name of NAMES) tokens.on(name, hear)
      const pair = await tokens.sessions.open({ uid: 'ada' }, { scopes: ['read'] })
      const { accessToken: access, refreshToken: refresh } = pair
      const other = tokens.createAccessToken({ uid: 'ada' })
      const made = [access, refresh, other]
      const post = (headers: Record<string, string>): Request =>
        createRequest({ method: 'POST', cookies: { access_token_cookie: access }, headers })
      const attempts: readonly (() => Promise<unknown>)[] = [
        () => tokens.accessTokenRequired(createRequest()),
        () => tokens.accessTokenRequired(withBearer(`${access}x`)),
        () => tokens.accessTokenRequired(withBearer(`${access.slice(0, -4)}AAAA`)),
        () => tokens.accessTokenRequired(withBearer(`${access}, Bearer ${refresh}`)),
        () => tokens.accessTokenRequired(withBearer(refresh)),
        () => tokens.refreshTokenRequired(withBearer(access)),
        () => tokens.freshTokenRequired(withBearer(access)),
        () => tokens.require({ scopes: ['write'] })(withBearer(access)),
        () => tokens.accessTokenRequired(post({})),
        () => tokens.accessTokenRequired(post({ 'x-csrf-token': csrfOf(other) })),
        () => tokens.accessTokenRequired(createRequest({ path: `/?token=${access}&token=${refresh}` })),
        () =>
          tokens.accessTokenRequired(
            createRequest({
              headers: { cookie: `access_token_cookie=${access}; access_token_cookie=${refresh}` },
            }),
          ),
        () =>
          tokens.sockets.authenticate(createRequest({ cookies: { access_token_cookie: access } }), {
            origins: ['https://a.example'],
          }),
        async () => {
          const next = await advance({ tokens, clock }, refresh)
          const last = await advance({ tokens, clock }, next.refreshToken)
          made.push(next.refreshToken, last.refreshToken)
          return tokens.sessions.refresh(refresh)
        },
        () => {
          clock.seconds += 60
          return tokens.sessions.refresh(refresh)
        },
        () => tokens.accessTokenRequired(withBearer(access)),
        () => {
          clock.seconds += 3600
          return tokens.verify(access)
        },
      ]
      const codes = new Set<string>()
      const texts: string[] = []
      for (const attempt of attempts) {
        const error = (await attempt().catch((thrown: unknown) => thrown)) as Parameters<
          typeof toErrorResponse
        >[0]
        codes.add(error.code)
        texts.push(show(error), show(toErrorResponse(error)))
      }
      expect(codes.size).toBeGreaterThan(12)
      expect(heard.length).toBeGreaterThan(2 * attempts.length)
      const text = [...texts, ...heard.map(show)].join('\n')
      expect(findPieces(`${text} ${access.slice(-8)}`, made)).toHaveLength(1)
      expect(findPieces(text, [...made, ...made.map(csrfOf), SECRET])).toEqual([])
    } finally {
      for (const name of NAMES) unsubscribe(`tokenlib:${name}`, hear)
    }
  })

  ownAttack('keys of an issuer: private ones are published, and the request has a secret', async () => {
    const { d, ...point } = keyPairOf('ES256').privateKey.export({ format: 'jwk' })
    const other = createKeyPair('ES256').publicKey.export({ format: 'jwk' })
    const k = Buffer.from(SECRET).toString('base64url')
    const leaked = [
      { ...point, d, kid: 'private' },
      { kty: 'oct', k, kid: 'secret' },
    ]
    const server = await startKeyServer()
    const heard: unknown[] = []
    const shown: unknown[] = []
    const load = async (answer: Answer): Promise<void> => {
      server.answer(answer)
      const keys = {
        jwksUri: `${server.url}?key=${SECRET}`,
        headers: { authorization: `Bearer ${SECRET}` },
        allowPrivateNetwork: true,
      }
      const issuer = trustIssuer({
        issuer: 'https://id.example/',
        audience: 'api',
        subjectPrefix: 'id:',
        keys,
      })
      const tokens = new TokenManager({
        config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
        issuers: [issuer],
      })
      for (const name of ['keysLoaded', 'keysFailed'] as const) tokens.on(name, (event) => heard.push(event))
      shown.push(issuer, tokens, await tokens.ready().catch((error: unknown) => error))
    }
    await load((response) => void response.end(`{"keys":${JSON.stringify(leaked)}`))
    await load((response) => void response.writeHead(500).end(SECRET))
    await load(json({ keys: leaked }))
    await load(json({ keys: [...leaked, { ...other, kid: 'public' }] }))
    expect(heard).toMatchObject([
      { cause: expect.any(Error) as Error },
      { cause: expect.any(Error) as Error },
      { cause: expect.any(Error) as Error },
      { kids: ['public'], refused: [{ kid: 'private' }, { kid: 'secret' }] },
    ])
    const causes = heard.map((event) => (event as { readonly cause?: unknown }).cause)
    const text = [...heard, ...causes, ...shown].map(show).join('\n')
    expect(text).toContain(server.url)
    expect(findPieces(text, [SECRET, k, String(d)])).toEqual([])
  })

  ownAttack('what a route is handed: the token it found, its payload, a handshake', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
    const access = tokens.createAccessToken({ uid: 'ada' })
    const csrf = csrfOf(access)
    const cookies = { access_token_cookie: access }
    const found = await tokens.getTokenFromRequest(
      createRequest({ method: 'POST', cookies, headers: { 'x-csrf-token': csrf } }),
    )
    expect([found?.token, found?.csrf]).toEqual([access, csrf])
    const payload = await tokens.verify(access)
    expect(payload.csrf).toBe(csrf)
    const upgrade = await tokens.sockets.authenticate(withBearer(access))
    expect(findPieces([found, upgrade.token, { found }].map(show).join('\n'), [access, csrf])).toEqual([])
    // Hidden members are shown on demand only.
    const logged = [
      inspect(upgrade),
      JSON.stringify(upgrade),
      inspect(payload),
      JSON.stringify(payload),
      format('%j', payload),
      JSON.stringify({ ...payload }),
    ]
    expect(logged.join('\n')).toContain('ada')
    expect(findPieces(logged.join('\n'), [csrf, access])).toEqual([])
  })
})
