import { closeSync, openSync, writeSync } from 'node:fs'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { RevocationStore } from '../../../packages/tokenlib/src/index.js'
import { replicate } from '../../../packages/tokenlib/src/stores/replica.js'
import { createRandom } from '../../helpers/race-logout.js'
import { openStore } from '../harness/place.js'
import { EARLY } from './check-history.js'
import { type Fault, machineMs, type Operation, type OperationResult, STARVED } from './history.js'
import { LONGEST_LIFETIME, toKeyName, toKeys, toRevocation } from './keys.js'
import { logReads, type Log } from './log-reads.js'
import { createSessionUse } from './use-sessions.js'
import { watchStarvation } from './watch-starvation.js'
import type { Acknowledged, FromProcess, ProcessOptions, ToProcess } from './process-protocol.js'

// A verifier or a revoker of a run: a process of its own, with a connection through a proxy of its own.

const TICK_MS = 5
const CALL_LIMIT_MS = 2000
const POOL_WAIT_MS = 1000
// A process that has so many calls under way makes no more of them, so that a store that is behind catches up. Fewer than
// a pool has connections: its replica needs one, too.
const MAX_UNDER_WAY = 8
const STATE_INTERVAL_MS = 50
const FLUSH_INTERVAL_MS = 50
const FINAL_ATTEMPTS = 10
// A read that has just failed is not repeated immediately.
const FINAL_PAUSE_MS = 60
// How many final checks are made in one turn of the event loop.
const FINAL_STEP = 50
const STORM_BATCH = 50
const STORM_LANES = 8
// How many revocations are remembered for checks soon after them.
const RECENT = 400

interface Known extends Acknowledged {
  /** The start of a token that a watermark does not concern. */
  readonly laterStart: number
}

function say(message: FromProcess): void {
  process.send?.(message)
}

async function run(options: ProcessOptions): Promise<void> {
  const { name, life, role, boundMs, seed } = options
  const random = createRandom(seed)
  const file = openSync(options.log, 'a')
  let lines = ''
  const flush = (): void => {
    if (lines !== '') writeSync(file, lines)
    lines = ''
  }
  const log: Log = (operation) => {
    lines += `${JSON.stringify({ process: name, life, ...operation })}\n`
  }
  const logFault = (fault: Fault): void => {
    lines += `${JSON.stringify({ fault })}\n`
  }
  process.on('exit', () => (flush(), closeSync(file)))

  // A client that waits longer than the bound before it connects again makes its replica stale for longer.
  // What waits for a connection of a pool for longer than anybody waits for its answer only keeps others from it.
  const waits = { reconnectMs: boundMs / 4, poolWaitMs: POOL_WAIT_MS }
  const { store: shared } = await openStore(options.place, waits)
  const store = replicate(logReads(shared, log), { bound: `${boundMs}ms`, whenStale: options.whenStale })
  const mayAsk = options.whenStale === 'ask' ? ({ mayAsk: true } as const) : {}
  const known: Known[] = []
  const underWay = new Set<Promise<void>>()
  let isResting = false
  let isReady = false
  let fresh: Acknowledged[] = []

  const track = (work: Promise<void>): void => {
    const tracked: Promise<void> = work.finally(() => underWay.delete(tracked))
    underWay.add(tracked)
  }

  const checkNow = (key: string, start: number, given: Partial<Operation> = {}): OperationResult => {
    const t0 = machineMs()
    let result: OperationResult
    try {
      result = store.isRevokedNow?.(toKeys(key), start) === true ? 'revoked' : 'valid'
    } catch {
      result = 'unavailable'
    }
    log({ op: 'check', key, start, t0, t1: machineMs(), result, ...given })
    return result
  }

  const check = async (key: string, start: number, given: Partial<Operation> = {}): Promise<void> => {
    const atLeast = given.atLeast === true ? { atLeast: String(given.position) } : {}
    const t0 = machineMs()
    let result: OperationResult
    try {
      const [all, one] = await withLimit(store.lookup(toKeys(key), atLeast))
      result = start <= Math.max(all ?? -1, one ?? -1) ? 'revoked' : 'valid'
    } catch {
      result = 'unavailable'
    }
    log({ op: 'check', key, start, t0, t1: machineMs(), result, ...mayAsk, ...given })
  }

  const checkAll = async (keys: readonly string[]): Promise<void> => {
    for (const [at, key] of keys.entries()) {
      if (at % FINAL_STEP === 0) await nextTurn()
      // A busy machine may make it stale for a moment, in which the store is read once more.
      let result = checkNow(key, EARLY, { isFinal: true })
      for (let attempt = 0; result === 'unavailable' && attempt < FINAL_ATTEMPTS; attempt++) {
        await sleep(FINAL_PAUSE_MS)
        await withLimit(store.lookup(toKeys(key))).catch(() => undefined)
        result = checkNow(key, EARLY, { isFinal: true })
      }
    }
  }

  const revoke = async (keys: readonly string[]): Promise<void> => {
    const t0 = machineMs()
    let position: string | null = null
    try {
      position = (await withLimit(store.revoke(keys.map(toRevocation)))).position
    } catch {
      // It may have been taken all the same.
    }
    const t1 = machineMs()
    for (const key of keys) {
      log({
        op: 'revoke',
        key,
        t0,
        t1,
        ...(position === null ? { result: 'failed' } : { result: 'ok', position }),
      })
      if (position === null) continue
      learn({ key, position })
      fresh.push({ key, position })
    }
    for (const key of keys.slice(0, 4)) if (position !== null) checkNow(key, EARLY)
  }

  const learn = (acknowledged: Acknowledged): void => {
    known.push({ ...acknowledged, laterStart: Date.now() + 1 })
  }

  const pick = (): Known | undefined => {
    // Mostly what is as old as the bound is long; sometimes anything.
    const from = random(3) === 0 ? 0 : Math.max(0, known.length - RECENT)
    return known[from + random(Math.max(1, known.length - from))]
  }

  const checkOne = (): void => {
    const one = pick()
    const dice = random(20)
    if (one === undefined || dice < 3) return void checkNow(`token:never/${random(1000)}`, EARLY)
    const isUser = one.key.startsWith('user:')
    if (dice < 5) {
      // One that is revoked soon.
      const revoker = options.revokers[random(options.revokers.length)] as string
      return void checkNow(toKeyName(revoker, Number(one.key.split('/')[1]) + random(40)), EARLY)
    }
    if (dice < 6) return track(check(one.key, EARLY))
    if (dice < 7 && isReady) return track(check(one.key, EARLY, { atLeast: true, position: one.position }))
    checkNow(one.key, isUser && dice < 12 ? one.laterStart : EARLY)
  }

  const useSession = role === 'client' ? createSessionUse({ store, log, random, withLimit }) : null
  let revoked = 0
  const revokeOne = (): void => {
    track(revoke([toKeyName(name, revoked++)]))
    checkOne()
  }

  const startedAt = machineMs()
  let done = 0
  const load = setInterval(() => {
    // One that asks its store before it has read it once revokes everything when the store loses its data.
    if (isResting || (options.whenStale === 'ask' && !isReady)) return
    const due = ((machineMs() - startedAt) / 1000) * options.perSecond
    // What could not be done in time is left out: a process that was stopped does not catch up.
    if (due - done > options.perSecond / 10) done = Math.floor(due - options.perSecond / 20)
    for (; done < due; done++) {
      if (role === 'verifier') checkOne()
      else if (underWay.size >= MAX_UNDER_WAY) continue
      else if (useSession !== null) track(useSession())
      else revokeOne()
    }
  }, TICK_MS)
  setInterval(() => {
    flush()
    if (fresh.length > 0) say({ say: 'acknowledged', revocations: fresh })
    fresh = []
  }, FLUSH_INTERVAL_MS)
  setInterval(() => {
    const t0 = machineMs()
    const { ageMs, position } = store.replica?.readState() ?? { ageMs: null, position: null }
    log({
      op: 'state',
      key: '',
      t0,
      t1: machineMs(),
      result: 'ok',
      ...(ageMs !== null && { ageMs }),
      ...(position !== null && { position }),
    })
  }, STATE_INTERVAL_MS)
  watchStarvation(boundMs / 4, (t0, t1) => logFault({ kind: STARVED, t0, t1, processes: [name] }))

  process.on('message', (message: ToProcess) => {
    void (async () => {
      switch (message.tell) {
        case 'start':
          return
        case 'acknowledged':
          return message.revocations.forEach(learn)
        case 'storm': {
          const keys = Array.from({ length: message.count }, (_, at) => `token:${message.name}/${at}`)
          const runLane = async (): Promise<void> => {
            for (
              let batch = keys.splice(0, STORM_BATCH);
              batch.length > 0;
              batch = keys.splice(0, STORM_BATCH)
            ) {
              await revoke(batch)
            }
          }
          await Promise.all(Array.from({ length: STORM_LANES }, runLane))
          break
        }
        case 'rest':
          isResting = true
          clearInterval(load)
          await Promise.all(underWay)
          break
        case 'checkAll':
          await checkAll(message.keys)
          break
      }
      flush()
      if (fresh.length > 0) say({ say: 'acknowledged', revocations: fresh })
      fresh = []
      say({ say: 'done' })
    })()
  })

  await prepare(store)
  isReady = true
  say({ say: 'ready' })
}

// The store may be away: it is asked until it answers, as an application that is started again and again would.
async function prepare(store: RevocationStore): Promise<void> {
  for (;;) {
    try {
      await withLimit(store.prepare({ longestLifetime: LONGEST_LIFETIME }))
      await withLimit(store.replica?.ready() ?? Promise.resolve())
      return
    } catch {
      await sleep(50)
    }
  }
}

async function withLimit<Value>(answer: Promise<Value>): Promise<Value> {
  const limit = new AbortController()
  const late = sleep(CALL_LIMIT_MS, null, { signal: limit.signal }).then(() => {
    throw new Error(`No answer within ${CALL_LIMIT_MS} ms`)
  })
  late.catch(() => undefined)
  answer.catch(() => undefined)
  try {
    return await Promise.race([answer, late])
  } finally {
    limit.abort()
  }
}

process.once('message', (message: ToProcess) => {
  if (message.tell === 'start') void run(message.options)
})
// Its parent is gone.
process.on('disconnect', () => process.exit())
