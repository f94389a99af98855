// An application with a replica on Redis, which is told to stop and has to end by itself.
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { fastify } from 'fastify'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { enforce } from '../packages/tokenlib/src/frameworks/fastify.js'
import { TokenGuard, TokenModule } from '../packages/tokenlib/src/frameworks/nest/index.js'
import { TokenConfig, TokenManager } from '../packages/tokenlib/src/index.js'
import { createRedisStore } from '../packages/tokenlib/src/stores/redis.js'
import { replicate } from '../packages/tokenlib/src/stores/replica.js'

const [framework = '', driver = '', url = '', namespace = '', secret = ''] = process.argv.slice(2)
const config = new TokenConfig({ JWT_SECRET_KEY: secret, JWT_REVOCATION_TIMEOUT: '10s' })
const client = driver === 'ioredis' ? new Redis(url) : await createClient({ url }).connect()
// The client belongs to the application, which closes it.
const closeClient = (): unknown => (client instanceof Redis ? client.disconnect() : client.destroy())

/** Says where it listens, and stops when it is told to. */
function serve(address: string, stop: () => Promise<unknown>): void {
  process.once('message', () => {
    process.disconnect()
    void stop()
  })
  process.send?.(address)
}

async function runNest(): Promise<void> {
  @Controller()
  class HomeController {
    @Get()
    home(): string {
      return 'home'
    }
  }

  @Module({
    imports: [
      TokenModule.forRootAsync({
        useFactory: () => ({ config, store: replicate(createRedisStore(client, { namespace })) }),
      }),
    ],
    controllers: [HomeController],
    providers: [{ provide: APP_GUARD, useClass: TokenGuard }],
  })
  class AppModule {
    onApplicationShutdown(): void {
      closeClient()
    }
  }
  const app = await NestFactory.create(AppModule, { logger: ['error'], forceCloseConnections: true })
  await app.get(TokenManager).ready()
  await app.listen(0, '127.0.0.1')
  serve(await app.getUrl(), () => app.close())
}

async function runFastify(): Promise<void> {
  const tokens = new TokenManager({
    config,
    store: replicate(createRedisStore(client, { namespace })),
  })
  const app = fastify({ forceCloseConnections: true })
  app.addHook('onReady', () => tokens.ready())
  app.addHook('onClose', () => tokens.close())
  app.addHook('onClose', async () => void closeClient())
  app.get('/', { preHandler: enforce(tokens.accessTokenRequired) }, () => 'home')
  serve(await app.listen({ port: 0, host: '127.0.0.1' }), () => app.close())
}

await (framework === 'nest' ? runNest() : runFastify())
