import { Redis } from 'ioredis'
import pg from 'pg'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import { createNonce, systemRandom } from '../../packages/tokenlib/src/tokens/ids.js'
import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { NewSession, SessionLimit } from '../../packages/tokenlib/src/revocation/session-store.js'

// A process that opens sessions of one user whenever it is told to, all of them at once.

const [kind, url = '', namespace = ''] = process.argv.slice(2)
const store =
  kind === 'redis'
    ? createRedisStore(new Redis(url), { namespace })
    : createPostgresStore(new pg.Pool({ connectionString: url, max: 5 }), { namespace })

const createSession = (): NewSession => ({
  user: 'ada',
  nonce: createNonce(systemRandom),
  expiresAt: FOREVER,
  until: FOREVER,
  ip: null,
  userAgent: null,
})

process.on('message', ({ count, limit }: { count: number; limit: SessionLimit }) => {
  const opened = Array.from({ length: count }, async () =>
    store.sessions?.openLimited?.(createSession(), limit),
  )
  Promise.all(opened).then(
    (answers) => process.send?.({ answers }),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})

await store.prepare({ longestLifetime: 3_600_000 })
process.send?.({ answers: [] })
