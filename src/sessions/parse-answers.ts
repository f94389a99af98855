import type { SessionClient } from '../events.js'
import type {
  LimitedOpening,
  OpenedSession,
  Presentation,
  Reuse,
  Rotation,
  StoredSession,
} from '../revocation/session-store.js'
import type { OpeningLimit } from './options.js'

// What a store answers is checked for its shape: a store may be written by anybody, in JavaScript.

/** The answer of `openLimited`, or `TypeError`; `full` only answers a limit that refuses. */
export function parseOpening(answer: LimitedOpening, { whenFull }: OpeningLimit): LimitedOpening {
  if (answer?.outcome === 'full' && whenFull === 'refuse') return answer
  if (answer?.outcome === 'opened' || answer?.outcome === 'ending') {
    const ended: unknown = answer.ended
    const isList = Array.isArray(ended) && ended.every((sid) => typeof sid === 'string' && sid !== '')
    const isProgress =
      answer.outcome === 'opened'
        ? typeof answer.sid === 'string' && answer.sid !== ''
        : answer.ended?.length > 0
    if (isList && isProgress) return answer
  }
  throw new TypeError(
    'sessions.openLimited() must return an outcome: opened or ending, with the ids of the sessions that it ended, or full',
  )
}

/** The answer of `open`, or `TypeError`. */
export function parseOpened(answer: OpenedSession): OpenedSession {
  if (typeof answer?.sid === 'string' && answer.sid !== '') return answer
  throw new TypeError('sessions.open() must return the id of the new session')
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

/** The generation in the answer of `get`, or `null` for no session; `TypeError` for an answer without one. */
export function parseGeneration(answer: StoredSession | null): number | null {
  const generation = parseFound(answer)?.generation ?? null
  if (answer === null || Number.isSafeInteger(generation)) return generation
  throw new TypeError('sessions.get() must return the generation of the session')
}

/** The answer of `get` with everything that a rotation depends on, or `TypeError`. */
export function parseRotatable(answer: StoredSession | null): StoredSession | null {
  parseGeneration(answer)
  if (answer === null || [answer.lastUsedAt, answer.expiresAt].every(Number.isFinite)) return answer
  throw new TypeError('sessions.get() must return lastUsedAt and expiresAt of the session')
}

function isSession(answer: StoredSession): boolean {
  return typeof answer?.sid === 'string' && typeof answer.user === 'string'
}

/** The answer of `present`, or `TypeError`. */
export function parsePresentation(answer: Presentation): Presentation {
  if (answer?.outcome === 'current' || isEnd(answer)) return answer
  throw new TypeError('sessions.present() must return an outcome: current, reused or ended')
}

/** The answer of `rotate` about a presented generation, or `TypeError`. */
export function parseRotation(answer: Rotation, presented: number): Rotation {
  if (answer?.outcome === 'rotated' || answer?.outcome === 'replayed') {
    const { outcome, generation } = answer
    const isNext = generation === presented + 1 || (outcome === 'replayed' && generation === presented)
    if (isNext && Number.isSafeInteger(answer.expiresAt)) return answer
  } else if (isEnd(answer)) return answer
  throw new TypeError('sessions.rotate() must return an outcome: rotated, replayed, reused or ended')
}

/** Where a reused session was last used from. Anything else than a client is left out: the reuse must be reported. */
export function readReuseClient({ client }: Reuse): SessionClient | null {
  if (client === undefined || !isKnownOrNull(client?.ip) || !isKnownOrNull(client.userAgent)) return null
  return { ip: client.ip, userAgent: client.userAgent }
}

function isKnownOrNull(value: unknown): boolean {
  return value === null || typeof value === 'string'
}

function isEnd(answer: Presentation | Rotation): boolean {
  if (answer?.outcome === 'reused') return Number.isSafeInteger(answer.generation)
  return answer?.outcome === 'ended'
}
