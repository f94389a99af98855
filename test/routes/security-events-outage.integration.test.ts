import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createBackChannelLogout, trustIssuer } from '../../packages/issuers/src/index.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import { createProvider, LOGOUT } from './provider.js'

describeWithRedis('a back-channel logout while Redis cannot be reached', (url) => {
  test.each(['without a replica', 'with a replica'])(
    'is refused here immediately, and everywhere when Redis is back: %s',
    async (kind) => {
      const provider = createProvider('https://id.example')
      const namespace = `outage${randomUUID().slice(0, 8)}`
      const start = async () => {
        const redis = new Redis(url, { enableOfflineQueue: false })
        await once(redis, 'ready')
        const plain = createRedisStore(redis, { namespace })
        const revocation = kind === 'with a replica' ? replicate(plain, { bound: '200ms' }) : plain
        const tokens = new TokenManager({
          config: new TokenConfig({ JWT_REVOCATION_TIMEOUT: '2s' }),
          store: revocation,
          issuers: [
            trustIssuer({ issuer: provider.issuer, audience: 'api', keys: { keys: [provider.jwk] } }),
          ],
        })
        await tokens.ready()
        onTestFinished(async () => {
          await revocation.close()
          redis.disconnect()
        })
        return { tokens, redis }
      }
      const [here, there] = await Promise.all([start(), start()])
      const now = Math.floor(Date.now() / 1000)
      const sign = (typ: string, claims: object): string =>
        provider.sign({ sub: 'ada', sid: 'tablet', iat: now, exp: now + 600, ...claims }, { typ })
      const token = sign('at+jwt', { aud: 'api' })
      const outcomes = () => Promise.all([here, there].map(({ tokens }) => outcomeOf(tokens.verify(token))))
      expect(await outcomes()).toEqual(['ok', 'ok'])

      const ended = once(here.redis, 'end')
      here.redis.disconnect()
      await ended
      const logout = createBackChannelLogout(here.tokens, { clientId: 'app' })
      const body = new URLSearchParams({
        logout_token: sign('logout+jwt', { aud: 'app', jti: randomUUID(), events: { [LOGOUT]: {} } }),
      })
      const request = new Request('https://api.example/backchannel-logout', { method: 'POST', body })
      expect((await logout.handle(request))?.status).toBe(200)
      expect(await outcomes()).toEqual(['TOKEN_REVOKED', 'ok'])
      await here.redis.connect()
      while ((await outcomes())[1] !== 'TOKEN_REVOKED') await sleep(20)
      expect(await outcomes()).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED'])
    },
  )
})
