import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { afterAll, describe } from 'vitest'
import {
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  type RevocationStore,
} from '../../../packages/tokenlib/src/index.js'
import type { Clock } from '../../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../../packages/tokenlib/src/stores/memory.js'
import { createMysqlStore } from '../../../packages/tokenlib/src/stores/mysql.js'
import { createPostgresStore } from '../../../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore } from '../../../packages/tokenlib/src/stores/redis.js'
import { createSqliteStore } from '../../../packages/tokenlib/src/stores/sqlite.js'
import {
  describeWithMysql,
  describeWithPostgres,
  describeWithRedis,
} from '../../helpers/servers/describe-with-servers.js'
import { createFolder } from '../../stores/sqlite-fixture.js'
import { PATIENT } from '../../helpers/manager.js'
import { SECRET } from './forge.js'
import { readTarget } from './targets/read-target.js'

/** A kind of store, as an attack needs it; `place` names the data of one attack. */
export interface StoreKind {
  readonly name: StoreName
  /** One more store on the data of a place, as another process would open it. In memory there is only the one. */
  open(place: string, clock: Clock): Promise<RevocationStore>
  /** Everything that is kept at a place, as a thief of the database would have it. */
  dump(place: string): Promise<string>
  /** Destroys the data behind the back of its stores. */
  wipe(place: string): Promise<void>
}

/** The stores by their names. */
export type StoreName = 'memory' | 'SQLite' | 'Redis' | 'PostgreSQL' | 'MariaDB'

/** All of them. */
export const STORES: readonly StoreName[] = ['memory', 'SQLite', 'Redis', 'PostgreSQL', 'MariaDB']

/** Runs attacks on each of these stores; the servers are started only for our own library, the others have no stores. */
export function describeStores(names: readonly StoreName[], body: (kind: StoreKind) => void): void {
  const isOurs = readTarget().name === 'tokenlib'
  for (const name of names) {
    const title = `on ${name}`
    if (name === 'Redis' && isOurs) describeWithRedis(title, (url) => body(createRedisKind(url)))
    else if (name === 'PostgreSQL' && isOurs)
      describeWithPostgres(title, (url) => body(createPostgresKind(url)))
    else if (name === 'MariaDB' && isOurs) describeWithMysql(title, (url) => body(createMysqlKind(url)))
    else describe(title, () => body(name === 'SQLite' ? createSqliteKind() : createMemoryKind()))
  }
}

/** A name that no other attack has. */
export function createPlace(): string {
  return `attack${randomUUID().replaceAll('-', '')}`
}

/** A manager that is ready, with a store of its own on the data of a place. */
export async function openManager(
  kind: StoreKind,
  place: string,
  clock: Clock,
  options: TokenConfigOptions = {},
): Promise<TokenManager> {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, ...options })
  const tokens = new TokenManager({ config, clock, store: await kind.open(place, clock) })
  await tokens.ready()
  return tokens
}

function createMemoryKind(): StoreKind {
  const stores = new Map<string, RevocationStore>()
  return {
    name: 'memory',
    async open(place, clock) {
      const store = stores.get(place) ?? createMemoryStore({ clock })
      stores.set(place, store)
      return store
    },
    dump: () => Promise.reject(new Error('The memory of a process cannot be read from outside')),
    wipe: () => Promise.reject(new Error('The memory of a process cannot be wiped from outside')),
  }
}

function createSqliteKind(): StoreKind {
  const folder = createFolder()
  afterAll(() => folder.remove())
  return {
    name: 'SQLite',
    open: async (place, clock) => createSqliteStore(folder.open(place), { clock }),
    async dump(place) {
      // As text of bytes: the write-ahead log has what the file does not have yet.
      const files = ['', '-wal'].map((ending) => readFileSync(folder.path(place) + ending, 'latin1'))
      return files.join('\n')
    },
    async wipe(place) {
      const other = folder.open(place)
      for (const table of ['meta', 'revocations', 'sessions']) other.exec(`DELETE FROM tokenlib_${table}`)
    },
  }
}

function createRedisKind(url: string): StoreKind {
  const clients: Redis[] = []
  afterAll(() => {
    for (const client of clients) client.disconnect()
  })
  const connect = (): Redis => {
    const client = new Redis(url)
    clients.push(client)
    return client
  }
  const keysOf = (client: Redis, place: string): Promise<string[]> => client.keys(`{tokenlib:${place}}:*`)
  return {
    name: 'Redis',
    open: async (place, clock) => createRedisStore(connect(), { namespace: place, clock }),
    async dump(place) {
      const client = connect()
      const keys = await keysOf(client, place)
      const values = await Promise.all(keys.map((key) => readRedis(client, key)))
      return [...keys, ...values].join('\n')
    },
    async wipe(place) {
      const client = connect()
      const keys = await keysOf(client, place)
      if (keys.length > 0) await client.del(...keys)
    },
  }
}

async function readRedis(client: Redis, key: string): Promise<string> {
  const READ: Readonly<Record<string, string[]>> = {
    string: ['GET', key],
    hash: ['HGETALL', key],
    list: ['LRANGE', key, '0', '-1'],
    zset: ['ZRANGE', key, '0', '-1'],
  }
  const type = await client.type(key)
  const [command, ...args] = READ[type] ?? []
  if (command === undefined) throw new Error(`Nobody knows how to read a ${type}`)
  const answer = (await client.callBuffer(command, args)) as Buffer | Buffer[]
  return [answer]
    .flat()
    .map((bytes) => bytes.toString('latin1'))
    .join('\n')
}

function createPostgresKind(url: string): StoreKind {
  // Two, as two processes would have them; more would use up the connections of the server.
  const pools = [0, 1].map(() => new pg.Pool({ connectionString: url, max: 4 }).on('error', () => undefined))
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
  })
  const pool = pools[0]!
  let opened = 0
  let migration: Promise<void> | undefined
  return {
    name: 'PostgreSQL',
    async open(namespace, clock) {
      const client = pools[opened++ % pools.length]!
      const store = createPostgresStore(client, { namespace, clock, onWarning: () => undefined })
      migration ??= store.migrate()
      await migration
      return store
    },
    async dump() {
      const { rows: tables } = await pool.query<{ name: string }>(
        `select tablename as name from pg_tables where schemaname = 'public'`,
      )
      const texts = await Promise.all(
        tables.map(({ name }) => pool.query<{ line: string }>(`select t::text as line from "${name}" t`)),
      )
      return texts.flatMap(({ rows }) => rows.map(({ line }) => line)).join('\n')
    },
    async wipe(place) {
      for (const table of ['heads', 'revocations', 'sessions']) {
        await pool.query(`delete from tokenlib_${table} where namespace = $1`, [place])
      }
    },
  }
}

function createMysqlKind(url: string): StoreKind {
  // Two, as two processes would have them.
  const pools = [0, 1].map(() => mysql.createPool({ uri: url, connectionLimit: 4 }))
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
  })
  const pool = pools[0]!
  let opened = 0
  let migration: Promise<void> | undefined
  return {
    name: 'MariaDB',
    async open(namespace, clock) {
      const client = pools[opened++ % pools.length]!
      const store = createMysqlStore(client, { namespace, clock, onWarning: () => undefined })
      migration ??= store.migrate()
      await migration
      return store
    },
    async dump() {
      const lines: string[] = []
      for (const table of ['heads', 'revocations', 'sessions', 'spent']) {
        const [rows] = await pool.query<mysql.RowDataPacket[]>(`select * from tokenlib_${table}`)
        lines.push(...rows.map((row) => Object.values(row).map(String).join('\t')))
      }
      return lines.join('\n')
    },
    async wipe(place) {
      for (const table of ['heads', 'revocations', 'sessions']) {
        await pool.execute(`delete from tokenlib_${table} where namespace = ?`, [place])
      }
    },
  }
}
