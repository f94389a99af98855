import { strictEqual } from 'node:assert/strict'
import process from 'node:process'
import { TokenConfig, TokenManager } from 'tokenlib'
import { createRedisStore } from 'tokenlib/redis'
import { replicate } from 'tokenlib/replica'
import { SECRET } from './fixtures.js'
import { refuses } from './smoke/managers.js'

/** Two managers with replicas of one Redis, each with a connection of its own, as two processes have them. */
export function declareReplica(runner) {
  const opened = []
  const namespace = `replicas-${crypto.randomUUID()}`
  runner.beforeAll(async () => {
    const { Redis } = await import('ioredis')
    for (const _ of [1, 2]) {
      const client = new Redis(process.env.REDIS_URL)
      const revocation = replicate(createRedisStore(client, { namespace }), { bound: '1s' })
      const tokens = new TokenManager({
        config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
        store: revocation,
      })
      await tokens.ready()
      opened.push({ client, revocation, tokens })
    }
  })
  runner.afterAll(async () => {
    for (const { client, revocation } of opened) {
      await revocation.close()
      client.disconnect()
    }
  })

  runner.test('a logout everywhere is refused by the other replica', async () => {
    const [writer, reader] = opened.map(({ tokens }) => tokens)
    const { accessToken } = await writer.sessions.open({ uid: 'ada' })
    const payload = await reader.verify(accessToken)
    strictEqual(payload.sub, 'ada')
    await writer.logout(payload, { everywhere: true })
    await refuses(reader.verify(accessToken), 'TOKEN_REVOKED')
    await refuses(writer.verify(accessToken), 'TOKEN_REVOKED')
  })

  runner.test('a watermark everywhere is refused by the other replica', async () => {
    const [writer, reader] = opened.map(({ tokens }) => tokens)
    const { accessToken } = await writer.sessions.open({ uid: 'grace' })
    strictEqual((await reader.verify(accessToken)).sub, 'grace')
    await writer.revoke.user('grace', { everywhere: true })
    await refuses(reader.verify(accessToken), 'TOKEN_REVOKED')
  })
}
