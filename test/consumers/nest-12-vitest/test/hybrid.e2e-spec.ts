import { Controller, type INestApplication, Module, type Type } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ClientProxyFactory, MessagePattern, type TcpOptions, Transport } from '@nestjs/microservices'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { lastValueFrom } from 'rxjs'
import { TokenConfig, TokenManager } from 'tokenlib'
import { Public, TokenGuard, TokenModule } from 'tokenlib/nest'

const tokens = new TokenManager({
  config: new TokenConfig({ JWT_SECRET_KEY: 'a-fake-secret-for-tests-of-enough-bytes' }),
})

@Controller()
class GuardedController {
  @MessagePattern('order')
  handle() {
    return 'ran'
  }
}

@Controller()
class PublicController {
  @Public()
  @MessagePattern('order')
  handle() {
    return 'ran'
  }
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

describe('a hybrid application', () => {
  let app: INestApplication

  afterEach(() => app.close())

  const start = async (controller: Type<object>, inheritAppConfig: boolean): Promise<TcpOptions> => {
    @Module({
      imports: [TokenModule.forRoot({ tokens })],
      controllers: [controller],
      providers: [{ provide: APP_GUARD, useClass: TokenGuard }],
    })
    class HybridModule {}
    app = await NestFactory.create(HybridModule, { logger: false })
    const options: TcpOptions = {
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port: await findPort() },
    }
    app.connectMicroservice(options, { inheritAppConfig })
    await app.startAllMicroservices()
    await app.init()
    return options
  }

  it.each([true, false])(
    'does not start with a handler that TokenGuard cannot guard (inheritAppConfig: %s)',
    async (inheritAppConfig) => {
      await expect(start(GuardedController, inheritAppConfig)).rejects.toMatchObject({
        code: 'CONFIGURATION_INVALID',
      })
    },
  )

  it.each([true, false])('answers messages of a public handler (inheritAppConfig: %s)', async (inherits) => {
    const client = ClientProxyFactory.create(await start(PublicController, inherits))
    expect(await lastValueFrom(client.send('order', {}))).toBe('ran')
    client.close()
  })
})
