import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { Controller, Get, UseFilters, UseGuards } from '@nestjs/common'
import { APP_FILTER, APP_GUARD } from '@nestjs/core'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { describe, expect, test } from 'vitest'
import {
  protectSockets,
  RefreshTokenGuard,
  SessionModule,
  TokenExceptionFilter,
  TokenGuard,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { type FormatError, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { GATEWAY_PLATFORMS } from '../helpers/gateway-clients.js'
import { createManager } from '../helpers/manager.js'
import { PLATFORMS, serve } from '../helpers/nest.js'

const { config } = createManager().tokens

const formatError: FormatError = ({ status, code, error, message }) => ({
  error: { status, code, text: message.toUpperCase(), isToken: error !== null },
})

const createTokens = (format = formatError) =>
  new TokenManager({ config, store: createMemoryStore(), formatError: format })

@Controller()
class HomeController {
  @Get('home')
  home() {
    return 'home'
  }
}

@WebSocketGateway()
@UseFilters(TokenExceptionFilter)
class ChatGateway {
  @SubscribeMessage('refresh')
  @UseGuards(RefreshTokenGuard)
  refresh() {
    return { event: 'refresh', data: 'ran' }
  }
}

const providers = [
  { provide: APP_GUARD, useClass: TokenGuard },
  { provide: APP_FILTER, useClass: TokenExceptionFilter },
]

/** The lines of the response to a handshake, headers and body. */
async function shakeHands(port: number, path: string): Promise<string[]> {
  const socket = connectTcp(port, '127.0.0.1')
  const key = 'dGhlIHNhbXBsZSBub25jZQ=='
  const headers = `Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}`
  socket.write(`GET ${path} HTTP/1.1\r\n${headers}\r\n\r\n`)
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  await once(socket, 'close')
  return text.split('\r\n')
}

describe.each(PLATFORMS)('one formatError on %s', (platform) => {
  const imports = (tokens: TokenManager) => [
    TokenModule.forRoot({ tokens }),
    SessionModule.forRoot({
      logIn: () => null,
      rateLimit: { before: ({ credentials }) => (credentials['name'] === 'slow' ? 7 : null) },
    }),
  ]

  test('is for the filter and for every session route', async () => {
    const { send } = await serve([HomeController], { imports: imports(createTokens()), providers, platform })
    const missing = { status: 401, code: 'TOKEN_MISSING', isToken: true }
    for (const path of ['/home', '/auth/session', '/auth/sessions']) {
      const response = await send(path)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="api"')
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('content-type')).toMatch(/^application\/json/)
      expect(await response.json()).toEqual({
        error: { ...missing, text: expect.stringMatching(/^[A-Z ]/) as string },
      })
    }
  })

  test.each([
    ['a wrong password', 'POST', { name: 'ada' }, 401, 'CREDENTIALS_INVALID'],
    ['too many attempts', 'POST', { name: 'slow' }, 429, 'RATE_LIMITED'],
    ['another method', 'PUT', { name: 'ada' }, 405, 'METHOD_NOT_ALLOWED'],
  ])('is for %s, which has no token error', async (_, method, body, status, code) => {
    const { send } = await serve([], { imports: imports(createTokens()), platform })
    const headers = { 'content-type': 'application/json' }
    const response = await send('/auth/login', { method, headers, body: JSON.stringify(body) })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { status, code, isToken: false } })
    if (status === 429) expect(response.headers.get('retry-after')).toBe('7')
    if (status === 405) expect(response.headers.get('allow')).toBe('POST')
  })

  test('that fails leaves the standard body', async () => {
    const tokens = createTokens(() => {
      throw new Error('no text for this')
    })
    const { send } = await serve([HomeController], { imports: imports(tokens), providers, platform })
    for (const path of ['/home', '/auth/session']) {
      const response = await send(path)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="api"')
      expect(await response.json()).toMatchObject({ code: 'TOKEN_MISSING', error_type: 'MissingTokenError' })
    }
  })
})

describe.each(GATEWAY_PLATFORMS)('one formatError on $name', ({ name, createAdapter, connect }) => {
  const start = (tokens: TokenManager) =>
    serve([], {
      imports: [TokenModule.forRoot({ tokens })],
      providers: [ChatGateway],
      setUp: (app) => void app.useWebSocketAdapter(protectSockets(createAdapter(app), tokens)),
    })

  test('is for refused handshakes, which have one Content-Type', async () => {
    const { port } = await start(createTokens())
    const path = name === 'ws' ? '/' : '/socket.io/?EIO=4&transport=websocket'
    const lines = await shakeHands(port, path)
    expect(lines[0]).toMatch(/^HTTP\/1.1 401 /)
    expect(lines.filter((line) => /^content-type:/i.test(line)).map((line) => line.toLowerCase())).toEqual([
      'content-type: application/json; charset=utf-8',
    ])
    expect(lines.filter((line) => /^www-authenticate:/i.test(line))).toHaveLength(1)
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ error: { status: 401, code: 'TOKEN_MISSING' } })
  })

  test('is for messages that a guard refuses', async () => {
    const tokens = createTokens(({ code }) => ({ code: `own ${code}` }))
    const { port } = await start(tokens)
    const client = await connect(port, {
      authorization: `Bearer ${tokens.createAccessToken({ uid: 'ada' })}`,
    })
    expect(await client.send('refresh')).toBe('own REFRESH_TOKEN_REQUIRED')
  })
})
