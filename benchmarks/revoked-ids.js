import { randomFillSync } from 'node:crypto'
import { FOREVER } from '../dist/index.js'

const BATCH = 10_000

/**
 * Batches of token ids like ours: six bytes of time and ten random ones, in base64url.
 *
 * @param {number} count
 */
export function* createIdBatches(count) {
  const bytes = Buffer.alloc(BATCH * 16)
  for (let made = 0; made < count; made += BATCH) {
    randomFillSync(bytes)
    const now = Date.now()
    yield Array.from({ length: Math.min(BATCH, count - made) }, (_, at) => {
      bytes.writeUIntBE(now - (at % 1000), at * 16, 6)
      return bytes.toString('base64url', at * 16, at * 16 + 16)
    })
  }
}

/**
 * Revokes tokens in a store.
 *
 * @param {import('../dist/index.js').RevocationStore} store
 * @param {readonly string[]} ids
 */
export async function revokeIds(store, ids) {
  const until = Date.now() + 3_600_000
  await store.revoke(ids.map((id) => ({ kind: 'token', id, notBefore: FOREVER, until })))
}
