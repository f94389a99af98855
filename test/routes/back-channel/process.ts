import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { serveFetch } from '../../../examples/server.js'
import { isTokenError, TokenConfig, TokenManager } from '../../../packages/tokenlib/src/index.js'
import { createBackChannelLogout, trustIssuer } from '../../../packages/issuers/src/index.js'
import { replicate } from '../../../packages/tokenlib/src/stores/replica.js'
import { createRedisStore } from '../../../packages/tokenlib/src/stores/redis.js'
import { now, type ProcessSetUp, type Question, type Watched } from './protocol.js'

// One process of an API: it accepts access tokens of the provider, and receives its logouts.
async function start(setUp: ProcessSetUp) {
  const { url, namespace, issuer, audience, clientId, jwk, bound } = setUp
  const store = createRedisStore(new Redis(url), { namespace })
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: setUp.secret, JWT_REVOCATION_TIMEOUT: '10s' }),
    store: bound === null ? store : replicate(store, { bound }),
    issuers: [trustIssuer({ issuer, audience, keys: { keys: [jwk] }, subjectPrefix: 'id:' })],
  })
  await tokens.ready()
  const routes = createBackChannelLogout(tokens, { clientId })
  const server = await serveFetch(
    async (request) => (await routes.handle(request)) ?? new Response(null, { status: 404 }),
    0,
  )

  const isAccepted = async (token: string): Promise<boolean> => {
    try {
      await tokens.verify(token)
      return true
    } catch (error) {
      if (isTokenError(error) && error.code === 'TOKEN_REVOKED') return false
      throw error
    }
  }

  return {
    ready: server.url,
    async answer({ name, token }: Question): Promise<boolean | Watched> {
      if (name === 'check') return isAccepted(token)
      let lastAccepted: number | null = null
      for (;;) {
        const startedAt = now()
        if (!(await isAccepted(token))) return { refusedAt: now(), lastAccepted }
        lastAccepted = startedAt
        // A request every millisecond: busy processes would delay each other.
        await sleep(1)
      }
    },
  }
}

let running: Awaited<ReturnType<typeof start>> | null = null
process.on('disconnect', () => process.exit())
process.on('message', (message) => {
  const answer = async (): Promise<unknown> => {
    if (running !== null) return running.answer(message as Question)
    running = await start(message as ProcessSetUp)
    return running.ready
  }
  answer().then(
    (value) => process.send?.({ value }),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})
