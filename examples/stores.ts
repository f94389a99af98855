import { type EventEmitter, once } from 'node:events'
import { resolve } from 'node:path'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import type { RevocationStore } from 'tokenlib'
import { createMemoryStore } from 'tokenlib/memory'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import { createSqliteStore, type SqliteDatabase } from 'tokenlib/sqlite'
import type { StoreChoice } from './options.js'

/** A store, and how to close it together with its client, which a store never closes itself. */
export interface OpenStore {
  readonly store: RevocationStore
  close(): Promise<void>
}

/** Connects to the chosen store; `null` for the callback, which needs none. */
export async function openStore(choice: StoreChoice): Promise<OpenStore | null> {
  switch (choice.kind) {
    case 'callback':
      return null
    case 'memory':
      return { store: createMemoryStore(), close: async () => {} }
    case 'sqlite':
      return openSqlite(choice.path)
    case 'redis':
      return openRedis(choice.url)
    case 'postgres':
      return openPostgres(choice.url)
  }
}

/** Where revocations are kept, in words and without a password. */
export function describeStore(choice: StoreChoice): string {
  switch (choice.kind) {
    case 'callback':
      return 'a set that a callback reads; this process forgets it when it stops'
    case 'memory':
      return 'memory; this process forgets them when it stops'
    case 'sqlite':
      return `the SQLite file ${resolve(choice.path)}`
    case 'redis':
      return `Redis at ${withoutSecrets(choice.url)}`
    case 'postgres':
      return `PostgreSQL at ${withoutSecrets(choice.url)}`
  }
}

/** A text without the user and the query of URLs, which may contain a password. */
export function withoutSecrets(text: string): string {
  return text.replaceAll(/(?<=\/\/)\S*@/g, '').replaceAll(/(?<=:\/\/\S*)[?#]\S*/g, '')
}

async function openSqlite(path: string): Promise<OpenStore> {
  const { DatabaseSync } = await importSqlite()
  const database = new DatabaseSync(path)
  const store = createSqliteStore(database)
  return {
    store,
    async close() {
      await store.close()
      database.close()
    },
  }
}

async function openRedis(url: string): Promise<OpenStore> {
  const client = new Redis(url)
  reportOutages('Redis', client, 'ready')
  try {
    await once(client, 'ready', { signal: AbortSignal.timeout(CONNECT_LIMIT) })
  } catch (error) {
    client.disconnect()
    throw error
  }
  const store = createRedisStore(client)
  return {
    store,
    async close() {
      await store.close()
      client.disconnect()
    },
  }
}

async function openPostgres(url: string): Promise<OpenStore> {
  const pool = new Pool({ connectionString: url, connectionTimeoutMillis: CONNECT_LIMIT })
  reportOutages('PostgreSQL', pool, 'connect')
  const store = createPostgresStore(pool)
  try {
    await store.migrate()
  } catch (error) {
    await pool.end()
    throw error
  }
  return {
    store,
    async close() {
      await store.close()
      await pool.end()
    },
  }
}

// Milliseconds.
const CONNECT_LIMIT = 5000

interface SqliteModule {
  readonly DatabaseSync: new (path: string) => SqliteDatabase & { close(): void }
}

// Node 20 has no SQLite of its own; the package has the same interface.
async function importSqlite(): Promise<SqliteModule> {
  const ownOfNode = process.getBuiltinModule('node:sqlite') as SqliteModule | undefined
  return ownOfNode ?? import('@photostructure/sqlite')
}

/** Logs one line per outage. Without a listener, an `error` event of a client would end the process. */
function reportOutages(name: string, client: EventEmitter, connected: string): void {
  let isConnected = false
  client.on(connected, () => (isConnected = true))
  client.on('error', (error: Error) => {
    if (isConnected) console.error(`${name} does not answer: ${error.message}`)
    isConnected = false
  })
}
