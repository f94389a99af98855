import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  type UpgradePolicy,
} from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createClock, PATIENT, SECRET } from '../helpers/manager.js'
import { type EchoClient, SOCKET_SERVERS } from '../helpers/socket-servers.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const ORIGIN = 'https://app.example'
const POLICY: UpgradePolicy = { until: 'session', origins: [ORIGIN] }

const ended: (() => Promise<void>)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const end of ended.splice(0).toReversed()) await end()
})

describe.each(SOCKET_SERVERS)('on $name, a socket that follows its session', ({ create }) => {
  /** A server, a manager whose clock stands still, and a client that has connected. */
  async function start(fields: TokenConfigOptions = {}, { hasReplica = false } = {}) {
    const clock = createClock()
    const store = createMemoryStore({ clock })
    const revocation = hasReplica ? replicate(store) : store
    ended.push(() => revocation.close())
    const config = new TokenConfig({
      JWT_SECRET_KEY: SECRET,
      JWT_TOKEN_LOCATION: ['headers', 'cookies'],
      JWT_ACCESS_TOKEN_EXPIRES: '15m',
      ...PATIENT,
      ...fields,
    })
    const tokens = new TokenManager({ config, clock, store: revocation })
    await tokens.ready()
    const server = await create(tokens, POLICY, '1h')
    ended.push(() => server.close())
    const pair = await tokens.sessions.open({ uid: 'ada' })
    const open = async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const client = (await server.connect({ protocols: ['bearer', pair.accessToken] })) as EchoClient
      expect(client).toHaveProperty('closed')
      return client
    }
    const pass = async (seconds: number) => {
      clock.seconds += seconds
      await vi.advanceTimersByTimeAsync(seconds * 1000)
    }
    return { tokens, clock, store, server, pair, open, pass }
  }

  test('needs a token in the handshake', async () => {
    const { server, tokens } = await start()
    expect(await server.connect({})).toBe(401)
    const stray = tokens.createAccessToken({ uid: 'ada' })
    expect(await server.connect({ protocols: ['bearer', stray] })).toBe(401)
  })

  test('takes the cookie of a page, of its own origin only', async () => {
    const { server, pair } = await start()
    const cookie = `access_token_cookie=${pair.accessToken}`
    const client = (await server.connect({ headers: { cookie, origin: ORIGIN } })) as EchoClient
    expect(await client.send('hello')).toBe('ada: hello')
    expect(await server.connect({ headers: { cookie, origin: 'https://evil.example' } })).toBe(401)
  })

  test('outlives its access token, and is closed with 4401 at the logout', async () => {
    const { tokens, pair, open, pass } = await start()
    const client = await open()
    await pass(900)
    await expect(tokens.verify(pair.accessToken)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
    await pass(3600)
    expect(await client.send('still here')).toBe('ada: still here')
    await tokens.logout(internalsOf(tokens).verifyWithoutRevocation(pair.accessToken, { allowExpired: true }))
    await pass(3600)
    expect(await client.closed).toBe(4401)
  })

  test.each<[string, (tokens: TokenManager) => Promise<unknown>]>([
    ['its user', (tokens) => tokens.revoke.user('ada')],
    ['everything', (tokens) => tokens.revoke.all()],
  ])('is closed with 4401 after %s was revoked', async (_, revoke) => {
    const { tokens, open, pass } = await start()
    const client = await open()
    await pass(900)
    await revoke(tokens)
    await pass(3600)
    expect(await client.closed).toBe(4401)
  })

  test.each<[string, TokenConfigOptions]>([
    ['expires', { JWT_REFRESH_TOKEN_EXPIRES: '30m' }],
    ['goes unused for too long', { JWT_REFRESH_IDLE_EXPIRES: '30m' }],
  ])('is closed with 4401 when the session %s', async (_, fields) => {
    const { open, pass } = await start(fields)
    const client = await open()
    await pass(900)
    expect(await client.send('hello')).toBe('ada: hello')
    await pass(901)
    expect(await client.closed).toBe(4401)
  })

  test('is closed with 1013 when the store is gone', async () => {
    const { store, open, pass } = await start()
    const client = await open()
    await store.close()
    await pass(900)
    expect(await client.closed).toBe(1013)
  })

  test('is closed immediately where there is a replica', async () => {
    const { tokens, server, pair } = await start({}, { hasReplica: true })
    const client = (await server.connect({ protocols: ['bearer', pair.accessToken] })) as EchoClient
    expect(await client.send('hello')).toBe('ada: hello')
    await tokens.logout(await tokens.verify(pair.accessToken))
    expect(await client.closed).toBe(4401)
  })
})
