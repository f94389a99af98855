import { Redis } from 'ioredis'
import pg from 'pg'
import { importTypeScript } from '../shared/import-typescript.js'

const TABLES = ['tokenlib_revocations', 'tokenlib_sessions']

/** Starts a server in a temporary folder; `read` returns its size and who is connected to it. */
export async function startStore(kind) {
  return kind === 'redis' ? startRedisStore() : startPostgresStore()
}

async function startRedisStore() {
  const { startRedis } = await importTypeScript('test/helpers/servers/start-redis.ts')
  const server = await startRedis({ appendonly: 'yes' })
  const client = new Redis(server.url, { connectionName: 'soak' })
  client.on('error', () => undefined)
  return {
    kind: 'redis',
    url: server.url,
    version: readField(await client.info('server'), 'redis_version'),
    async read() {
      const [memory, keys, list] = await Promise.all([
        client.info('memory'),
        client.dbsize(),
        client.call('CLIENT', 'LIST'),
      ])
      const rows = await countKeys(client)
      const names = [...String(list).matchAll(/ name=(\S*)/g)].map(([, name]) => name)
      return { bytes: Number(readField(memory, 'used_memory')), keys, ...rows, sockets: countNames(names) }
    },
    async stop() {
      client.disconnect()
      await server.stop()
    },
  }
}

// Keys of the store: {tokenlib:tokenlib}:s:<sid> is the row of a session, r:<kind>:<id> a revocation.
async function countKeys(client) {
  const counts = { sessions: 0, revocations: 0 }
  let cursor = '0'
  do {
    const [next, keys] = await client.scan(cursor, 'COUNT', 1000)
    for (const key of keys) {
      if (key.includes('}:s:')) counts.sessions++
      else if (key.includes('}:r:')) counts.revocations++
    }
    cursor = next
  } while (cursor !== '0')
  return counts
}

function readField(info, name) {
  return new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim() ?? ''
}

async function startPostgresStore() {
  const { startPostgres } = await importTypeScript('test/helpers/servers/start-postgres.ts')
  const server = await startPostgres()
  const client = new pg.Client({ connectionString: server.url, application_name: 'soak' })
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query('show server_version')
  return {
    kind: 'postgres',
    url: server.url,
    version: rows[0].server_version,
    async read() {
      const sizes = TABLES.map((table) => `pg_total_relation_size('${table}')::float8 as ${table}_bytes`)
      const counts = TABLES.map((table) => `(select count(*)::int from ${table}) as ${table}`)
      const [{ rows: tables }, { rows: clients }] = [
        await client.query(
          `select ${[...sizes, ...counts].join()}, pg_database_size(current_database())::float8 as bytes`,
        ),
        await client.query(
          "select application_name as name from pg_stat_activity where backend_type = 'client backend'",
        ),
      ]
      const [row] = tables
      return {
        bytes: row.bytes,
        tableBytes: row.tokenlib_revocations_bytes + row.tokenlib_sessions_bytes,
        sessions: row.tokenlib_sessions,
        revocations: row.tokenlib_revocations,
        sockets: countNames(clients.map(({ name }) => name)),
      }
    },
    async stop() {
      await client.end()
      await server.stop()
    },
  }
}

function countNames(names) {
  const counts = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
