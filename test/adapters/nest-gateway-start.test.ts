import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type CanActivate,
  type INestApplication,
  Injectable,
  Module,
  type Provider,
  Scope,
  type Type,
  UseGuards,
} from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { IoAdapter } from '@nestjs/platform-socket.io'
import { WsAdapter } from '@nestjs/platform-ws'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import {
  AccessTokenGuard,
  enforce,
  ManagerGuard,
  protectSockets,
  Public,
  RefreshTokenGuard,
  TokenGuard,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { TokenManager } from '../../packages/tokenlib/src/index.js'
import { GATEWAY_PLATFORMS } from '../helpers/gateway-clients.js'
import { createManager } from '../helpers/manager.js'
import { serve, type ServeOptions } from '../helpers/nest.js'

const { tokens } = createManager()
const UNPROTECTED = {
  code: 'CONFIGURATION_INVALID',
  message: expect.stringContaining('protectSockets') as string,
}
const appGuard = { provide: APP_GUARD, useClass: TokenGuard }

@WebSocketGateway()
class PlainGateway {
  @SubscribeMessage('event')
  handle() {
    return { event: 'event', data: 'ran' }
  }
}

@WebSocketGateway()
class SilentGateway {}

@WebSocketGateway()
class HalfGateway extends PlainGateway {
  @SubscribeMessage('open')
  @Public()
  open(): void {}
}

@WebSocketGateway()
@Public()
class PublicGateway {
  @SubscribeMessage('event')
  handle() {
    return { event: 'event', data: 'ran' }
  }
}

@WebSocketGateway()
@UseGuards(AccessTokenGuard)
class GuardedGateway extends PlainGateway {}

@WebSocketGateway()
class EnforcedGateway {
  @SubscribeMessage('event')
  @UseGuards(enforce(tokens.accessTokenRequired))
  handle(): void {}
}

const start = (providers: ServeOptions['providers'] = [], setUp?: ServeOptions['setUp']) =>
  serve([], {
    imports: [TokenModule.forRoot({ tokens })],
    providers,
    setUp: setUp ?? ((app) => void app.useWebSocketAdapter(new WsAdapter(app))),
  })

describe('an application does not start', () => {
  test.each<Type<object>>([PlainGateway, SilentGateway, HalfGateway])(
    'with TokenGuard for all routes and %o, whose sockets are not authenticated',
    async (gateway) => {
      await expect(start([gateway, appGuard])).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' })
    },
  )

  test('however TokenGuard is made global', async () => {
    const global = (app: INestApplication): void =>
      void app.useWebSocketAdapter(new IoAdapter(app)).useGlobalGuards(new TokenGuard(tokens))
    await expect(start([PlainGateway], global)).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' })
    const useValue = { provide: APP_GUARD, useValue: new TokenGuard(tokens) }
    await expect(start([PlainGateway, useValue])).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' })
    @Injectable({ scope: Scope.REQUEST })
    class ScopedGuard extends TokenGuard {}
    const scoped = { provide: APP_GUARD, useClass: ScopedGuard }
    await expect(start([PlainGateway, scoped])).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' })
  })

  @Injectable()
  class AdultGuard extends ManagerGuard {
    protected override choose(manager: typeof tokens) {
      return manager.accessTokenRequired
    }
  }
  @Injectable({ scope: Scope.REQUEST })
  class ScopedAccessGuard extends AccessTokenGuard {}

  const injecting = { inject: [TokenManager], scope: Scope.REQUEST }
  const globalGuards: [string, Provider[]][] = [
    ['useClass: AccessTokenGuard', [{ provide: APP_GUARD, useClass: AccessTokenGuard }]],
    ['useClass: RefreshTokenGuard', [{ provide: APP_GUARD, useClass: RefreshTokenGuard }]],
    ['useClass with a subclass of ManagerGuard', [{ provide: APP_GUARD, useClass: AdultGuard }]],
    ['useClass with scope REQUEST', [{ provide: APP_GUARD, useClass: ScopedAccessGuard }]],
    ['useExisting', [AccessTokenGuard, { provide: APP_GUARD, useExisting: AccessTokenGuard }]],
    [
      'useExisting with scope REQUEST',
      [ScopedAccessGuard, { provide: APP_GUARD, useExisting: ScopedAccessGuard, scope: Scope.REQUEST }],
    ],
    [
      'useExisting with a class of scope REQUEST',
      [ScopedAccessGuard, { provide: APP_GUARD, useExisting: ScopedAccessGuard }],
    ],
    [
      'useExisting with a name and scope REQUEST',
      [
        { provide: 'guard', useClass: ScopedAccessGuard },
        { provide: APP_GUARD, useExisting: 'guard', scope: Scope.REQUEST },
      ],
    ],
    ['useValue: enforce()', [{ provide: APP_GUARD, useValue: enforce(tokens.accessTokenRequired) }]],
    ['useFactory', [{ provide: APP_GUARD, useFactory: () => enforce(tokens.accessTokenRequired) }]],
    [
      'useFactory with scope REQUEST',
      [{ provide: APP_GUARD, useFactory: (manager) => new AccessTokenGuard(manager), ...injecting }],
    ],
  ]

  describe.each(globalGuards)('with the global guard %s', (_, guards) => {
    test.each(GATEWAY_PLATFORMS)('and a gateway on $name', async ({ createAdapter }) => {
      const setUp: ServeOptions['setUp'] = (app) => void app.useWebSocketAdapter(createAdapter(app))
      await expect(start([PlainGateway, ...guards], setUp)).rejects.toMatchObject(UNPROTECTED)
    })

    test('and a public gateway, because @Public() is for TokenGuard', async () => {
      await expect(start([PublicGateway, ...guards])).rejects.toMatchObject(UNPROTECTED)
      await expect(start([PublicGateway, appGuard, ...guards])).rejects.toMatchObject(UNPROTECTED)
    })

    test('in another module than the gateway', async () => {
      @Module({ providers: guards })
      class GuardModule {}
      @Module({ providers: [PlainGateway] })
      class GatewayModule {}
      @Module({ imports: [GatewayModule, GuardModule] })
      class FeatureModule {}
      const starting = serve([], {
        imports: [TokenModule.forRoot({ tokens }), FeatureModule],
        setUp: (app) => void app.useWebSocketAdapter(new WsAdapter(app)),
      })
      await expect(starting).rejects.toMatchObject(UNPROTECTED)
    })
  })

  test.each([
    ['enforce()', () => enforce(tokens.accessTokenRequired)],
    ['AccessTokenGuard', () => new AccessTokenGuard(tokens)],
    ['a subclass of ManagerGuard', () => new AdultGuard(tokens)],
  ])('with app.useGlobalGuards() and %s', async (_, createGuard) => {
    const setUp: ServeOptions['setUp'] = (app) =>
      void app.useWebSocketAdapter(new WsAdapter(app)).useGlobalGuards(createGuard())
    await expect(start([PlainGateway], setUp)).rejects.toMatchObject(UNPROTECTED)
    await expect(start([PublicGateway], setUp)).rejects.toMatchObject(UNPROTECTED)
  })

  test('and the error says what helps', async () => {
    const withGuard = (useClass: Type<CanActivate>) => start([PlainGateway, { provide: APP_GUARD, useClass }])
    const remedy = 'app.useWebSocketAdapter(protectSockets(new WsAdapter(app), tokens))'
    await expect(withGuard(TokenGuard)).rejects.toThrow(`${remedy}, or mark the gateway with @Public()`)
    await expect(withGuard(AccessTokenGuard)).rejects.toThrow(
      `${remedy}, or make TokenGuard the global guard and mark the gateway with @Public()`,
    )
    await expect(start([GuardedGateway])).rejects.toThrow(remedy)
  })

  test.each<Type<object>>([GuardedGateway, EnforcedGateway])(
    'with the guards of %o alone',
    async (gateway) => {
      await expect(start([gateway])).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' })
    },
  )
})

describe('an application starts', () => {
  test('with a public gateway, which anyone may use', async () => {
    const { port } = await start([PublicGateway, appGuard])
    const socket = new WebSocket(`ws://127.0.0.1:${port}`)
    await once(socket, 'open')
    socket.send(JSON.stringify({ event: 'event', data: {} }))
    const [text] = (await once(socket, 'message')) as [Buffer]
    expect(JSON.parse(text.toString())).toEqual({ event: 'event', data: 'ran' })
    socket.terminate()
  })

  test('with a gateway that nothing guards', async () => {
    await expect(start([PlainGateway])).resolves.toBeDefined()
  })

  test('with every gateway, when its sockets are authenticated', async () => {
    const gateways = [PlainGateway, SilentGateway, HalfGateway, GuardedGateway, EnforcedGateway, appGuard]
    const setUp: ServeOptions['setUp'] = (app) =>
      void app.useWebSocketAdapter(protectSockets(new WsAdapter(app), tokens))
    await expect(start(gateways, setUp)).resolves.toBeDefined()
  })

  test('as a context without gateways that listen', async () => {
    @Module({ imports: [TokenModule.forRoot({ tokens })], providers: [PlainGateway, appGuard] })
    class AppModule {}
    const context = await NestFactory.createApplicationContext(AppModule, { logger: false })
    expect(context.get(PlainGateway)).toBeInstanceOf(PlainGateway)
    await context.close()
  })
})

describe('protectSockets', () => {
  /** The status that a handshake with a good token is answered with. */
  async function handshake(port: number): Promise<number> {
    const headers = { authorization: `Bearer ${tokens.createAccessToken({ uid: 'ada' })}` }
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers })
    socket.on('error', () => {})
    return new Promise((resolve) => {
      socket.on('open', () => resolve(101))
      socket.on('unexpected-response', (_, response) => resolve(response.statusCode ?? 0))
      socket.on('close', (code) => resolve(code))
    })
  }

  test.each([
    ['one parameter', () => false],
    ['two', (_: unknown, done: (...given: unknown[]) => void) => done(false, 401)],
  ])('asks verifyClient of the gateway too: a function of %s', async (_, verifyClient) => {
    @WebSocketGateway({ verifyClient } as object)
    class PickyGateway {}
    const setUp: ServeOptions['setUp'] = (app) =>
      void app.useWebSocketAdapter(protectSockets(new WsAdapter(app), tokens))
    const { port } = await start([PickyGateway], setUp)
    expect(await handshake(port)).toBe(401)
  })

  test('ends the sockets of an adapter that does not ask about handshakes', async () => {
    let isConnected = false
    @WebSocketGateway()
    class WatchingGateway {
      handleConnection(): void {
        isConnected = true
      }
    }
    class DeafAdapter extends WsAdapter {
      override create(port: number) {
        return super.create(port, {}) as unknown
      }
    }
    const { port } = await start(
      [WatchingGateway],
      (app) => void app.useWebSocketAdapter(protectSockets(new DeafAdapter(app), tokens)),
    )
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, {
      headers: { authorization: `Bearer ${tokens.createAccessToken({ uid: 'ada' })}` },
    })
    await once(socket, 'close')
    expect(isConnected).toBe(false)
  })

  test('protects a gateway with a port of its own', async () => {
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const { port } = free.address() as AddressInfo
    free.close()
    await once(free, 'close')
    @WebSocketGateway(port)
    class PortGateway extends PlainGateway {}
    const setUp: ServeOptions['setUp'] = (app) =>
      void app.useWebSocketAdapter(protectSockets(new WsAdapter(app), tokens))
    await start([PortGateway, appGuard], setUp)
    expect(await handshake(port)).toBe(101)
    const anonymous = new WebSocket(`ws://127.0.0.1:${port}`)
    anonymous.on('error', () => {})
    const [, response] = (await once(anonymous, 'unexpected-response')) as [unknown, { statusCode: number }]
    expect(response.statusCode).toBe(401)
  })

  test.each([
    ['an unknown option', { origin: 'https://app.example' }],
    ['an option of other checks', { skipRevocation: true }],
    ['origins that are no list', { origins: 'https://app.example' }],
    ['an origin with a path', { origins: ['https://app.example/'] }],
    ['an unknown type', { type: 'any' }],
  ])('refuses %s', (_, options) => {
    expect(() => protectSockets(new WsAdapter(), tokens, options as object)).toThrow(TypeError)
  })

  test('refuses an interval below a second', () => {
    expect(() => protectSockets(new WsAdapter(), tokens, { every: 0.5 })).toThrow(RangeError)
  })
})
