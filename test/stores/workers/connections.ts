import { env } from 'cloudflare:workers'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import postgres from 'postgres'
import { createClient } from 'redis'
import { TokenConfig, TokenManager } from 'tokenlib'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import type { RevocationStore } from 'tokenlib/kit'

// The Worker of test/stores/workers.long.test.ts: clients of servers, kept or made for each request.

interface Bindings {
  readonly SECRET: string
  readonly REDIS_URL: string
  readonly DATABASE_URL: string
}

const { SECRET, REDIS_URL, DATABASE_URL } = env as Bindings

interface Connected {
  readonly store: RevocationStore
  close(): Promise<unknown>
}

const CLIENTS: Readonly<Record<string, () => Promise<Connected>>> = {
  async ioredis() {
    const client = new Redis(REDIS_URL, { lazyConnect: true })
    client.on('error', () => undefined)
    return {
      store: createRedisStore(client, { namespace: 'ioredis' }),
      close: async () => client.disconnect(),
    }
  },
  async redis() {
    const client = createClient({ url: REDIS_URL })
    client.on('error', () => undefined)
    await client.connect()
    return { store: createRedisStore(client, { namespace: 'redis' }), close: async () => client.destroy() }
  },
  async pg() {
    const pool = new Pool({ connectionString: DATABASE_URL })
    pool.on('error', () => undefined)
    return { store: createPostgresStore(pool, { prefix: 'pg_' }), close: () => pool.end() }
  },
  async postgres() {
    const sql = postgres(DATABASE_URL, { onnotice: () => undefined })
    return { store: createPostgresStore(sql, { prefix: 'postgres_' }), close: () => sql.end() }
  },
}

const kept = new Map<string, TokenManager>()

async function createManager(client: string): Promise<[TokenManager, Connected]> {
  const connected = await (CLIENTS[client] as () => Promise<Connected>)()
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_REVOCATION_TIMEOUT: '1s' })
  return [new TokenManager({ config, store: connected.store }), connected]
}

async function run(tokens: TokenManager, route: string, given: string): Promise<unknown> {
  if (route === 'login') return (await tokens.sessions.open({ uid: given })).accessToken
  const payload = await tokens.accessTokenRequired({ headers: { authorization: `Bearer ${given}` } })
  if (route === 'logout') await tokens.logout(payload)
  return payload.sub
}

export default {
  async fetch(request: Request): Promise<Response> {
    const [, client = '', owner = '', route = ''] = new URL(request.url).pathname.split('/')
    const given = await request.text()
    try {
      if (owner === 'kept') {
        const tokens = kept.get(client) ?? (await createManager(client))[0]
        kept.set(client, tokens)
        return Response.json({ value: await run(tokens, route, given) })
      }
      const [tokens, connected] = await createManager(client)
      try {
        return Response.json({ value: await run(tokens, route, given) })
      } finally {
        await connected.close()
      }
    } catch (error) {
      const { code, message, cause } = error as Error & { readonly code?: string }
      return Response.json({
        error: { code, message, cause: String((cause as Error | undefined)?.stack ?? cause) },
      })
    }
  },
}
