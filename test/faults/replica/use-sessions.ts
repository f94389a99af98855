import { randomBytes } from 'node:crypto'
import { FOREVER, type RevocationStore, type Rotation } from '../../../src/store-kit.js'
import { machineMs, type Operation } from './history.js'
import { LONGEST_LIFETIME } from './keys.js'
import type { Log } from './log-reads.js'

interface KnownSession {
  readonly sid: string
  /** The newest generation that this process was given. */
  generation: number
}

/** What a process needs to use sessions. */
export interface SessionUseOptions {
  readonly store: RevocationStore
  readonly log: Log
  readonly random: (limit: number) => number
  /** Gives up a call that takes too long. */
  readonly withLimit: <Value>(answer: Promise<Value>) => Promise<Value>
}

/** How many sessions are in use at a time; older ones, most of which have ended, are forgotten. */
const MAX_SESSIONS = 40
// Short: within the grace of a rotation a session does not move on again.
const RULES = { graceMs: 100, idleMs: FOREVER }
const CLIENT = { ip: null, userAgent: null }

/**
 * Returns a function that does one thing with one session: opens it, rotates it (some by two requests at once, some with
 * a token that was stolen long ago), presents a token, or ends it. Sessions that have ended stay in use for a while.
 */
export function createSessionUse({ store, log, random, withLimit }: SessionUseOptions): () => Promise<void> {
  const known: KnownSession[] = []
  const { sessions } = store
  if (sessions === undefined) throw new TypeError('The store has no sessions')

  const open = async (): Promise<void> => {
    const ends = Date.now() + LONGEST_LIFETIME
    const nonce = randomBytes(10).toString('base64url')
    const user = `client-${random(5)}`
    const opened = sessions.open({ user, nonce, expiresAt: ends, until: ends, ...CLIENT })
    try {
      const { sid } = await withLimit(opened)
      known.push({ sid, generation: 0 })
      if (known.length > MAX_SESSIONS) known.shift()
    } catch {
      // Nobody was told of it.
    }
  }

  const use = async (
    { sid }: KnownSession,
    op: 'rotate' | 'present' | 'end',
    presented: number,
    call: () => Promise<Partial<Operation>>,
  ): Promise<void> => {
    const t0 = machineMs()
    let given: Partial<Operation>
    try {
      given = await withLimit(call())
    } catch {
      // It may have been done all the same.
      given = { result: 'failed' }
    }
    log({ op, key: `session:${sid}`, t0, t1: machineMs(), presented, result: 'ok', ...given })
  }

  const rotate = (session: KnownSession, generation: number): Promise<void> =>
    use(session, 'rotate', generation, async () => {
      const rotation = await sessions.rotate(session.sid, generation, { ...RULES, ...CLIENT })
      if ('expiresAt' in rotation) session.generation = Math.max(session.generation, rotation.generation)
      return toResult(rotation)
    })

  return async () => {
    const dice = random(20)
    const session = known[random(known.length + 1)]
    if (session === undefined || dice === 0) return open()
    const { sid, generation } = session
    if (dice === 1 && generation > 2) return rotate(session, generation - 2)
    if (dice === 2) {
      const entry = {
        kind: 'session',
        id: sid,
        notBefore: FOREVER,
        until: Date.now() + LONGEST_LIFETIME,
      } as const
      return use(session, 'end', generation, async () => (await store.revoke([entry]), {}))
    }
    if (dice < 6) {
      return use(session, 'present', generation, async () => {
        const { outcome } = await sessions.present(sid, generation, RULES)
        return { result: outcome === 'current' ? 'ok' : outcome }
      })
    }
    await Promise.all(Array.from({ length: dice < 12 ? 2 : 1 }, () => rotate(session, generation)))
  }
}

/** What a rotation is in a history. */
export function toResult(rotation: Rotation): Pick<Operation, 'result' | 'issued'> {
  return 'expiresAt' in rotation
    ? { result: 'ok', issued: rotation.generation }
    : { result: rotation.outcome }
}
