import { ConfigurationError } from '../errors.js'
import { assertOptions, type OptionNames } from '../options.js'
import { callQuietly, pollFeed } from '../revocation/store-rules.js'
import {
  addDuration,
  isWatermark,
  raiseWatermark,
  type Revocation,
  toFirstStart,
} from '../revocation/revocation.js'
import { defineStore, type RevocationStore } from '../revocation/store.js'
import { type Clock, createCautiousClock, systemClock } from '../time.js'
import { nextTurn } from '../runtime.js'
import { runWithPauses } from './memory/history.js'
import { createMemoryRevocations } from './memory/revocations.js'
import { createMemorySessions } from './memory/sessions.js'

/** How a memory store behaves. */
export interface MemoryStoreOptions {
  /** Accept that a restart forgets every revocation, and that other processes never see one. */
  readonly allowInProduction?: boolean
  readonly clock?: Clock
}

const OPTIONS: OptionNames<MemoryStoreOptions> = { allowInProduction: true, clock: true }

// Sessions of a user, or of all, that started after a moment, and up to another.
interface LateSessions {
  readonly user: string | null
  readonly after: number
  readonly upTo: number
}

/**
 * A store in the memory of this process: for tests, for development, and where one process is all there is.
 *
 * It holds what is alive, and a little more: every write also looks at a few old revocations and drops what has ended.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): RevocationStore {
  assertOptions('createMemoryStore()', options, OPTIONS)
  if (process.env['NODE_ENV'] === 'production' && options.allowInProduction !== true) {
    throw new ConfigurationError(
      'The memory store forgets every revocation when the process ends. In production use tokenlib/sqlite, ' +
        'redis or postgres; or createMemoryStore({ allowInProduction: true })',
    )
  }
  const now = options.clock ?? systemClock
  const pruneClock = createCautiousClock(now)
  const revocations = createMemoryRevocations(pruneClock)
  let longestLifetime = 0
  let isClosed = false

  // What was forgotten must not be answered with "not revoked".
  const assertOpen = (): void => {
    if (isClosed) throw new Error('The memory store is closed')
  }

  const listeners = new Set<() => void>()
  const notify = (): void => {
    for (const listener of listeners) listener()
  }

  const notifyOfReuse = <Answer extends { readonly outcome: string }>(answer: Answer): Answer => {
    if (answer.outcome === 'reused') notify()
    return answer
  }

  const sessions = createMemorySessions({ revocations, now, pruneClock, assertOpen })

  const sweep = (writes: number): void => {
    revocations.sweep(writes)
    sessions.sweep(writes)
  }

  // Returns the moment that it was raised to, and the sessions that started even later.
  const revokeBefore = (revocation: Revocation): LateSessions & { readonly notBefore: number } => {
    const user = revocation.kind === 'user' ? revocation.id : null
    const newest = sessions.newestStart(user)
    const notBefore = raiseWatermark(revocation.notBefore, newest, now())
    const until = Math.max(revocation.until, addDuration(notBefore, longestLifetime))
    revocations.merge({ ...revocation, notBefore, until })
    const watermark = revocations.find(revocation.kind, revocation.id) ?? notBefore
    const after = toFirstStart(watermark)
    // At once: what is opened from now on starts at this moment too.
    while (sessions.revokeSome(user, watermark, after)) continue
    return { user, after, upTo: newest, notBefore }
  }

  // What started later than a watermark reaches, a few at a time.
  const revokeLate = async ({ user, after, upTo }: LateSessions): Promise<void> => {
    while (sessions.revokeSome(user, after, upTo)) {
      notify()
      await nextTurn()
      assertOpen()
    }
  }

  const revokeSession = (revocation: Revocation): void => {
    const until =
      sessions.readUntil(revocation.id) ?? Math.max(revocation.until, addDuration(now(), longestLifetime))
    revocations.merge({ ...revocation, until })
    sessions.removeRevoked(revocation.id)
  }

  return defineStore({
    system: 'memory',
    async prepare(needs) {
      assertOpen()
      if (needs.longestLifetime <= longestLifetime) return
      longestLifetime = needs.longestLifetime
      for (const entry of revocations.watermarks()) {
        revocations.merge({ ...entry, until: addDuration(entry.notBefore, longestLifetime) })
      }
    },
    async revoke(batch) {
      assertOpen()
      sweep(Math.max(1, batch.length))
      let taken = now()
      const late: LateSessions[] = []
      for (const entry of batch) {
        if (isWatermark(entry.kind)) {
          const { notBefore, ...sessionsAfter } = revokeBefore(entry)
          taken = Math.max(taken, notBefore)
          late.push(sessionsAfter)
        } else if (entry.kind === 'session') revokeSession(entry)
        else revocations.merge(entry)
      }
      for (const some of late) await revokeLate(some)
      notify()
      return { position: revocations.position(), now: taken }
    },
    async claim(batch) {
      assertOpen()
      const [first] = batch
      const isFirst = first !== undefined && revocations.find(first.kind, first.id) === undefined
      if (isFirst) {
        sweep(batch.length)
        for (const entry of batch) revocations.merge(entry)
        notify()
      }
      return { isFirst, position: revocations.position() }
    },
    async lookup(keys) {
      assertOpen()
      return keys.map(({ kind, id }) => revocations.find(kind, id))
    },
    createLookup(keys, start) {
      const isRevoked = revocations.createLookup(keys, start)
      return () => {
        assertOpen()
        return isRevoked()
      }
    },
    feed: (after, wait) =>
      pollFeed(() => {
        assertOpen()
        return revocations.read(after)
      }, wait),
    async restore(batch) {
      assertOpen()
      for (const entry of batch) {
        revocations.merge(entry)
        if (entry.kind === 'session') sessions.removeRevoked(entry.id)
      }
      notify()
    },
    watch(listener) {
      // One of its own, so that a listener may be added twice.
      const own = (): void => callQuietly(listener)
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    async prune(limit) {
      const dropped = await runWithPauses(revocations.prune(limit))
      return dropped + (await runWithPauses(sessions.prune(limit)))
    },
    sessions: {
      async open(session) {
        sweep(1)
        return sessions.open(session)
      },
      async openLimited(session, limit) {
        sweep(1)
        const answer = await sessions.openLimited(session, limit)
        if (answer.outcome !== 'full' && answer.ended.length > 0) notify()
        return answer
      },
      rotate: async (sid, generation, rules) => notifyOfReuse(await sessions.rotate(sid, generation, rules)),
      present: async (sid, generation, rules) =>
        notifyOfReuse(await sessions.present(sid, generation, rules)),
      list: (user, page) => sessions.list(user, page),
      get: (sid, rules) => sessions.get(sid, rules),
    },
    async close() {
      isClosed = true
      revocations.clear()
      sessions.clear()
    },
  })
}
