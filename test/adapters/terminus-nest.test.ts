import { Controller, Get, Inject } from '@nestjs/common'
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus'
import { expect, test } from 'vitest'
import { TokenHealthIndicator, TokenModule } from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { createManager, SECRET } from '../helpers/manager.js'
import { serve } from '../helpers/nest.js'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { start } from '../stores/redis-fixture.js'

const AdminHealth = TokenHealthIndicator.for('admin')

@Controller('health')
class HealthController {
  readonly #health: HealthCheckService
  readonly #indicators: readonly [TokenHealthIndicator, TokenHealthIndicator]

  constructor(
    @Inject(HealthCheckService) health: HealthCheckService,
    @Inject(TokenHealthIndicator) users: TokenHealthIndicator,
    @Inject(AdminHealth) admins: TokenHealthIndicator,
  ) {
    this.#health = health
    this.#indicators = [users, admins]
  }

  @Get()
  @HealthCheck()
  check() {
    const [users, admins] = this.#indicators
    return this.#health.check([() => users.isHealthy(), () => admins.isHealthy('admins')])
  }
}

const serveHealth = (tokens: TokenManager) =>
  serve([HealthController], {
    imports: [
      TerminusModule.forRoot({ logger: false }),
      TokenModule.forRoot({ tokens }),
      TokenModule.forRoot({ tokens: createManager().tokens, name: 'admin' }),
    ],
    providers: [TokenHealthIndicator, AdminHealth],
  })

const UP = { status: 'up', canCheck: true, canWrite: true }

test('a manager that only checks tokens is up, unless users have to log in there', async () => {
  const revoke = async (): Promise<never> => {
    throw new Error('READONLY at 10.0.0.7')
  }
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
    store: { ...createMemoryStore(), revoke },
  })
  const indicator = new TokenHealthIndicator(tokens)
  const degraded = {
    canCheck: true,
    canWrite: false,
    responseTimeMs: expect.any(Number) as number,
    message: 'Nobody can log in, and nothing can be revoked',
  }
  expect(await indicator.isHealthy()).toEqual({ tokens: { status: 'up', ...degraded } })
  expect(await indicator.isHealthy('logins', { need: 'write' })).toEqual({
    logins: { status: 'down', ...degraded },
  })
  await expect(indicator.isHealthy('x', { need: 'reads' as never })).rejects.toThrow(TypeError)
  await expect(indicator.isHealthy('x', { needs: 'write' } as never)).rejects.toThrow('needs')
})

test('a manager without a store is up', async () => {
  const { send } = await serveHealth(createManager().tokens)
  const response = await send('/health')
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({
    status: 'ok',
    info: { tokens: { ...UP, responseTimeMs: null }, admins: { ...UP, responseTimeMs: null } },
  })
})

describeWithOwnServer('redis', 'the health check of Terminus', () => {
  test('is 200 while the store answers, and 503 without details of the server when it does not', async () => {
    const { server, client } = await start()
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
      store: createRedisStore(client),
    })
    await tokens.ready()
    const { send } = await serveHealth(tokens)
    const up = await send('/health')
    expect([up.status, await up.json()]).toEqual([
      200,
      expect.objectContaining({
        details: expect.objectContaining({
          tokens: { ...UP, responseTimeMs: expect.any(Number) as number },
        }) as object,
      }),
    ])
    await server.kill('SIGSTOP')
    try {
      const down = await send('/health')
      expect([down.status, await down.json()]).toEqual([
        503,
        expect.objectContaining({
          status: 'error',
          info: { admins: { ...UP, responseTimeMs: null } },
          error: {
            tokens: {
              status: 'down',
              canCheck: false,
              canWrite: false,
              responseTimeMs: expect.any(Number) as number,
              message: 'Tokens cannot be checked',
            },
          },
        }),
      ])
    } finally {
      await server.kill('SIGCONT')
    }
  })
})
