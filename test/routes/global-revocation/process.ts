// One of several processes that receive Global Token Revocation requests on one store: answers each with its status.
import { Redis } from 'ioredis'
import pg from 'pg'
import { TokenConfig, TokenManager } from '../../../packages/tokenlib/src/index.js'
import type { Jwk } from '../../../packages/tokenlib/src/kit.js'
import { createGlobalTokenRevocation, trustIssuer } from '../../../packages/issuers/src/index.js'
import { createPostgresStore } from '../../../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore } from '../../../packages/tokenlib/src/stores/redis.js'
import { replicate } from '../../../packages/tokenlib/src/stores/replica.js'

const [kind, url = '', namespace = '', issuer = '', jwk = ''] = process.argv.slice(2)
const store = kind?.startsWith('redis')
  ? createRedisStore(new Redis(url), { namespace })
  : createPostgresStore(new pg.Pool({ connectionString: url, max: 5 }), { namespace })
const tokens = new TokenManager({
  config: new TokenConfig({ JWT_REVOCATION_TIMEOUT: '20s' }),
  store: kind?.endsWith('replica') ? replicate(store, { bound: '1m' }) : store,
  issuers: [
    trustIssuer({
      issuer,
      audience: 'https://api.example',
      keys: { keys: [JSON.parse(jwk) as Jwk] },
      subjectPrefix: 'id:',
    }),
  ],
})
const address = 'https://api.example/global-token-revocation'
const routes = createGlobalTokenRevocation(tokens, { audience: address })

process.on('message', ({ jwt, sub }: { readonly jwt: string; readonly sub: string }) => {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${jwt}` }
  const body = JSON.stringify({ sub_id: { format: 'iss_sub', iss: issuer, sub } })
  routes.handle(new Request(address, { method: 'POST', headers, body })).then(
    (response) => process.send?.(response?.status ?? 0),
    (error: unknown) => process.send?.(String(error)),
  )
})
await tokens.ready()
process.send?.('ready')
