import { describe, expect, test } from 'vitest'
import { trustLegacyIssuer } from '../../packages/issuers/src/index.js'
import { ConfigurationError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { IssuedJwtOptions } from '../../packages/tokenlib/src/requests/issued-jwt.js'
import type { RevocationKey } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createForeign, createReceiver, type Foreign } from '../helpers/foreign.js'
import { createClock, NOW, SECRET } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { forge } from '../security/harness/forge.js'

const A = createForeign('https://a.example')
const NEXT = createForeign('https://a.example', { kid: 'key-2' })

const EXPECTED: IssuedJwtOptions = { typ: 'logout+jwt', audience: 'receiver' }

/** A JWT of an issuer that is no access token. */
const sign = (others: object = {}, from: Foreign = A): string =>
  from.sign({ aud: 'receiver', ...others }, { typ: 'logout+jwt' })

const verify = (tokens: TokenManager, jwt: string, options: Partial<IssuedJwtOptions> = {}) =>
  internalsOf(tokens).verifyIssuedJwt(jwt, { ...EXPECTED, ...options })

/** A manager without a store. */
const createWithoutStore = (): TokenManager =>
  new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
    clock: createClock(),
    issuers: [A.trust()],
  })

/** A store whose lookups are recorded, and fail while it is down. */
function createRecording(clock: ReturnType<typeof createClock>) {
  const data = createMemoryStore({ clock })
  const state = { lookups: [] as (readonly RevocationKey[])[], isDown: false }
  const store: RevocationStore = {
    ...data,
    async lookup(keys, ...others) {
      state.lookups.push(keys)
      if (state.isDown) throw new Error('ECONNREFUSED')
      return data.lookup(keys, ...others)
    },
  }
  return { state, store }
}

describe('the claims', () => {
  const { tokens } = createReceiver([A.options()])

  test.each(['exp', 'nbf', 'iat'])('%s must be a finite number', async (name) => {
    const text = JSON.stringify(A.claims({ aud: 'receiver', [name]: 'date' }))
    const header = { alg: 'ES256', typ: 'logout+jwt', kid: 'key-1' }
    for (const date of ['"1"', '"later"', 'null', 'true', '[]', '{}', '1e999']) {
      const jwt = A.forge({ header, claims: text.replace('"date"', date) })
      expect(await outcomeOf(verify(tokens, jwt)), date).toBe('TOKEN_INVALID')
    }
  })

  test.each([null, 1, {}, undefined, [], [1, 'receiver'], 'receivers'])('aud %j is refused', async (aud) => {
    expect(await outcomeOf(verify(tokens, sign({ aud })))).toBe('TOKEN_AUDIENCE_INVALID')
  })

  test('aud may be a list', async () => {
    expect(await outcomeOf(verify(tokens, sign({ aud: ['other', 'receiver'] })))).toBe('ok')
  })

  test('iat is needed only where the age counts', async () => {
    const jwt = sign({ iat: undefined })
    expect(await outcomeOf(verify(tokens, jwt))).toBe('ok')
    expect(await outcomeOf(verify(tokens, jwt, { maxAge: '1h' }))).toBe('TOKEN_INVALID')
    expect(await outcomeOf(verify(tokens, sign(), { maxAge: '1h' }))).toBe('ok')
    expect(await outcomeOf(verify(tokens, sign(), { maxAge: '1m' }))).toBe('TOKEN_EXPIRED')
  })
})

test('an application that was replaced, and we ourselves, send no such JWT', async () => {
  const secret = 'Rk2vYw8sQe5uTz1xLm7nBc4pHd9fGj3a'
  const legacy = trustLegacyIssuer({
    issuer: 'https://before.example',
    secret,
    maxTokenAge: '1h',
    acceptUntil: new Date((NOW + 86_400) * 1000),
  })
  const { tokens } = createReceiver([A.options(), legacy])
  const claims = { aud: 'receiver', sub: 'ada', iat: NOW, exp: NOW + 600 }
  const header = { alg: 'HS256', typ: 'logout+jwt' }
  const before = forge({ key: secret, header, claims: { ...claims, iss: 'https://before.example' } })
  expect(await outcomeOf(verify(tokens, before))).toBe('TOKEN_ISSUER_INVALID')
  expect(await outcomeOf(verify(tokens, forge({ key: SECRET, header, claims })))).toBe('TOKEN_ISSUER_INVALID')
})

describe('its key', () => {
  test('is looked for once more, although it was missing a moment ago', async () => {
    const published = [A.jwk]
    const { tokens } = createReceiver([A.options({ keys: async () => published })])
    expect(await outcomeOf(tokens.verify(NEXT.sign()))).toBe('TOKEN_SIGNATURE_INVALID')
    published.push(NEXT.jwk)
    expect(await outcomeOf(tokens.verify(NEXT.sign()))).toBe('TOKEN_SIGNATURE_INVALID')
    expect(await outcomeOf(verify(tokens, sign({}, NEXT)))).toBe('ok')
  })

  test('is unknown, and not unavailable, if it is not published', async () => {
    const fetch = async (): Promise<Response> => Response.json({ keys: [A.jwk] })
    const { tokens } = createReceiver([A.options({ keys: { jwksUri: 'https://a.example/keys', fetch } })])
    expect(await outcomeOf(verify(tokens, sign({}, NEXT)))).toBe('TOKEN_SIGNATURE_INVALID')
  })

  test('must not be revoked', async () => {
    const { tokens } = createReceiver([A.options()])
    expect(await outcomeOf(verify(tokens, sign()))).toBe('ok')
    await tokens.revoke.key('key-1', { issuer: A.issuer })
    expect(await outcomeOf(verify(tokens, sign()))).toBe('TOKEN_SIGNATURE_INVALID')
  })
})

describe('its id', () => {
  test('is revoked once it was claimed, and each claimed id is an event', async () => {
    const { tokens } = createReceiver([A.options()])
    const events: unknown[] = []
    tokens.on('revoked', (event) => events.push(event))
    const jwt = await verify(tokens, sign({ jti: 'once' }))
    expect(jwt.isRevoked).toBe(false)
    expect(await jwt.isIdRevoked('other')).toBe(false)
    expect(await jwt.claimIds(['once', 'other'], NOW + 60)).toMatchObject({ isFirst: true })
    const facts = {
      kind: 'token',
      reason: 'requested',
      sub: null,
      issuer: A.issuer,
      actor: A.issuer,
      note: 'Received, used once',
      ip: null,
      userAgent: null,
    }
    expect(events.splice(0)).toEqual([
      { id: 'once', ...facts },
      { id: 'other', ...facts },
    ])
    expect(await jwt.claimIds(['once', 'third'], NOW + 60)).toMatchObject({ isFirst: false })
    expect(events).toEqual([])
    expect((await verify(tokens, sign({ jti: 'once' }))).isRevoked).toBe(true)
    expect(await jwt.isIdRevoked('other')).toBe(true)
    expect(await jwt.isIdRevoked('third')).toBe(false)
  })

  test.each([undefined, '', 7])('%j is none, and is not looked up', async (jti) => {
    const clock = createClock()
    const { state, store } = createRecording(clock)
    const { tokens } = createReceiver([A.options()], { clock, store })
    const jwt = await verify(tokens, sign({ jti }))
    expect(jwt.isRevoked).toBe(false)
    expect(jwt.revocationKeys.map(({ kind }) => kind)).toEqual(['key', 'key'])
    expect(state.lookups).toEqual([jwt.revocationKeys])
  })
})

test('a store that does not answer is a refusal, unless the caller takes an unknown answer', async () => {
  const clock = createClock()
  const { state, store } = createRecording(clock)
  const { tokens } = createReceiver([A.options()], { clock, store })
  await tokens.ready()
  state.isDown = true
  expect(await outcomeOf(verify(tokens, sign()))).toBe('REVOCATION_UNAVAILABLE')
  expect((await verify(tokens, sign(), { allowUnknown: true })).isRevoked).toBeNull()
})

test('without a store nothing is revoked, and nothing can be claimed', async () => {
  const tokens = createWithoutStore()
  const jwt = await verify(tokens, sign())
  expect(jwt.isRevoked).toBe(false)
  expect(await jwt.isIdRevoked('token-1')).toBe(false)
  await expect(jwt.claimIds(['token-1'], NOW + 60)).rejects.toThrow(ConfigurationError)
})

test('the check is reported, without a user', async () => {
  const tokens = createWithoutStore()
  const checks: unknown[] = []
  tokens.observe({ onCheck: (check) => void checks.push(check) })
  await verify(tokens, sign())
  expect(checks).toMatchObject([{ kind: 'issued_jwt', outcome: 'accepted', sub: null }])
})
