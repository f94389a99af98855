import { Redis } from 'ioredis'
import pg from 'pg'
import { importTypeScript } from '../../tools/shared/import-typescript.js'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import { startRedis } from '../programs.js'

/**
 * @typedef {object} StorePlace
 * @property {'redis' | 'postgres'} kind
 * @property {string} url
 */

/**
 * @typedef {object} OpenedStore
 * @property {import('tokenlib').RevocationStore} store
 * @property {() => Promise<unknown>} close Closes its client.
 */

/** Milliseconds of the monotonic clock that all processes of a machine share. */
export function now() {
  return Number(process.hrtime.bigint()) / 1e6
}

/**
 * A store with a client of its own.
 *
 * @param {StorePlace} place
 * @returns {OpenedStore}
 */
export function openStore({ kind, url }) {
  if (kind === 'redis') return openRedisStore(url, 'bench')
  const pool = new pg.Pool({ connectionString: url })
  return { store: createPostgresStore(pool, { namedStatements: true }), close: () => pool.end() }
}

/**
 * A Redis store with a client of its own.
 *
 * @param {string} url
 * @param {string} namespace
 * @returns {OpenedStore}
 */
export function openRedisStore(url, namespace) {
  const client = new Redis(url)
  return { store: createRedisStore(client, { namespace, allowVolatile: true }), close: () => client.quit() }
}

/**
 * Starts a server for a measurement; throws if there is none on this machine.
 *
 * @param {'redis' | 'postgres'} kind
 * @returns {Promise<StorePlace & { stop: () => Promise<void> }>}
 */
export async function startServer(kind) {
  if (kind === 'redis') {
    const redis = await startRedis(console.log)
    if (redis === null) throw new Error('This measurement needs redis-server or valkey-server')
    return { kind, url: redis.url, stop: () => redis.stop() }
  }
  const { startPostgres } = await importTypeScript('test/helpers/servers/start-postgres.ts')
  const postgres = await startPostgres()
  return { kind, url: postgres.url, stop: () => postgres.stop() }
}
