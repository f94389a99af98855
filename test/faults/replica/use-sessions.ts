import { randomBytes } from 'node:crypto'
import {
  FOREVER,
  type PresentedToken,
  type RevocationStore,
  type Rotation,
} from '../../../packages/tokenlib/src/kit.js'
import { childOf, firstToken } from '../../../packages/contracts/src/store-fixture.js'
import { machineMs, type Operation } from './history.js'
import { LONGEST_LIFETIME } from './keys.js'
import type { Log } from './log-reads.js'

interface KnownSession {
  readonly sid: string
  /** The newest tokens that this process was given: up to two siblings. */
  newest: readonly PresentedToken[]
  /** All that it was given before. */
  readonly older: PresentedToken[]
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
// Short: a token that is younger does not move its session on.
const RULES = { graceMs: 100, idleMs: FOREVER }
const CLIENT = { ip: null, userAgent: null }

/**
 * Returns a function that does one thing with one session: opens it, rotates it (some by two requests at once, of which
 * some have two siblings, some with a token that was stolen long ago), presents a token, or ends it. Sessions that have ended stay in use for a while.
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
      known.push({ sid, newest: [firstToken(sid)], older: [] })
      if (known.length > MAX_SESSIONS) known.shift()
    } catch {
      // Nobody was told of it.
    }
  }

  const use = async (
    { sid }: KnownSession,
    op: 'rotate' | 'present' | 'end',
    { id: presented }: PresentedToken,
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

  const rotate = (session: KnownSession, token: PresentedToken): Promise<void> =>
    use(session, 'rotate', token, async () => {
      const rotation = await sessions.rotate(session.sid, token, { ...RULES, ...CLIENT })
      if (rotation.outcome === 'repeated' || rotation.outcome === 'advanced') {
        receive(session, childOf(token, rotation.now))
      }
      return toResult(rotation, token)
    })

  const receive = (session: KnownSession, child: PresentedToken): void => {
    const [known] = session.newest
    if (known === undefined || child.generation > known.generation) {
      session.older.push(...session.newest)
      session.newest = [child]
    } else if (child.parent === known.parent) {
      session.newest = [known, child]
    }
  }

  return async () => {
    const dice = random(20)
    const session = known[random(known.length + 1)]
    if (session === undefined || dice === 0) return open()
    const { sid, newest, older } = session
    const [token = firstToken(sid), sibling = token] = newest
    const stolen = older.at(-3)
    if (dice === 1 && stolen !== undefined) return rotate(session, stolen)
    if (dice === 2) {
      const entry = {
        kind: 'session',
        id: sid,
        notBefore: FOREVER,
        until: Date.now() + LONGEST_LIFETIME,
      } as const
      return use(session, 'end', token, async () => (await store.revoke([entry]), {}))
    }
    if (dice < 6) {
      return use(session, 'present', token, async () => {
        const { outcome } = await sessions.present(sid, token, RULES)
        return { result: outcome === 'current' ? 'ok' : outcome }
      })
    }
    await Promise.all((dice < 12 ? [token, sibling] : [token]).map((each) => rotate(session, each)))
  }
}

/** What a rotation is in a history. */
export function toResult(
  rotation: Rotation,
  { parent }: PresentedToken,
): Pick<Operation, 'result' | 'movedFrom'> {
  if (rotation.outcome === 'advanced') return { result: 'ok', movedFrom: parent }
  return { result: 'now' in rotation ? 'ok' : rotation.outcome }
}
