import { sign as signBytes, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import {
  createBackChannelLogout,
  createEventReceiver,
  createIntrospectionRoute,
  createRevocationRoute,
  type KeySource,
  trustIssuer,
} from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createJwk, until } from '../helpers/key-server.js'
import { createTimedClock, NOW, PATIENT, SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { client, send } from '../routes/oauth-fixture.js'
import { encode, LOGOUT } from '../routes/provider.js'
import { API, CLIENT, RISC, sendEvent, sendLogout } from '../routes/security-events-fixture.js'

const ISSUER = 'https://id.example'
const old = createJwk('k1')
const next = createJwk('k2')
const junk = createJwk('junk')

function sign(key: KeyObject, kid: string, typ: string, claims: object): string {
  const payload = { iss: ISSUER, iat: NOW, jti: `${kid}-${typ}`, sub: 'ada', ...claims }
  const input = `${encode({ alg: 'ES256', kid, typ })}.${encode(payload)}`
  const signature = signBytes('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

const access = (key: KeyObject, kid: string): string =>
  sign(key, kid, 'at+jwt', { aud: API, exp: NOW + 3600 })
const logout = (key: KeyObject, kid: string): string =>
  sign(key, kid, 'logout+jwt', { aud: CLIENT, exp: NOW + 120, events: { [LOGOUT]: {} } })
const event = (key: KeyObject, kid: string): string =>
  sign(key, kid, 'secevent+jwt', {
    aud: API,
    sub: undefined,
    sub_id: { format: 'iss_sub', iss: ISSUER, sub: 'ada' },
    events: { [`${RISC}account-disabled`]: {} },
  })

/** A manager whose issuer has the key k1, and may publish others or fail. */
async function create(toKeys?: (state: { published: readonly object[]; isDown: boolean }) => KeySource) {
  const state = { published: [old.jwk] as readonly object[], isDown: false, calls: 0 }
  const fetch = async (): Promise<Response> => {
    state.calls++
    return state.isDown ? new Response(null, { status: 500 }) : Response.json({ keys: state.published })
  }
  const clock = createTimedClock()
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT }),
    clock,
    store: createMemoryStore({ clock }),
    issuers: [
      trustIssuer({
        issuer: ISSUER,
        audience: API,
        keys: toKeys?.(state) ?? { jwksUri: 'https://1.1.1.1/jwks', fetch },
        subjectPrefix: 'id:',
      }),
    ],
  })
  await tokens.ready()
  return { tokens, state, clock }
}

type Tokens = Awaited<ReturnType<typeof create>>['tokens']

// What is answered with "no such key" is lost: none of these senders repeats it.
const FINAL: readonly (readonly [
  string,
  refused: number,
  accepted: number,
  (tokens: Tokens, key: KeyObject, kid: string) => Promise<number>,
])[] = [
  [
    'a back-channel logout',
    400,
    200,
    async (tokens, key, kid) =>
      (await sendLogout(createBackChannelLogout(tokens, { clientId: CLIENT }), logout(key, kid))).status,
  ],
  [
    'a security event',
    400,
    202,
    async (tokens, key, kid) =>
      (await sendEvent(createEventReceiver(tokens, { audience: API }), event(key, kid))).status,
  ],
  [
    'the revocation endpoint',
    200,
    200,
    async (tokens, key, kid) =>
      (await send(createRevocationRoute(tokens, { client }), { token: access(key, kid) }))[0],
  ],
  [
    'introspection',
    200,
    200,
    async (tokens, key, kid) =>
      (await send(createIntrospectionRoute(tokens, { client }), { token: access(key, kid) }))[0],
  ],
  [
    'a logout',
    200,
    200,
    async (tokens, key, kid) => {
      const outcome = await outcomeOf(tokens.logout(withBearer(access(key, kid))))
      return outcome === 'KEYS_UNAVAILABLE' ? 503 : 200
    },
  ],
]

describe.each(FINAL)('%s with an unknown key', (_name, refused, accepted, request) => {
  test('is refused for good only after the keys were loaded for it', async () => {
    const { tokens, clock } = await create()
    expect(await clock.runUntil(request(tokens, junk.privateKey, 'junk'))).toBe(refused)
  })

  test('is unavailable while the keys cannot be loaded', async () => {
    const { tokens, state, clock } = await create()
    state.isDown = true
    expect(await clock.runUntil(request(tokens, next.privateKey, 'k2'))).toBe(503)
    // And once more, within the cool-down.
    expect(await clock.runUntil(request(tokens, next.privateKey, 'k2'))).toBe(503)
  })

  test('is accepted within the cool-down that a stranger has started', async () => {
    const { tokens, state, clock } = await create()
    expect(await outcomeOf(tokens.verify(access(junk.privateKey, 'junk')))).toBe('TOKEN_SIGNATURE_INVALID')
    state.published = [old.jwk, next.jwk]
    // Other requests are refused immediately.
    expect(await outcomeOf(tokens.verify(access(next.privateKey, 'k2')))).toBe('TOKEN_SIGNATURE_INVALID')
    expect(await clock.runUntil(request(tokens, next.privateKey, 'k2'))).toBe(accepted)
  })

  test('is accepted although strangers send the same with unknown keys all the time', async () => {
    const { tokens, state, clock } = await create()
    expect(await clock.runUntil(request(tokens, junk.privateKey, 'junk'))).toBe(refused)
    const others = Array.from({ length: 50 }, (_, at) => request(tokens, junk.privateKey, `junk-${at}`))
    state.published = [old.jwk, next.jwk]
    expect(await clock.runUntil(request(tokens, next.privateKey, 'k2'))).toBe(accepted)
    expect(new Set(await clock.runUntil(Promise.all(others)))).toEqual(new Set([refused]))
    // The first load, one for the first stranger, and one for all the others.
    expect(state.calls).toBe(3)
  })

  test('waits for a load of its own if one is under way that had begun before', async () => {
    const { tokens, state, clock } = await create()
    const first = outcomeOf(tokens.verify(access(junk.privateKey, 'junk')))
    await until(() => state.calls === 2)
    state.published = [old.jwk, next.jwk]
    expect(await clock.runUntil(request(tokens, next.privateKey, 'k2'))).toBe(accepted)
    expect(await first).toBe('TOKEN_SIGNATURE_INVALID')
  })

  test('is accepted if the key function was asked for the same key a moment ago', async () => {
    const { tokens, state, clock } = await create(
      (known) => async (header) =>
        (known.published.find((jwk) => (jwk as { kid: string }).kid === header.kid) as never) ?? null,
    )
    expect(await outcomeOf(tokens.verify(access(next.privateKey, 'k2')))).toBe('TOKEN_SIGNATURE_INVALID')
    state.published = [old.jwk, next.jwk]
    expect(await clock.runUntil(request(tokens, next.privateKey, 'k2'))).toBe(accepted)
    expect(await clock.runUntil(request(tokens, junk.privateKey, 'junk'))).toBe(refused)
  })

  test('is refused where no answer of the issuer could help', async () => {
    const { tokens, state, clock } = await create()
    state.isDown = true
    expect(await clock.runUntil(request(tokens, next.privateKey, ''))).toBe(refused)
  })
})
