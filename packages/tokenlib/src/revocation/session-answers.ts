import type { SessionClient } from '../events.js'
import type { Presentation, Rotation, RotationPlace } from './rotation.js'
import type {
  FoundSession,
  LimitedOpening,
  OpenedSession,
  OpeningLimit,
  StoredSession,
} from './session-store.js'

// The answers of a store are checked for shape, because anybody may write a store, in JavaScript. Each function returns the
// answer or throws `TypeError`.

/** The answer of `openLimited`. `full` is valid only if the limit is `refuse`. */
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

/** The answer of `open`. */
export function parseOpened(answer: OpenedSession): OpenedSession {
  if (isOpened(answer)) return answer
  throw new TypeError('sessions.open() must return the id and the start of the new session')
}

/** The answer of `list`. */
export function parseList(answer: readonly StoredSession[]): readonly StoredSession[] {
  const items: unknown = answer
  if (Array.isArray(items) && answer.every(isSession)) return answer
  throw new TypeError('sessions.list() must return an array of sessions')
}

/** The answer of `get`. */
export function parseFound<Found extends StoredSession>(answer: Found | null): Found | null {
  if (answer === null || isSession(answer)) return answer
  throw new TypeError('sessions.get() must return a session or null')
}

/** The answer of `get`, with everything that a rotation depends on. */
export function parsePlace(answer: FoundSession | null): FoundSession | null {
  if (answer === null || (isSession(answer) && isPlace(answer))) return answer
  throw new TypeError('sessions.get() must return where the rotation of the session stands, or null')
}

/** The answer of `writeData`. */
export function parseWritten(answer: boolean): boolean {
  if (typeof answer === 'boolean') return answer
  throw new TypeError('sessions.writeData() must return true or false')
}

/** The answer of `present`. */
export function parsePresentation(answer: Presentation): Presentation {
  if (answer?.outcome === 'current' || isRefusal(answer)) return answer
  throw new TypeError('sessions.present() must return an outcome: current, superseded, reused or ended')
}

/** The answer of `rotate`. */
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
  if (client === undefined || !isTextOrNull(client?.ip) || !isTextOrNull(client.userAgent)) return null
  return { ip: client.ip, userAgent: client.userAgent }
}

function isOpened(answer: OpenedSession): boolean {
  return typeof answer?.sid === 'string' && answer.sid !== '' && Number.isFinite(answer.startedAt)
}

function isSession(answer: StoredSession): boolean {
  const isKnown = typeof answer?.sid === 'string' && typeof answer.user === 'string'
  return isKnown && (answer.data === undefined || isTextOrNull(answer.data))
}

function isPlace({ current, previous, generation, movedAt, lastUsedAt }: RotationPlace): boolean {
  const isKnown = typeof current === 'string' && isTextOrNull(previous)
  return isKnown && Number.isSafeInteger(generation) && [movedAt, lastUsedAt].every(Number.isFinite)
}

function isRefusal(answer: Presentation | Rotation): boolean {
  if (answer?.outcome === 'reused') return Number.isSafeInteger(answer.generation)
  return answer?.outcome === 'ended' || answer?.outcome === 'superseded'
}

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === 'string'
}
