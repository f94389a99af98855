import type { SessionClient } from '../events.js'
import type { Presentation, Rotation, RotationPlace } from './rotation.js'
import type { FoundSession, LimitedOpening, OpenedSession, StoredSession } from './session-store.js'
import type { OpeningLimit } from './session-options.js'

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
