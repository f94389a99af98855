import { randomUUID } from 'node:crypto'
import { type RevocationStore, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createPostgresStore } from '../../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { createSqliteStore } from '../../packages/tokenlib/src/stores/sqlite.js'
import type { ApplicationOptions, Calls, Reply, Request } from './protocol.js'

// A process of an application. It is bundled twice: with the sources as they are, and with those of an earlier release
// in their place, so it uses only what both of them have, except where a test says otherwise.

async function openStore({ kind, url, namespace }: ApplicationOptions): Promise<RevocationStore> {
  switch (kind) {
    case 'redis': {
      const { Redis } = await import('ioredis')
      return createRedisStore(new Redis(url), { namespace })
    }
    case 'postgres': {
      const { default: pg } = await import('pg')
      const store = createPostgresStore(new pg.Pool({ connectionString: url, max: 4 }), { namespace })
      await store.migrate()
      return store
    }
    case 'sqlite': {
      const { DatabaseSync } = await import('@photostructure/sqlite')
      return createSqliteStore(new DatabaseSync(url))
    }
  }
}

async function createCalls(options: ApplicationOptions): Promise<Calls> {
  const shared = await openStore(options)
  const store = options.isReplicated
    ? (await import('../../packages/tokenlib/src/stores/replica.js')).replicate(shared, { bound: '200ms' })
    : shared
  const config = new TokenConfig({
    JWT_REFRESH_GRACE: 0,
    // Waiting on a busy machine is no failure.
    JWT_REVOCATION_TIMEOUT: '30s',
    ...options.config,
  })
  const tokens = new TokenManager({ config, revocation: store })
  await tokens.ready()
  const open = (token: string) =>
    tokens.verifyTokenWithoutRevocation(token, { type: 'any', allowExpired: true })

  return {
    logIn: async (uid, pairOptions = {}) => tokens.createTokenPair({ uid, nonce: randomUUID() }, pairOptions),
    check: async (token) => (await tokens.verifyToken(token, { type: 'access' })).sub,
    async refresh(token) {
      const refreshed = await tokens.refresh(token)
      return { ...refreshed, refreshToken: refreshed.refreshToken ?? token }
    },
    list: async (uid) => (await tokens.listSessions(uid)).map(({ id }) => id),
    sid: async (token) => String(open(token).sid),
    logout: async (token) => void (await tokens.logout(open(token))),
    revokeToken: async (token) => void (await tokens.revokeToken(open(token))),
    revokeSession: async (sid) => void (await tokens.revokeSession(sid)),
    revokeUser: async (uid) => void (await tokens.revokeUser(uid)),
    revokeKey: async () => void (await tokens.revokeKey(String(tokens.keyId))),
    revokeAll: async () => void (await tokens.revokeAll()),
  }
}

const answer = async (calls: Promise<Calls>, { id, name, values }: Request): Promise<Reply> => {
  try {
    const call = (await calls)[name] as (...values: readonly unknown[]) => Promise<unknown>
    return { id, value: await call(...values) }
  } catch (error) {
    return { id, error: error instanceof Error && 'code' in error ? String(error.code) : String(error) }
  }
}

const calls = createCalls(JSON.parse(String(process.argv[2])) as ApplicationOptions)
// Every request is answered with it.
calls.catch(() => undefined)
process.on('message', (request: Request) => {
  void answer(calls, request).then((reply) => process.send?.(reply))
})
process.on('disconnect', () => process.exit())
