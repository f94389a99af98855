import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type ClientOptions, WebSocket, WebSocketServer } from 'ws'
import {
  type AuthenticatedUpgrade,
  isTokenError,
  type UpgradePolicy,
} from '../../packages/tokenlib/src/index.js'
import { createManager, SECRET } from '../helpers/manager.js'

const ORIGIN = 'https://app.example'
const { tokens, clock } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
const revoked = new Set<string>()
let policy: UpgradePolicy = {}
let upgrades: AuthenticatedUpgrade[] = []

// A real server: http for the handshake, ws for what follows.
const server = createServer()
const sockets = new WebSocketServer({
  noServer: true,
  handleProtocols: () => upgrades.at(-1)?.protocol ?? false,
})
server.on(
  'upgrade',
  (request: IncomingMessage, socket: Duplex, head: Buffer) => void accept(request, socket, head),
)

async function accept(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  try {
    const upgrade = await tokens.sockets.authenticate(request, policy)
    upgrades.push(upgrade)
    sockets.handleUpgrade(request, socket, head, (client) => client.send(upgrade.payload.sub))
  } catch (error) {
    socket.end(`HTTP/1.1 401 ${isTokenError(error) ? error.code : 'ERROR'}\r\n\r\n`)
  }
}

let url = ''
beforeAll(async () => {
  tokens.setCallbackTokenBlocklist((token) => revoked.has(token))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`
})
afterAll(() => {
  for (const client of sockets.clients) client.terminate()
  server.close()
})
beforeEach(() => {
  policy = {}
  upgrades = []
})

/** What a real client is told: the greeting of an accepted socket, or the refusal of the handshake. */
async function connect(path: string, protocols: string[] = [], options: ClientOptions = {}): Promise<string> {
  const client = new WebSocket(new URL(path, url), protocols, options)
  const greeting = once(client, 'message').then(([data]) => `${String(data)} ${client.protocol}`.trim())
  const refusal = new Promise<string>((resolve) => {
    client.on('error', () => {})
    client.on('unexpected-response', (_, response: IncomingMessage) => resolve(response.statusMessage ?? ''))
  })
  try {
    return await Promise.race([greeting, refusal])
  } finally {
    client.terminate()
  }
}

const good = () => tokens.createAccessToken({ uid: 'ada' })
const bearer = (token: string): ClientOptions => ({ headers: { authorization: `Bearer ${token}` } })
const cookie = (token: string, origin?: string): ClientOptions => ({
  headers: { cookie: `access_token_cookie=${token}` },
  ...(origin !== undefined && { origin }),
})

describe('a handshake is accepted with a good token', () => {
  test('in the query, although queries are no configured location', async () => {
    expect(await connect(`/?token=${good()}`)).toBe('ada')
    expect(upgrades[0]?.token.location).toBe('query')
  })

  test('in the Authorization header; one in the query comes first', async () => {
    expect(await connect('/', [], bearer(good()))).toBe('ada')
    expect(upgrades[0]?.token.location).toBe('headers')
    expect(await connect(`/?token=${tokens.createAccessToken({ uid: 'query' })}`, [], bearer(good()))).toBe(
      'query',
    )
  })

  test('as a subprotocol, which the server then agrees to', async () => {
    expect(await connect('/', ['bearer', good()])).toBe('ada bearer')
    expect(await connect('/', ['chat', 'bearer', good()])).toBe('ada bearer')
  })

  test('in a cookie, from an origin that was named', async () => {
    policy = { origins: [ORIGIN] }
    expect(await connect('/', [], cookie(good(), ORIGIN))).toBe('ada')
    expect(upgrades[0]?.token.location).toBe('cookies')
  })
})

describe('a handshake is refused before it is accepted', () => {
  test.each<[string, () => Promise<string>, string]>([
    ['without a token', () => connect('/'), 'TOKEN_MISSING'],
    ['with garbage', () => connect('/?token=garbage'), 'TOKEN_INVALID'],
    ['with an empty subprotocol token', () => connect('/', ['bearer']), 'TOKEN_MISSING'],
    [
      'with a token of another key',
      () =>
        connect(
          `/?token=${createManager({ JWT_SECRET_KEY: `${SECRET}!` }).tokens.createAccessToken({ uid: 'u' })}`,
        ),
      'TOKEN_SIGNATURE_INVALID',
    ],
    [
      'with a refresh token',
      () => connect(`/?token=${tokens.createRefreshToken({ uid: 'u' })}`),
      'ACCESS_TOKEN_REQUIRED',
    ],
    ['with two tokens in the query', () => connect(`/?token=${good()}&token=${good()}`), 'TOKEN_INVALID'],
    [
      'with a cookie, when no origin was named',
      () => connect('/', [], cookie(good(), ORIGIN)),
      'TOKEN_MISSING',
    ],
  ])('%s', async (_, attempt, code) => {
    expect(await attempt()).toBe(code)
    expect(upgrades).toEqual([])
  })

  test('with an expired or a revoked token', async () => {
    const token = good()
    revoked.add(token)
    expect(await connect(`/?token=${token}`)).toBe('TOKEN_REVOKED')
    const old = good()
    clock.seconds += 10_000
    expect(await connect(`/?token=${old}`)).toBe('TOKEN_EXPIRED')
    clock.seconds -= 10_000
  })

  test('with a cookie from another origin, or from none (cross-site WebSocket hijacking)', async () => {
    policy = { origins: [ORIGIN] }
    for (const origin of [
      'https://evil.example',
      `${ORIGIN}.evil.example`,
      `${ORIGIN}/`,
      'null',
      undefined,
    ]) {
      expect(await connect('/', [], cookie(good(), origin))).toBe('CSRF_MISMATCH')
    }
  })

  test('with a token that the policy does not accept', async () => {
    policy = { scopes: ['chat'] }
    expect(await connect(`/?token=${good()}`)).toBe('INSUFFICIENT_SCOPE')
    policy = { fresh: true }
    expect(await connect(`/?token=${good()}`)).toBe('FRESH_TOKEN_REQUIRED')
    policy = { type: 'refresh' }
    expect(await connect(`/?token=${tokens.createRefreshToken({ uid: 'u' })}`)).toBe('u')
  })
})

test('a Fetch upgrade request works the same', async () => {
  const request = new Request('http://x/', { headers: { 'sec-websocket-protocol': `bearer, ${good()}` } })
  const upgrade = await tokens.sockets.authenticate(request)
  expect(upgrade).toMatchObject({ payload: { sub: 'ada' }, protocol: 'bearer' })
})

test.each<object>([
  { scope: ['admin'] },
  { origins: ORIGIN },
  { origins: [''] },
  { origins: [1] },
  { type: 'any' },
  { optional: 'yes' },
])('the policy %j is refused before anything is looked at', async (given) => {
  const request = new Request(`http://x/?token=${good()}`)
  await expect(tokens.sockets.authenticate(request, given as never)).rejects.toThrow(TypeError)
})

test('a socket that was closed before, or that cannot be closed, does no harm', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const upgrade = await tokens.sockets.authenticate(new Request(`http://x/?token=${good()}`))
  const closed = { readyState: 3, close: vi.fn(), addEventListener: () => {} }
  tokens.sockets.closeWhenInvalid(closed, upgrade)
  const broken = {
    close: () => {
      throw new Error('gone')
    },
    addEventListener: () => {},
  }
  tokens.sockets.closeWhenInvalid(broken, upgrade)
  revoked.add(upgrade.token.token)
  // A rejection that nobody handles would fail this run.
  await vi.advanceTimersByTimeAsync(30_000)
  expect(vi.getTimerCount()).toBe(0)
  expect(closed.close).not.toHaveBeenCalled()
  vi.useRealTimers()
})

test('the same handshake is checked again each time', async () => {
  const token = good()
  const request = new Request(`http://x/?token=${token}`)
  await tokens.sockets.authenticate(request)
  revoked.add(token)
  await expect(tokens.sockets.authenticate(request)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
})

describe('a socket is closed', () => {
  /** A socket of a real server with its token watched, and how it ends for the client. */
  async function open(token: string) {
    const client = new WebSocket(new URL(`/?token=${token}`, url))
    await once(client, 'message')
    const closed = once(client, 'close').then(([code, reason]) => [code, String(reason)] as [number, string])
    const socket = [...sockets.clients].at(-1) as WebSocket
    const upgrade = upgrades.at(-1) as AuthenticatedUpgrade
    return { client, socket, upgrade, closed }
  }

  test('with 4401 when its token expires', async () => {
    const { socket, upgrade, closed } = await open(tokens.createAccessToken({ uid: 'u' }, { expiresIn: 60 }))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    tokens.sockets.closeWhenInvalid(socket, upgrade, { every: '1h' })
    await vi.advanceTimersByTimeAsync(59_999)
    expect(socket.readyState).toBe(WebSocket.OPEN)
    clock.seconds += 60
    await vi.advanceTimersByTimeAsync(1)
    vi.useRealTimers()
    clock.seconds -= 60
    expect(await closed).toEqual([4401, 'Token has expired'])
  })

  test('with 4401 at the next look after its token was revoked', async () => {
    const token = good()
    const { socket, upgrade, closed } = await open(token)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    tokens.sockets.closeWhenInvalid(socket, upgrade)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(socket.readyState).toBe(WebSocket.OPEN)
    revoked.add(token)
    await vi.advanceTimersByTimeAsync(30_000)
    vi.useRealTimers()
    expect(await closed).toEqual([4401, 'Token is revoked'])
  })

  test('with 1013 when nobody can say whether its token is revoked', async () => {
    const { socket, upgrade, closed } = await open(good())
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    tokens.sockets.closeWhenInvalid(socket, upgrade)
    tokens.setTokenBlocklist(() => {
      throw new Error('down')
    })
    await vi.advanceTimersByTimeAsync(30_000)
    vi.useRealTimers()
    tokens.setTokenBlocklist((token) => revoked.has(token))
    expect((await closed)[0]).toBe(1013)
  })

  test('not after it was stopped or has ended by itself; nothing keeps watching then', async () => {
    const { client, socket, upgrade, closed } = await open(good())
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const stop = tokens.sockets.closeWhenInvalid(socket, upgrade)
    stop()
    expect(vi.getTimerCount()).toBe(0)
    tokens.sockets.closeWhenInvalid(socket, upgrade)
    expect(vi.getTimerCount()).toBe(1)
    const ended = once(socket, 'close')
    client.close(1000, 'bye')
    await ended
    expect((await closed)[0]).toBe(1000)
    expect(vi.getTimerCount()).toBe(0)
    vi.useRealTimers()
  })

  test.each(['500ms', '2d', 'often'])('an interval of %s is refused', async (every) => {
    const { socket, upgrade, client } = await open(good())
    expect(() => tokens.sockets.closeWhenInvalid(socket, upgrade, { every })).toThrow(RangeError)
    client.terminate()
  })
})
