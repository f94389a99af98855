import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createMemoryStore } from 'tokenlib/memory'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import { createSqliteStore } from 'tokenlib/sqlite'
import { storeContract } from '@tokenlib/contracts'
import { declareReplica } from './replica.js'

/** Declares the contract of stores with one kind of client. */
export async function declareStore(name, runner) {
  await CLIENTS[name](name, runner)
}

// Clients are imported when they are needed: most runtimes lack some of them.
const CLIENTS = {
  memory: (name, runner) =>
    storeContract(
      name,
      {
        open: (_, clock) => createMemoryStore({ clock }),
        isShared: false,
        checksSynchronously: true,
        limitsSessions: true,
        keepsData: true,
        spends: true,
      },
      runner,
    ),

  async 'node:sqlite'(name, runner) {
    const { DatabaseSync } = await import('node:sqlite')
    declareSqlite(name, (path) => new DatabaseSync(path), runner)
  },
  async '@photostructure/sqlite'(name, runner) {
    const { DatabaseSync } = await import('@photostructure/sqlite')
    declareSqlite(name, (path) => new DatabaseSync(path), runner)
  },
  async 'bun:sqlite'(name, runner) {
    const { Database } = await import('bun:sqlite')
    declareSqlite(name, (path) => new Database(path), runner)
  },

  async ioredis(name, runner) {
    const { Redis } = await import('ioredis')
    const client = new Redis(process.env.REDIS_URL)
    const run = (script, key, argument) => client.eval(script, 1, key, argument)
    declareRedis(name, client, run, () => client.disconnect(), runner)
  },
  async redis(name, runner) {
    const { createClient } = await import('redis')
    const client = createClient({ url: process.env.REDIS_URL })
    await client.connect()
    const run = (script, key, argument) => client.eval(script, { keys: [key], arguments: [argument] })
    declareRedis(name, client, run, () => client.close(), runner)
  },
  async 'Bun.RedisClient'(name, runner) {
    const { RedisClient } = await import('bun')
    const client = new RedisClient(process.env.REDIS_URL)
    const run = (script, key, argument) => client.send('EVAL', [script, '1', key, argument])
    declareRedis(name, client, run, () => client.close(), runner)
  },

  async pg(name, runner) {
    const { Pool } = (await import('pg')).default
    const client = new Pool({ connectionString: process.env.DATABASE_URL }).on('error', () => undefined)
    const query = async (text, values) => (await client.query(text, values)).rows
    await declarePostgres(name, client, query, () => client.end(), runner)
  },
  async postgres(name, runner) {
    const { default: postgres } = await import('postgres')
    const client = postgres(process.env.DATABASE_URL)
    await declarePostgres(
      name,
      client,
      (text, values) => client.unsafe(text, values),
      () => client.end(),
      runner,
    )
  },
  async 'Bun.SQL'(name, runner) {
    const { SQL } = await import('bun')
    const client = new SQL(process.env.DATABASE_URL)
    await declarePostgres(
      name,
      client,
      (text, values) => client.unsafe(text, values),
      () => client.end(),
      runner,
    )
  },

  replica: (_, runner) => declareReplica(runner),
}

function declareSqlite(name, openDatabase, runner) {
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-runtimes-'))
  const databases = []
  const open = (place) => {
    const database = openDatabase(join(folder, place))
    databases.push(database)
    return database
  }
  runner.afterAll(async () => {
    for (const database of databases) database.close()
    rmSync(folder, { recursive: true })
  })
  storeContract(
    name,
    {
      open: (place, clock) => createSqliteStore(open(place), { clock }),
      isShared: true,
      checksSynchronously: true,
      limitsSessions: true,
      keepsData: true,
      spends: true,
      isReplicable: true,
      async wipe(place) {
        const database = open(place)
        for (const table of ['meta', 'revocations', 'sessions', 'spent'])
          database.exec(`DELETE FROM tokenlib_${table}`)
      },
      async count(place) {
        const select =
          'SELECT 1 FROM tokenlib_revocations UNION ALL SELECT 1 FROM tokenlib_sessions UNION ALL SELECT 1 FROM tokenlib_spent'
        return open(place).prepare(select).all().length
      },
    },
    runner,
  )
}

// In one step, because the stores of a test could otherwise recover between two of them.
const WIPE = `
for _, key in ipairs(redis.call('KEYS', '{tokenlib:' .. ARGV[1] .. '}:*')) do redis.call('DEL', key) end`

function declareRedis(name, client, run, close, runner) {
  const wipe = async (namespace) => void (await run(WIPE, `{tokenlib:${namespace}}:meta`, namespace))
  runner.afterAll(async () => void (await close()))
  storeContract(
    name,
    {
      open: (namespace, clock) => createRedisStore(client, { namespace, clock }),
      isShared: true,
      limitsSessions: true,
      keepsData: true,
      spends: true,
      isReplicable: true,
      wipe,
      remove: wipe,
    },
    runner,
  )
}

async function declarePostgres(name, client, query, end, runner) {
  runner.beforeAll(() => createPostgresStore(client).migrate())
  runner.afterAll(end)
  storeContract(
    name,
    {
      open: (namespace, clock) =>
        createPostgresStore(client, { namespace, clock, onWarning: () => undefined }),
      isShared: true,
      limitsSessions: true,
      keepsData: true,
      spends: true,
      isReplicable: true,
      async wipe(place) {
        for (const table of ['heads', 'revocations', 'sessions', 'spent']) {
          await query(`delete from tokenlib_${table} where namespace = $1`, [place])
        }
      },
      async count(place) {
        const [row] = await query(
          `select (select count(*) from tokenlib_revocations where namespace = $1 and kind <> 'epoch') +
            (select count(*) from tokenlib_sessions where namespace = $1) +
            (select count(*) from tokenlib_spent where namespace = $1) as kept`,
          [place],
        )
        return Number(row.kept)
      },
    },
    runner,
  )
}
