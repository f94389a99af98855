// What is left in memory of the checks of tokens that are not remembered, by store. Fails if a check leaves something.
// npm run build && node --expose-gc benchmarks/growth/kept-by-checks.js [none] [memory] [replica] [sqlite]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import { createMemoryStore } from 'tokenlib/memory'
import { replicate } from 'tokenlib/replica'
import { createSqliteStore } from 'tokenlib/sqlite'
import { toCount } from '../figures.js'
import { createGuard, openManager, toRequest } from '../process/guarded.js'
import { createIdBatches, createKeys, createTokenFactory, revokeIds } from '../tokens.js'

const CHECKS = 1_000_000
const BATCH = 200_000
const REVOKED = 1000
// The least that a check can leave is a reference, of 8 bytes. The noise of a run is below one byte per check.
const MOST_BYTES_PER_CHECK = 4

const folder = mkdtempSync(join(tmpdir(), 'tokenlib-kept-'))
const database = new DatabaseSync(join(folder, 'tokens.db'))
const STORES = {
  none: () => null,
  memory: () => createMemoryStore(),
  // A busy machine may stop this process for longer than the default bound.
  replica: () => replicate(createMemoryStore(), { bound: '1m' }),
  sqlite: () => createSqliteStore(database),
}

try {
  const kinds = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(STORES)
  for (const kind of kinds) {
    const { kept, rss } = await measureKept(STORES[kind]())
    const grown = `RSS ${(rss / 1e6).toFixed(1)} MB`
    console.log(
      `${kind}: ${toCount(kept)} bytes per ${toCount(CHECKS)} checks in heap and buffers (${grown})`,
    )
    if (kept >= CHECKS * MOST_BYTES_PER_CHECK) process.exitCode = 1
  }
} finally {
  database.close()
  rmSync(folder, { recursive: true })
}

async function measureKept(store) {
  const keys = createKeys('HS256')
  const manager = await openManager(keys, store, { JWT_VERIFIED_CACHE_SIZE: 0 })
  // An empty store has less to look at.
  if (store !== null) for (const ids of createIdBatches(REVOKED)) await revokeIds(store, ids)
  const createToken = createTokenFactory(manager, keys.privateText)
  const guard = createGuard(manager)
  const checkBatch = async (first) => {
    const requests = Array.from({ length: BATCH }, (_, number) => toRequest(createToken(first + number)))
    const before = await readHeld()
    await checkAll(guard, requests)
    const after = await readHeld()
    // Alive until here, so that what a check leaves at its request counts too.
    requests.length = 0
    return { kept: after.held - before.held, rss: after.rss }
  }

  const warm = await checkBatch(0)
  let [kept, rss] = [0, 0]
  for (let first = BATCH; first <= CHECKS; first += BATCH) {
    const batch = await checkBatch(first)
    kept += batch.kept
    rss = batch.rss - warm.rss
  }
  await manager.close()
  return { kept, rss }
}

async function checkAll(guard, requests) {
  for (const [at, request] of requests.entries()) {
    if (!guard(request)) throw new Error('A good token was refused')
    // As in a server: a replica has to hear from its store.
    if (at % 1000 === 0) await nextTurn()
  }
}

async function readHeld() {
  // What a collection finds may be freed only by a later one.
  for (let round = 0; round < 3; round++) {
    globalThis.gc()
    await nextTurn()
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { held: heapUsed + external, rss }
}
