import { ConfigurationError, SessionLimitError } from '../errors.js'
import type { SessionClient, TokenEmitter } from '../events.js'
import { IS_WORKERD, nextTurn, startTimer } from '../runtime.js'
import { FOREVER, toRevocationKey } from './revocation.js'
import type { Presentation, Rotation, RotationPlace } from './rotation.js'
import type { OpeningLimit } from './session-options.js'
import type {
  FoundSession,
  LimitedOpening,
  OpenedSession,
  StoredSession,
  NewSession,
  SessionStore,
} from './session-store.js'
import type { StoreClient } from './store-client.js'
import type { RevocationStore } from './store.js'

/** A session that is to be opened. */
export interface Opening {
  readonly uid: string
  readonly session: NewSession
  /** How long a token of it can verify, in milliseconds. */
  readonly lifetime: number
}

/** Opens sessions in a store. What was opened too late for its log-in is revoked again. */
export interface SessionOpener {
  open(opening: Opening): Promise<OpenedSession>
  /** The same with a limit; `SessionLimitError` where that refuses it. */
  openLimited(opening: Opening, limit: OpeningLimit): Promise<OpenedSession>
  /** Revokes a session that nobody has tokens of; `until` is in epoch milliseconds. Never rejects. */
  discard(sid: string, until: number): Promise<void>
}

/** What sessions are opened by. */
export interface OpenerRules {
  readonly emit: TokenEmitter['emit']
  /** How long a session may go unused; milliseconds, or `FOREVER`. */
  readonly idleMs: number
}

// A log-in with a limit may wait for others for this part of its time. The rest is for the store: if its answer is too
// late, it has ended sessions for a log-in that was refused.
const WAITING_PART = 0.75

/** An opener for one store; `stored` is the part of it that keeps sessions. */
export function createSessionOpener(
  client: StoreClient,
  { emit, idleMs }: OpenerRules,
  stored: SessionStore,
): SessionOpener {
  const takeTurn = createTurns()

  // Nobody has its tokens, but it would be listed, and count for the limit.
  const discard = async (sid: string, until: number): Promise<void> => {
    const entry = { ...toRevocationKey('session', sid), notBefore: FOREVER, until }
    try {
      await client.call('revoke', (target) => target.revoke([entry]))
    } catch {
      // It ends unused.
    }
  }

  const callStore = async <Answer>(
    { session, lifetime }: Opening,
    run: (target: RevocationStore) => Promise<Answer>,
    readOpened: (answer: Answer) => OpenedSession | null,
  ): Promise<Answer> => {
    let isRefused = false
    const opened: string[] = []
    const undo = (): void => {
      for (const sid of opened.splice(0)) void discard(sid, session.until)
    }
    const runOpening = async (target: RevocationStore): Promise<Answer> => {
      const answer = await run(target)
      const made = readOpened(answer)
      if (made !== null) opened.push(made.sid)
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

  // As soon as the store has answered: the sessions are over, whatever becomes of the log-in.
  const reportEnded = (uid: string, ended: readonly string[], from: SessionClient): void => {
    const origin = { actor: null, note: null, ...from }
    for (const id of ended) {
      emit('revoked', () => ({ kind: 'session', id, sub: uid, reason: 'limit', issuer: null, ...origin }))
    }
  }

  // Of the log-ins of a user that may end sessions, one at a time asks the store. All of them at once would be late
  // together when the store is slow, and each would have ended a session that is in use.
  const takeStep = async (opening: Opening, limit: OpeningLimit): Promise<LimitedOpening> => {
    const { uid, session } = opening
    const { ip, userAgent } = session
    const controller = new AbortController()
    const { signal } = controller
    const stop = (): void => controller.abort(new Error(WAITED_TOO_LONG))
    const timer = startTimer(stop, client.timeoutMs * WAITING_PART)
    const turn = limit.whenFull === 'refuse' ? NO_TURN : takeTurn(session.user)
    try {
      const run = async (target: RevocationStore): Promise<LimitedOpening> => {
        await turn.begun
        signal.throwIfAborted()
        const sessions = sessionsOf(target)
        assertLimits(sessions)
        const answer = await sessions.openLimited(session, { ...limit, idleMs }, { signal })
        const parsed = parseOpening(answer, limit)
        if (parsed.outcome !== 'full') reportEnded(uid, parsed.ended, { ip, userAgent })
        return parsed
      }
      return await callStore(opening, run, (answer) => (answer.outcome === 'opened' ? answer : null))
    } finally {
      // Also where the store has not answered yet: a call that is lost must not hold up every later log-in of the user.
      clearTimeout(timer)
      stop()
      turn.end()
    }
  }

  return {
    discard,
    open(opening) {
      const run = async (target: RevocationStore): Promise<OpenedSession> =>
        parseOpened(await sessionsOf(target).open(opening.session))
      return callStore(opening, run, (answer) => answer)
    },

    async openLimited(opening, limit) {
      // Not within the call: a store that cannot enforce a limit is no outage.
      assertLimits(stored)
      // Each call ends a bounded number of sessions, and has a deadline of its own.
      for (;;) {
        const answer = await takeStep(opening, limit)
        if (answer.outcome === 'opened') return answer
        if (answer.outcome === 'full') throw new SessionLimitError(limit.max)
        // A store in this process does not pause by itself.
        await nextTurn()
      }
    },
  }
}

const WAITED_TOO_LONG =
  'The log-in has waited too long for the store, or for other log-ins of the same user at the same time'

/** The part of a store that keeps sessions. */
export function sessionsOf({ sessions }: RevocationStore): SessionStore {
  if (sessions === undefined) throw new TypeError('The store keeps no sessions')
  return sessions
}

function assertLimits(sessions: SessionStore): asserts sessions is Required<SessionStore> {
  if (sessions.openLimited !== undefined) return
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
  const forget = async (user: string, over: Promise<void>): Promise<void> => {
    await over
    if (last.get(user) === over) last.delete(user)
  }
  return (user) => {
    // In a Worker, what another request has started may never settle: it ends with that request.
    if (IS_WORKERD) return NO_TURN
    const begun = last.get(user) ?? Promise.resolve()
    let { end } = NO_TURN
    const ended = new Promise<void>((resolve) => (end = resolve))
    const over = begun.then(() => ended)
    last.set(user, over)
    void forget(user, over)
    return { begun, end }
  }
}

// What a store answers is checked for its shape: a store may be written by anybody, in JavaScript.

/** The answer of `openLimited`, or `TypeError`; `full` only answers a limit that refuses. */
export function parseOpening(answer: LimitedOpening, { whenFull }: OpeningLimit): LimitedOpening {
  if (answer?.outcome === 'full' && whenFull === 'refuse') return answer
  if (answer?.outcome === 'opened' || answer?.outcome === 'ending') {
    const ended: unknown = answer.ended
    const isList = Array.isArray(ended) && ended.every((sid) => typeof sid === 'string' && sid !== '')
    const isProgress = answer.outcome === 'opened' ? isOpened(answer) : answer.ended?.length > 0
    if (isList && isProgress) return answer
  }
  throw new TypeError(
    'sessions.openLimited() must return an outcome: opened or ending, with the ids of the sessions that it ended, or full',
  )
}

/** The answer of `open`, or `TypeError`. */
export function parseOpened(answer: OpenedSession): OpenedSession {
  if (isOpened(answer)) return answer
  throw new TypeError('sessions.open() must return the id and the start of the new session')
}

function isOpened(answer: OpenedSession): boolean {
  return typeof answer?.sid === 'string' && answer.sid !== '' && Number.isFinite(answer.startedAt)
}

/** The answer of `list`, or `TypeError`. */
export function parseList(answer: readonly StoredSession[]): readonly StoredSession[] {
  const items: unknown = answer
  if (Array.isArray(items) && answer.every(isSession)) return answer
  throw new TypeError('sessions.list() must return an array of sessions')
}

/** The answer of `get`, or `TypeError`. */
export function parseFound(answer: StoredSession | null): StoredSession | null {
  if (answer === null || isSession(answer)) return answer
  throw new TypeError('sessions.get() must return a session or null')
}

/** The answer of `get` with everything that a rotation depends on, or `TypeError`. */
export function parsePlace(answer: FoundSession | null): FoundSession | null {
  if (answer === null || (isSession(answer) && isPlace(answer))) return answer
  throw new TypeError('sessions.get() must return where the rotation of the session stands, or null')
}

function isPlace({ current, previous, generation, movedAt, lastUsedAt }: RotationPlace): boolean {
  const isKnown = typeof current === 'string' && (previous === null || typeof previous === 'string')
  return (
    isKnown && Number.isSafeInteger(generation) && Number.isFinite(movedAt) && Number.isFinite(lastUsedAt)
  )
}

function isSession(answer: StoredSession): boolean {
  return typeof answer?.sid === 'string' && typeof answer.user === 'string'
}

/** The answer of `present`, or `TypeError`. */
export function parsePresentation(answer: Presentation): Presentation {
  if (answer?.outcome === 'current' || isRefusal(answer)) return answer
  throw new TypeError('sessions.present() must return an outcome: current, superseded, reused or ended')
}

/** The answer of `rotate`, or `TypeError`. */
export function parseRotation(answer: Rotation): Rotation {
  if (answer?.outcome === 'repeated' || answer?.outcome === 'kept' || answer?.outcome === 'advanced') {
    const { now, movedAt, expiresAt } = answer
    if ([now, movedAt, expiresAt].every(Number.isFinite)) return answer
  } else if (isRefusal(answer)) return answer
  throw new TypeError(
    'sessions.rotate() must return an outcome: repeated, kept or advanced, with now, movedAt and expiresAt, or ' +
      'superseded, reused or ended',
  )
}

/** The client that last advanced a session. `null` if the answer is malformed: the event must be reported anyway. */
export function readClient({ client }: { readonly client?: SessionClient }): SessionClient | null {
  if (client === undefined || !isKnownOrNull(client?.ip) || !isKnownOrNull(client.userAgent)) return null
  return { ip: client.ip, userAgent: client.userAgent }
}

function isKnownOrNull(value: unknown): boolean {
  return value === null || typeof value === 'string'
}

function isRefusal(answer: Presentation | Rotation): boolean {
  if (answer?.outcome === 'reused') return Number.isSafeInteger(answer.generation)
  return answer?.outcome === 'ended' || answer?.outcome === 'superseded'
}
