import { Redis } from 'ioredis'
import { createRedisStore } from '../../dist/stores/redis.js'

/**
 * @typedef {object} StorePlace
 * @property {'redis' | 'postgres'} kind
 * @property {string} url
 */

/** Milliseconds of the monotonic clock that all processes of a machine share. */
export function now() {
  return Number(process.hrtime.bigint()) / 1e6
}

/**
 * A store with a client of its own.
 *
 * @param {StorePlace} place
 * @returns {Promise<{ store: import('../../dist/index.js').RevocationStore, close: () => Promise<unknown> }>}
 */
export async function openStore({ url }) {
  const client = new Redis(url)
  return {
    store: createRedisStore(client, { namespace: 'bench', allowVolatile: true }),
    close: () => client.quit(),
  }
}
