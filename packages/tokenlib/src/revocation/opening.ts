import { ConfigurationError, SessionLimitError } from '../errors.js'
import type { SessionClient, TokenEmitter } from '../events.js'
import { IS_WORKERD, nextTurn, startTimer } from '../runtime.js'
import { parseOpened, parseOpening } from './session-answers.js'
import type {
  LimitedOpening,
  NewSession,
  OpenedSession,
  OpeningLimit,
  SessionStore,
} from './session-store.js'
import type { Scheduler } from '../time.js'
import type { RevocationStore } from './store.js'
import type { StoreClient } from './store-client.js'

/** A session that is about to be opened. */
export interface Opening {
  readonly uid: string
  readonly session: NewSession
  /** How long a token of it can verify, in milliseconds. */
  readonly lifetime: number
}

// A login with a limit may wait for others for this part of its time. The rest is for the store: if its answer is too
// late, it has ended sessions for a login that was refused.
const WAITING_PART = 0.75

/** Opens a session; `SessionLimitError` if a limit refuses it. */
export type OpenSession = (opening: Opening, limit: OpeningLimit | null) => Promise<OpenedSession>

/** What an opener needs. */
export interface OpeningRules {
  readonly emit: TokenEmitter['emit']
  readonly idleMs: number
  readonly scheduler: Scheduler
}

/** Opens sessions in a store. A session that was opened too late for its login is passed to `discard`. */
export function createOpener(
  client: StoreClient,
  store: RevocationStore,
  { emit, idleMs, scheduler }: OpeningRules,
  discard: (sid: string, expiresAt: number) => Promise<void>,
): OpenSession {
  const takeTurn = createTurns()

  const callStore = async (
    { session, lifetime }: Opening,
    run: () => Promise<LimitedOpening>,
  ): Promise<LimitedOpening> => {
    let isRefused = false
    let opened: string | null = null
    const undo = (): void => {
      if (opened !== null) void discard(opened, session.expiresAt)
      opened = null
    }
    const runOpening = async (): Promise<LimitedOpening> => {
      const answer = await run()
      if (answer.outcome === 'opened') opened = answer.sid
      if (isRefused) undo()
      return answer
    }
    try {
      return await client.call('open', runOpening, lifetime)
    } catch (error) {
      isRefused = true
      undo()
      throw error
    }
  }

  // Reported as soon as the store has answered: the sessions have ended, even if the login fails.
  const reportEnded = (uid: string, ended: readonly string[], { ip, userAgent }: SessionClient): void => {
    const facts = { sub: uid, reason: 'limit', issuer: null, actor: null, note: null, ip, userAgent } as const
    for (const id of ended) emit('revoked', () => ({ kind: 'session', id, ...facts }))
  }

  // Logins with a limit call the store one at a time per user. With a slow store, concurrent logins would all time out
  // after each has ended a session that is in use.
  const openLimited = async (opening: Opening, limit: OpeningLimit): Promise<LimitedOpening> => {
    const { uid, session } = opening
    const controller = new AbortController()
    const { signal } = controller
    const stop = (): void => controller.abort(new Error(WAITED_TOO_LONG))
    const timer = startTimer(scheduler, stop, client.timeoutMs * WAITING_PART)
    const turn = limit.whenFull === 'refuse' ? NO_TURN : takeTurn(session.user)
    try {
      return await callStore(opening, async () => {
        await turn.begun
        signal.throwIfAborted()
        const answer = await limitedSessionsOf(store).openLimited(session, { ...limit, idleMs }, { signal })
        const parsed = parseOpening(answer, limit)
        if (parsed.outcome !== 'full') reportEnded(uid, parsed.ended, session)
        return parsed
      })
    } finally {
      // Even if the store has not answered yet: a lost call must not block every later login of the user.
      scheduler.clearTimeout(timer)
      stop()
      turn.end()
    }
  }

  const openUnlimited = (opening: Opening): Promise<LimitedOpening> =>
    callStore(opening, async () => {
      const opened = parseOpened(await sessionsOf(store).open(opening.session))
      return { ...opened, outcome: 'opened', ended: [] }
    })

  return async (opening, limit) => {
    // Thrown outside the call: a store that cannot enforce a limit is not unavailable.
    if (limit !== null) limitedSessionsOf(store)
    // Each call ends a bounded number of sessions, and has a deadline of its own.
    for (;;) {
      const answer = await (limit === null ? openUnlimited(opening) : openLimited(opening, limit))
      if (answer.outcome === 'opened') return answer
      if (answer.outcome === 'full') throw new SessionLimitError(limit?.max ?? 0)
      // A store in this process does not pause by itself.
      await nextTurn()
    }
  }
}

const WAITED_TOO_LONG =
  'The login has waited too long for the store, or for other logins of the same user at the same time'

/** The part of a store that keeps sessions. */
export function sessionsOf({ sessions }: RevocationStore): SessionStore {
  if (sessions === undefined) throw new TypeError('The store keeps no sessions')
  return sessions
}

function limitedSessionsOf(store: RevocationStore): Required<SessionStore> {
  const sessions = sessionsOf(store)
  if (sessions.openLimited !== undefined) return sessions as Required<SessionStore>
  throw new ConfigurationError(
    'maxSessions needs a store that can enforce it, and this one has no sessions.openLimited',
  )
}

interface Turn {
  /** Resolves when every turn before this one has ended. */
  readonly begun: Promise<void>
  readonly end: () => void
}

const NO_TURN: Turn = { begun: Promise.resolve(), end: () => undefined }

/** Turns of each user, in the order in which they are taken. */
function createTurns(): (user: string) => Turn {
  const last = new Map<string, Promise<void>>()
  return (user) => {
    // In a Worker, a promise that another request started may never settle: it ends with that request.
    if (IS_WORKERD) return NO_TURN
    const begun = last.get(user) ?? Promise.resolve()
    let { end } = NO_TURN
    const ended = new Promise<void>((resolve) => (end = resolve))
    const forget = (): void => {
      if (last.get(user) === over) last.delete(user)
    }
    const over: Promise<void> = begun.then(() => ended).then(forget)
    last.set(user, over)
    return { begun, end }
  }
}
