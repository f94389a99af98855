import { describe, expect, onTestFinished, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import {
  createBackChannelLogout,
  createEventReceiver,
  createGlobalTokenRevocation,
  type MountableRoutes,
  type ReceiverTokens,
} from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { NOW, SECRET } from '../helpers/manager.js'
import {
  API,
  CLIENT,
  createReceiving,
  eventToken,
  ID,
  logoutToken,
  revocationJwt,
  RISC,
  sendEvent,
  sendLogout,
  sendRevocation,
  STRANGER,
} from './security-events-fixture.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const ADA = { format: 'iss_sub', iss: ID.issuer, sub: 'ada' }

interface Receiver {
  readonly name: string
  create(tokens: ReceiverTokens, options?: object): MountableRoutes
  /** Sends a valid request. */
  send(
    routes: MountableRoutes,
    changes?: object,
  ): Promise<{ readonly status: number; readonly headers: Headers }>
}

const RECEIVERS: readonly Receiver[] = [
  {
    name: 'createBackChannelLogout',
    create: (tokens, options) => createBackChannelLogout(tokens, { clientId: CLIENT, ...options }),
    send: (routes, changes) => sendLogout(routes, logoutToken(changes)),
  },
  {
    name: 'createEventReceiver',
    create: (tokens, options) => createEventReceiver(tokens, { audience: API, ...options }),
    send: (routes, changes) => sendEvent(routes, eventToken(`${RISC}account-disabled`, ADA, changes)),
  },
  {
    name: 'createGlobalTokenRevocation',
    create: (tokens, options) =>
      createGlobalTokenRevocation(tokens, { audience: `${API}/global-token-revocation`, ...options }),
    send: (routes, changes) => sendRevocation(routes, ADA, revocationJwt(changes)),
  },
]

describe.each(RECEIVERS)('$name', ({ name, create, send }) => {
  const audience = name === 'createBackChannelLogout' ? 'clientId' : 'audience'
  const { tokens } = createReceiving()

  test('a manager without issuers is refused', () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    const alone = new TokenManager({ config, store: createMemoryStore() })
    expect(internalsOf(alone).issuers).toEqual([])
    expect(internalsOf(tokens).issuers).toContain(ID.issuer)
    expect(() => create(alone)).toThrow(expect.objectContaining({ code: 'CONFIGURATION_INVALID' }) as Error)
  })

  test.each<[option: string, value: unknown]>([
    [audience, undefined],
    [audience, ''],
    [audience, []],
    [audience, [CLIENT, 7]],
    ['issuer', ''],
    ['issuer', []],
    ['path', 'logout'],
    ['path', '/logout/'],
    ['path', '/a b'],
    ['everywhere', 'yes'],
    ['maxAge', 0],
    ['maxAge', 'long'],
    ['toUid', 'ada'],
  ])('%s: %j is a TypeError', (option, value) => {
    expect(() => create(tokens, { [option]: value })).toThrow(TypeError)
  })

  test('an issuer that the manager does not have is a TypeError', () => {
    expect(() => create(tokens, { issuer: STRANGER.issuer })).toThrow(TypeError)
    expect(() => create(tokens, { issuer: [ID.issuer, STRANGER.issuer] })).toThrow(TypeError)
  })

  test('what is no manager is a TypeError, and one without a store a ConfigurationError', () => {
    expect(() => create({} as never)).toThrow(TypeError)
    const bare = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    expect(() => create(bare)).toThrow(expect.objectContaining({ code: 'CONFIGURATION_INVALID' }) as Error)
  })

  test('a store that keeps no sessions is enough', async () => {
    const store = Object.create(createMemoryStore(), { sessions: { value: undefined } }) as never
    expect((await send(create(createReceiving({ store }).tokens))).status).toBeLessThan(300)
  })

  test('a store that fails is a 503 where the answer is for every process, and the same request succeeds later', async () => {
    const memory = createMemoryStore()
    let isDown = false
    const store: typeof memory = Object.create(memory, {
      revoke: {
        value: async (...given: Parameters<typeof memory.revoke>) => {
          if (isDown) throw new Error('ECONNREFUSED')
          return memory.revoke(...given)
        },
      },
    }) as never
    const receiving = createReceiving({ store: replicate(store, { bound: '20ms' }) })
    onTestFinished(() => receiving.tokens.close())
    await receiving.tokens.ready()
    const routes = create(receiving.tokens, { everywhere: true })
    isDown = true
    const answer = await send(routes)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
    isDown = false
    expect((await send(routes)).status).toBeLessThan(300)
  })

  test('keys that cannot be loaded are a 503', async () => {
    const keys = (): never => {
      throw new Error('ENOTFOUND')
    }
    const { tokens: keyless, revoked } = createReceiving({ keys })
    expect((await send(create(keyless))).status).toBe(503)
    expect(revoked).toEqual([])
  })

  test('a JWT of a sender whose clock is up to a minute ahead is accepted', async () => {
    const routes = create(tokens)
    const ahead = (seconds: number) => ({ iat: NOW + seconds, nbf: NOW + seconds })
    expect((await send(routes, ahead(60))).status).toBeLessThan(300)
    expect([400, 401]).toContain((await send(routes, ahead(61))).status)
  })

  test('a JWT may be longer than an access token', async () => {
    const answer = await send(create(tokens), { more: 'a'.repeat(32 * 1024) })
    expect(answer.status).toBeLessThan(300)
  })

  test('everywhere without a replica is a ConfigurationError', () => {
    const invalid = expect.objectContaining({ code: 'CONFIGURATION_INVALID' }) as Error
    expect(() => create(tokens, { everywhere: true })).toThrow(invalid)
  })
})

test.each<[name: string, exp: number | undefined, maxAge: string, end: number]>([
  ['its exp', NOW + 120, '1h', NOW + 120],
  ['its highest age, without an exp', undefined, '1h', NOW + 3600],
  ['its highest age, with an exp after that', NOW + 86_400, '10m', NOW + 600],
])('a used JWT is remembered until %s', async (_name, exp, maxAge, end) => {
  const until: number[] = []
  const memory = createMemoryStore()
  const revoke: typeof memory.revoke = async (batch) => {
    until.push(...batch.filter(({ kind }) => kind === 'token').map((entry) => entry.until))
    return memory.revoke(batch)
  }
  const store = Object.create(memory, { revoke: { value: revoke } }) as typeof memory
  const routes = createBackChannelLogout(createReceiving({ store }).tokens, { clientId: CLIENT, maxAge })
  expect((await sendLogout(routes, logoutToken({ exp }))).status).toBe(200)
  expect(until).toHaveLength(1)
  // And a little longer, for clocks that differ.
  const rest = (until[0] as number) / 1000 - end
  expect(rest >= 0 && rest <= 300).toBe(true)
})

test.each<[option: string, value: unknown]>([
  ['authorization', 'secret'],
  ['events', []],
  ['events', { 'https://example.com/event': 'all' }],
  ['subjectIssuers', [ID.issuer]],
  ['subjectIssuers', { [ID.issuer]: ID.issuer }],
  ['subjectIssuers', { [ID.issuer]: [STRANGER.issuer] }],
  ['subjectIssuers', { [STRANGER.issuer]: [ID.issuer] }],
  ['toSubject', {}],
  ['revoke', 'all'],
  ['onEvent', {}],
])('createEventReceiver, %s: %j is a TypeError', (option, value) => {
  const { tokens } = createReceiving()
  expect(() => createEventReceiver(tokens, { audience: API, [option]: value })).toThrow(TypeError)
})

test.each<[option: string, value: unknown]>([
  ['revoke', 'all'],
  ['requireTyp', 'yes'],
  ['onLogout', {}],
])('createBackChannelLogout, %s: %j is a TypeError', (option, value) => {
  const { tokens } = createReceiving()
  expect(() => createBackChannelLogout(tokens, { clientId: CLIENT, [option]: value })).toThrow(TypeError)
})
