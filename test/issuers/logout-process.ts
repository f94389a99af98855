// Another process of the application, on the same store: answers every token that it is sent with the outcome of a check.
import { Redis } from 'ioredis'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { trustIssuer } from '../../packages/issuers/src/index.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'

const [url = '', namespace = '', issuer = '', audience = ''] = process.argv.slice(2)
const tokens = new TokenManager({
  config: new TokenConfig({ JWT_REVOCATION_TIMEOUT: '20s' }),
  store: createRedisStore(new Redis(url), { namespace }),
  issuers: [
    trustIssuer({
      issuer,
      audience,
      profile: 'at+jwt',
      keys: { discovery: `${issuer}/.well-known/openid-configuration`, allowPrivateNetwork: true },
    }),
  ],
})

process.on('message', (token: string) => {
  tokens.verify(token).then(
    () => process.send?.('ok'),
    (error: { code?: string }) => process.send?.(error.code ?? 'error'),
  )
})
await tokens.ready()
process.send?.('ready')
