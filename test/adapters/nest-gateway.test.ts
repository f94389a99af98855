import { UseFilters, UseGuards } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { ConnectedSocket, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { describe, expect, test } from 'vitest'
import {
  AccessTokenGuard,
  CurrentSubject,
  Depends,
  enforce,
  protectSockets,
  readUpgrade,
  RefreshTokenGuard,
  RequireScopes,
  type SocketProtection,
  Token,
  TokenClaims,
  TokenExceptionFilter,
  TokenGuard,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { type RequestToken, TokenManager, type TokenPayload } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { GATEWAY_PLATFORMS } from '../helpers/gateway-clients.js'
import { createClock, createManager } from '../helpers/manager.js'
import { serve, type ServeOptions } from '../helpers/nest.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const ORIGIN = 'https://app.example'
const { config } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] }).tokens

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const cookie = (token: string, origin: string) => ({ cookie: `access_token_cookie=${token}`, origin })

describe.each(GATEWAY_PLATFORMS)('on $name', ({ createAdapter, connect }) => {
  /** A manager, and an application with a gateway that is guarded in every way, and one that is in none. */
  function createApplication(protection: SocketProtection = {}) {
    const clock = createClock()
    const tokens = new TokenManager({
      config,
      clock,
      store: createMemoryStore({ clock }),
      subjectGetter: (uid) => ({ name: uid.toUpperCase() }),
    })
    const ran: string[] = []

    @WebSocketGateway()
    @UseFilters(new TokenExceptionFilter())
    class Gateway {
      handleConnection(client: object): void {
        ran.push(`connected ${readUpgrade(client, tokens)?.payload.sub}`)
      }

      @SubscribeMessage('access')
      @UseGuards(AccessTokenGuard)
      access(@TokenClaims() payload: TokenPayload) {
        ran.push('access')
        return { event: 'access', data: payload.sub }
      }

      @SubscribeMessage('refresh')
      @UseGuards(RefreshTokenGuard)
      refresh(@TokenClaims() payload: TokenPayload) {
        return { event: 'refresh', data: payload.sub }
      }

      @SubscribeMessage('enforced')
      @UseGuards(enforce(tokens.accessTokenRequired))
      enforced(@Depends(tokens.accessTokenOptional) payload: TokenPayload | null) {
        return { event: 'enforced', data: payload?.sub }
      }

      @SubscribeMessage('scopes')
      @RequireScopes('write')
      scopes() {
        return { event: 'scopes', data: 'ran' }
      }

      @SubscribeMessage('parameters')
      parameters(@Token() token: RequestToken, @CurrentSubject() subject: { name: string }) {
        return { event: 'parameters', data: [token.location, subject.name] }
      }
    }

    @WebSocketGateway()
    class OpenGateway {
      @SubscribeMessage('unguarded')
      unguarded(@ConnectedSocket() client: object) {
        ran.push('unguarded')
        return { event: 'unguarded', data: readUpgrade(client, tokens)?.payload.sub }
      }
    }

    const open = async (headers: Record<string, string>, options: ServeOptions = {}) => {
      const { port } = await serve([], {
        imports: [TokenModule.forRoot({ tokens })],
        providers: [Gateway, OpenGateway, { provide: APP_GUARD, useClass: TokenGuard }],
        setUp: (app) => void app.useWebSocketAdapter(protectSockets(createAdapter(app), tokens, protection)),
        ...options,
      })
      return connect(port, headers)
    }
    return { tokens, clock, ran, open, gateways: [Gateway, OpenGateway] }
  }

  test('the handshake decides for a cookie: messages need no CSRF value', async () => {
    const { tokens, ran, open } = createApplication({ origins: [ORIGIN] })
    const client = await open(cookie(tokens.createAccessToken({ uid: 'ada' }), ORIGIN))
    expect(client.status).toBe(101)
    expect(ran).toEqual(['connected ada'])
    expect(await client.send('access')).toBe('ada')
    expect(await client.send('enforced')).toBe('ada')
    expect(await client.send('unguarded')).toBe('ada')
    expect(await client.send('parameters')).toEqual(['cookies', 'ADA'])
  })

  test('a page of another origin gets no socket, and nothing runs', async () => {
    const { tokens, ran, open } = createApplication({ origins: [ORIGIN] })
    const token = tokens.createAccessToken({ uid: 'ada' })
    expect((await open(cookie(token, 'https://evil.example'))).status).toBe(401)
    expect((await open({ cookie: `access_token_cookie=${token}` })).status).toBe(401)
    expect(ran).toEqual([])
  })

  test('a handshake without a good token is answered with the status of the error', async () => {
    const { tokens, ran, open } = createApplication({ scopes: ['chat'] })
    const good = tokens.createAccessToken({ uid: 'ada' }, { scopes: ['chat'] })
    expect((await open({})).status).toBe(401)
    expect((await open(bearer('bad'))).status).toBe(401)
    expect((await open(bearer(tokens.createRefreshToken({ uid: 'ada' })))).status).toBe(401)
    expect((await open(bearer(tokens.createAccessToken({ uid: 'ada' })))).status).toBe(403)
    tokens.setCallbackTokenBlocklist(() => Promise.reject(new Error('ECONNREFUSED')))
    expect((await open(bearer(good))).status).toBe(503)
    expect(ran).toEqual([])
  })

  test('a fault of the program refuses the handshake with 500', async () => {
    const { tokens, open } = createApplication()
    const broken = {
      ...tokens,
      sockets: { ...tokens.sockets, authenticate: () => Promise.reject(new Error('fault')) },
    }
    const setUp: ServeOptions['setUp'] = (app) =>
      void app.useWebSocketAdapter(protectSockets(createAdapter(app), broken as unknown as TokenManager))
    const client = await open(bearer(tokens.createAccessToken({ uid: 'ada' })), { setUp })
    expect(client.status).toBe(500)
  })

  test('guards hold the token of the handshake against their own policy', async () => {
    const { tokens, open } = createApplication()
    const client = await open(bearer(tokens.createAccessToken({ uid: 'ada' })))
    expect(await client.send('refresh')).toBe('REFRESH_TOKEN_REQUIRED')
    expect(await client.send('scopes')).toBe('INSUFFICIENT_SCOPE')
    const writer = await open(bearer(tokens.createAccessToken({ uid: 'ada' }, { scopes: ['write'] })))
    expect(await writer.send('scopes')).toBe('ran')
  })

  test.each(['access', 'unguarded'])('no message reaches %s once the token is revoked', async (event) => {
    const { tokens, ran, open } = createApplication()
    const token = tokens.createAccessToken({ uid: 'ada' })
    const client = await open(bearer(token))
    expect(await client.send(event)).toBe('ada')
    await tokens.revoke.token(await tokens.verify(token))
    for (let count = 0; count < 20; count++) client.push(event)
    expect(await client.closed).toBe(4401)
    expect(ran.filter((name) => name === event)).toEqual([event])
  })

  test('an expired token ends its connection with the next message', async () => {
    const { tokens, clock, ran, open } = createApplication()
    const client = await open(bearer(tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 3600 })))
    clock.seconds += 3601
    client.push('unguarded')
    expect(await client.closed).toBe(4401)
    expect(ran).toEqual(['connected ada'])
  })

  test('a socket that follows its session outlives its token, for messages and guards, until the logout', async () => {
    const { tokens, clock, ran, open } = createApplication({ until: 'session' })
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' }, { access: { expiresIn: 900 } })
    const client = await open(bearer(accessToken))
    expect(await client.send('access')).toBe('ada')
    clock.seconds += 901
    expect(await client.send('access')).toBe('ada')
    clock.seconds += 86_400
    expect(await client.send('enforced')).toBe('ada')
    expect(await client.send('unguarded')).toBe('ada')
    expect(await client.send('parameters')).toEqual(['headers', 'ADA'])
    expect(await client.send('refresh')).toBe('REFRESH_TOKEN_REQUIRED')
    await tokens.logout(internalsOf(tokens).verifyWithoutRevocation(accessToken, { allowExpired: true }))
    client.push('unguarded')
    expect(await client.closed).toBe(4401)
    expect(ran.filter((name) => name === 'unguarded')).toHaveLength(1)
  })

  test('a socket that follows its session accepts no message once that has expired', async () => {
    const { tokens, clock, ran, open } = createApplication({ until: 'session' })
    const { accessToken } = await tokens.sessions.open(
      { uid: 'ada' },
      { access: { expiresIn: 900 }, refresh: { expiresIn: 1000 } },
    )
    const client = await open(bearer(accessToken))
    clock.seconds += 999
    expect(await client.send('unguarded')).toBe('ada')
    clock.seconds += 1
    client.push('unguarded')
    expect(await client.closed).toBe(4401)
    expect(ran.filter((name) => name === 'unguarded')).toHaveLength(1)
  })

  test('a token without a session cannot open a socket that follows its session', async () => {
    const { tokens, ran, open } = createApplication({ until: 'session' })
    expect((await open(bearer(tokens.createAccessToken({ uid: 'ada' })))).status).toBe(401)
    expect(ran).toEqual([])
  })

  test('where nobody can say whether the token is revoked, the client is told to try again later', async () => {
    const { tokens, ran, open } = createApplication()
    const client = await open(bearer(tokens.createAccessToken({ uid: 'ada' })))
    tokens.setCallbackTokenBlocklist(() => Promise.reject(new Error('ECONNREFUSED')))
    client.push('unguarded')
    expect(await client.closed).toBe(1013)
    expect(ran).toEqual(['connected ada'])
  })

  test('a connection that says nothing is watched too', async () => {
    const { tokens, open } = createApplication({ every: '1s' })
    const token = tokens.createAccessToken({ uid: 'ada' })
    const client = await open(bearer(token))
    await tokens.revoke.token(await tokens.verify(token))
    expect(await client.closed).toBe(4401)
  })

  test('messages of a connection with a refresh token do not present it again', async () => {
    const { tokens, clock, open, gateways } = createApplication({ type: 'refresh' })
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    // The token guard would ask for an access token.
    const client = await open(bearer(refreshToken), { providers: gateways })
    await tokens.sessions.refresh(refreshToken)
    clock.seconds += 120
    expect(await client.send('refresh')).toBe('ada')
    expect(await client.send('unguarded')).toBe('ada')
    expect(await client.send('access')).toBe('ACCESS_TOKEN_REQUIRED')
    expect(await tokens.sessions.list('ada')).toHaveLength(1)
  })

  test('messages keep their order, however long each check takes', async () => {
    const { tokens, ran, open } = createApplication()
    const client = await open(bearer(tokens.createAccessToken({ uid: 'ada' })))
    const answers: ((isRevoked: boolean) => void)[] = []
    const asked = new Promise<void>((resolve) => {
      tokens.setCallbackTokenBlocklist(() => {
        if (answers.length === 1) resolve()
        return new Promise((answer) => void answers.push(answer))
      })
    })
    client.push('unguarded')
    const last = client.send('access')
    await asked
    answers[1]?.(false)
    answers[0]?.(false)
    expect(await last).toBe('ada')
    expect(ran).toEqual(['connected ada', 'unguarded', 'access'])
  })
})
