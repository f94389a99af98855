import { createMemoryStore } from '../../../packages/tokenlib/src/stores/memory.js'
import { fillStore, pruneAll, timeLookups } from './fill.js'
import { readOutcome } from './outcomes.js'
import { createTokens, PATIENT } from './place.js'
import type { FillReport, FillSizes } from './worker-protocol.js'

/** Fills a memory store, and empties it again; needs a process of its own with `--expose-gc`. */
export async function fillMemory({ count, batch, pruneLimit }: FillSizes): Promise<FillReport> {
  const clock = { offset: 0 }
  const store = createMemoryStore({ clock: () => Date.now() + clock.offset })
  const tokens = createTokens(store, PATIENT)
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
  await tokens.revoke.token(await tokens.verify(accessToken))

  const before = measure()
  const { writeMs, sample } = await fillStore(store, { count, batch, until: Date.now() + HOUR })
  const bytes = measure() - before
  const first = await readOutcome(tokens.verify(accessToken))
  const { times, missing } = await timeLookups(store, sample)
  const { dropped: droppedAlive } = await pruneAll(store, pruneLimit)
  clock.offset = 40 * 24 * HOUR
  const pruned = await pruneAll(store, pruneLimit)
  const { missing: gone } = await timeLookups(store, sample)
  return {
    bytes,
    writeMs,
    firstRefused: Number(first === 'revoked'),
    times,
    missing,
    droppedAlive,
    dropped: pruned.dropped,
    pruneMs: pruned.totalMs,
    longestPruneMs: pruned.longestMs,
    left: sample.length - gone,
  }
}

const HOUR = 3_600_000

function measure(): number {
  const { gc } = globalThis as { gc?: () => void }
  if (gc === undefined) throw new Error('This process needs --expose-gc')
  gc()
  gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
