import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { UseFilters, UseGuards } from '@nestjs/common'
import { WsAdapter } from '@nestjs/platform-ws'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import {
  AccessTokenGuard,
  Depends,
  enforce,
  Payload,
  RefreshTokenGuard,
  rememberUpgrade,
  TokenExceptionFilter,
  TokenModule,
} from '../../src/adapters/nest/index.js'
import type { TokenPayload } from '../../src/index.js'
import { createManager } from '../helpers/manager.js'
import { serve } from '../helpers/nest.js'

const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
const revoked = new Set<string>()
tokens.setCallbackTokenBlocklist((token) => revoked.has(token))

@WebSocketGateway()
@UseFilters(new TokenExceptionFilter())
class Gateway {
  handleConnection(client: object, request: IncomingMessage): void {
    rememberUpgrade(client, request)
  }

  @SubscribeMessage('access')
  @UseGuards(AccessTokenGuard)
  access(@Payload() payload: TokenPayload) {
    return { event: 'access', data: payload.sub }
  }

  @SubscribeMessage('refresh')
  @UseGuards(RefreshTokenGuard)
  refresh(@Depends(tokens.refreshTokenRequired) payload: TokenPayload) {
    return { event: 'refresh', data: payload.sub }
  }

  @SubscribeMessage('enforced')
  @UseGuards(enforce(tokens.accessTokenRequired))
  enforced() {
    return { event: 'enforced', data: 'ran' }
  }
}

/** A real client of a real gateway; what it gets for a message is the value, or the code of a refusal. */
async function connect(headers: Record<string, string>) {
  const { port } = await serve([], {
    imports: [TokenModule.forRoot({ tokens })],
    providers: [Gateway],
    setUp: (app) => void app.useWebSocketAdapter(new WsAdapter(app)),
  })
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers })
  await once(socket, 'open')
  return async (event: string): Promise<unknown> => {
    socket.send(JSON.stringify({ event, data: {} }))
    const [text] = (await once(socket, 'message')) as [Buffer]
    const answer = JSON.parse(text.toString()) as { event: string; data: { code?: string } }
    return answer.event === 'exception' ? answer.data.code : answer.data
  }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

test('the messages of a connection are guarded by the token that opened it', async () => {
  const send = await connect(bearer(tokens.createAccessToken({ uid: 'ada' })))
  expect([await send('access'), await send('enforced'), await send('refresh')]).toEqual([
    'ada',
    'ran',
    'REFRESH_TOKEN_REQUIRED',
  ])
})

test('a connection with a refresh token gets to what refresh tokens may', async () => {
  const send = await connect(bearer(tokens.createRefreshToken({ uid: 'ada' })))
  expect([await send('refresh'), await send('access')]).toEqual(['ada', 'ACCESS_TOKEN_REQUIRED'])
})

test('a connection without a token, or with a bad one, gets to nothing', async () => {
  const without = await connect({})
  expect([await without('access'), await without('enforced')]).toEqual(['TOKEN_MISSING', 'TOKEN_MISSING'])
  const bad = await connect(bearer('bad'))
  expect(await bad('access')).toBe('TOKEN_INVALID')
})

test('REV-19 a revocation reaches a connection that is open', async () => {
  const token = tokens.createAccessToken({ uid: 'ada' })
  const send = await connect(bearer(token))
  expect(await send('access')).toBe('ada')
  revoked.add(token)
  expect([await send('access'), await send('enforced')]).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED'])
})

test('CKI-14 a cookie of whatever page opened the connection is not enough', async () => {
  const send = await connect({ cookie: `access_token_cookie=${tokens.createAccessToken({ uid: 'ada' })}` })
  expect(await send('access')).toBe('CSRF_MISSING')
})
