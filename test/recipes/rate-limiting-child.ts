// One of several processes with the session routes of docs/recipes/rate-limiting.md, and limiters that count in Redis.
import { Redis } from 'ioredis'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'

const [url = '', prefix = '', secret = ''] = process.argv.slice(2)
const storeClient = new Redis(url)
const perName = new RateLimiterRedis({ storeClient, keyPrefix: `${prefix}:name`, points: 5, duration: 900 })

let checks = 0
const tokens = new TokenManager({
  config: new TokenConfig({ JWT_SECRET_KEY: secret }),
  store: createMemoryStore(),
})
const routes = createSessionRoutes(tokens, {
  logIn() {
    checks++
    return null
  },
  rateLimit: {
    async before({ credentials }) {
      try {
        await perName.consume(String(credentials['name']))
        return null
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) return Math.max(1, refusal.msBeforeNext / 1000)
        throw refusal
      }
    },
  },
})

const answer = async (count: number): Promise<void> => {
  const guess = (password: string) =>
    routes.login(
      new Request('https://app.example/auth/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'ada', password }),
      }),
    )
  const answers = await Promise.all(Array.from({ length: count }, (_, at) => guess(`guess ${at}`)))
  process.send?.({ checks, statuses: answers.map(({ status }) => status) })
}
process.on('message', (count: number) => void answer(count))
await storeClient.ping()
process.send?.('ready')
