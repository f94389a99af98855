import type { SessionClient } from '../events.js'
import { FOREVER } from './revocation.js'

/** Where the rotation of a session stands. */
export interface RotationPlace {
  /** The id of the refresh token that last advanced the session; `ROOT` until the first one has been used. */
  readonly current: string
  /** The id of the parent of `current`; `null` if it is not known. */
  readonly previous: string | null
  /** How often the session has advanced. */
  readonly generation: number
  /** When it advanced to `current`, by the store's clock; epoch milliseconds. */
  readonly movedAt: number
  /** When one of its refresh tokens was last used, to within a minute, by the store's clock; epoch milliseconds. */
  readonly lastUsedAt: number
}

/** The session state that a rotation depends on. */
export interface RotationState extends RotationPlace {
  /** Epoch milliseconds, or `FOREVER`. */
  readonly until: number
  readonly isRevoked: boolean
}

/** The claims of a refresh token that place it in its session. Its signature has been verified. */
export interface PresentedToken {
  readonly id: string
  /** The id of the token it was exchanged for; `ROOT` for the first token of a session. */
  readonly parent: string
  /** One more than its parent's; 1 for the first token of a session. */
  readonly generation: number
  /** When it was created, by the store's clock; epoch milliseconds. */
  readonly issuedAt: number
}

/** The time limits that apply to a presented refresh token. */
export interface RotationRules {
  /** How long a session waits for responses in flight before it advances, in milliseconds. */
  readonly graceMs: number
  /** A session that has not been used for longer than this has ended, in milliseconds; `FOREVER` for no limit. */
  readonly idleMs: number
}

/** The rules of a rotation, and the client to remember. */
export interface RotationOptions extends RotationRules, SessionClient {}

/** What a store must do with a presented token. */
export type RotationDecision =
  | {
      /**
       * `repeat`: the token is `current`, and gets another successor. `keep`: it is too young to advance the session, and
       * the client keeps it. `advance`: it becomes `current`, and gets its first successor.
       */
      readonly outcome: 'repeat' | 'keep' | 'advance'
      /** What to write; `null` for nothing. */
      readonly place: RotationPlace | null
    }
  /** `superseded`: a sibling or a successor of the token was used within the grace. `reuse`: the session must be revoked. */
  | { readonly outcome: 'superseded' | 'reuse' | 'end' }

/** A dead token was presented, and the session has been revoked. */
export interface Reuse {
  readonly outcome: 'reused'
  /** How often the session had advanced. */
  readonly generation: number
  /** The client that opened or last advanced the session; left out if the store does not report it. */
  readonly client?: SessionClient
}

/** The result of presenting a refresh token. */
export type Rotation =
  | {
      /** What `decideRotation` calls `repeat`, `keep` and `advance`. */
      readonly outcome: 'repeated' | 'kept' | 'advanced'
      /** The store's time at this step, which the token's successor is stamped with; epoch milliseconds. */
      readonly now: number
      /** When the session had last advanced before this step, by the store's clock; epoch milliseconds. */
      readonly movedAt: number
      /** Epoch milliseconds, or `FOREVER`. */
      readonly expiresAt: number
      /** The client that opened or last advanced the session before this step; left out if the store does not report it. */
      readonly client?: SessionClient
    }
  /** A sibling or a successor of the token was used within the grace: no new tokens, and nothing is revoked. */
  | { readonly outcome: 'superseded' }
  | Reuse
  /** The session is unknown, over, idle for too long, or revoked. */
  | { readonly outcome: 'ended' }

/** The result of presenting a refresh token without advancing its session. */
export type Presentation =
  /** A refresh with it would succeed. */
  { readonly outcome: 'current' } | Exclude<Rotation, { readonly outcome: 'repeated' | 'kept' | 'advanced' }>

/** The parent of the first refresh token of a session. */
export const ROOT = ''

// How old `lastUsedAt` may get before a use that does not advance the session is written, where nothing depends on it.
const COARSE_MS = 60_000

/**
 * The rule of rotation: a refresh token is used up when its successor is used. Stores that decide in JavaScript call
 * this; the others implement the same table.
 */
export function decideRotation(
  session: RotationState | null,
  token: PresentedToken,
  rules: RotationRules,
  now: number,
): RotationDecision {
  // An unknown session is over: a store that lost its data must not accept what it cannot check.
  if (session === null || session.isRevoked || now >= session.until) return { outcome: 'end' }
  // The row may be older than the token: not every use is written, and a store may lose a write.
  if (now - Math.max(session.lastUsedAt, token.issuedAt) > rules.idleMs) return { outcome: 'end' }
  // Absolute: a clock that was set back must not make the grace longer.
  const isWithinGrace = (moment: number): boolean => Math.abs(now - moment) < rules.graceMs
  // The token is signed, yet further ahead than the row allows: the store lost a write, and its parent was `current`.
  const isAhead = token.generation > session.generation + 1
  const place = isAhead ? { current: token.parent, previous: null, movedAt: 0 } : session

  // Siblings of a young token may still be in flight to the client. The first token of a session has none.
  const mayHaveSiblings = token.parent !== ROOT && isWithinGrace(token.issuedAt)
  if (token.parent === place.current && !mayHaveSiblings) {
    const { id, parent, generation } = token
    const moved = { current: id, previous: parent, generation, movedAt: now, lastUsedAt: now }
    return { outcome: 'advance', place: moved }
  }
  if (token.id === place.current || token.parent === place.current) {
    const outcome = token.id === place.current ? 'repeat' : 'keep'
    const { current, previous, movedAt } = place
    const generation = isAhead ? token.generation - 1 : session.generation
    const isNoted = !isAhead && now - session.lastUsedAt <= toCoarseMs(rules)
    return { outcome, place: isNoted ? null : { current, previous, generation, movedAt, lastUsedAt: now } }
  }
  const isOfPrevious = token.id === place.previous || token.parent === place.previous
  return { outcome: isOfPrevious && isWithinGrace(place.movedAt) ? 'superseded' : 'reuse' }
}

/**
 * How old `lastUsedAt` may get before a use that does not advance the session is written, in milliseconds. With an idle
 * limit, every use is.
 */
export function toCoarseMs({ idleMs }: RotationRules): number {
  return idleMs === FOREVER ? COARSE_MS : 0
}

/** The rotation place of a new session. */
export function toFirstPlace(startedAt: number): RotationPlace {
  return { current: ROOT, previous: null, generation: 0, movedAt: startedAt, lastUsedAt: startedAt }
}

/** A session as it was before a rotation. */
export interface RotatedSession extends SessionClient, Pick<RotationPlace, 'generation' | 'movedAt'> {
  /** Epoch milliseconds, or `FOREVER`. */
  readonly expiresAt: number
}

/** The result that a store returns once it has carried out a decision made at `now`; `session` is `null` if unknown. */
export function toRotation(
  { outcome }: RotationDecision,
  session: RotatedSession | null,
  now: number,
): Rotation {
  if (session === null || outcome === 'end') return { outcome: 'ended' }
  if (outcome === 'superseded') return { outcome }
  const { generation, movedAt, expiresAt, ip, userAgent } = session
  const client = { ip, userAgent }
  if (outcome === 'reuse') return { outcome: 'reused', generation, client }
  return { outcome: GRANTED[outcome], now, movedAt, expiresAt, client }
}

const GRANTED = { repeat: 'repeated', keep: 'kept', advance: 'advanced' } as const

/** Turns the result of a rotation into the result of `present`. */
export function toPresentation(rotation: Rotation): Presentation {
  return 'now' in rotation ? { outcome: 'current' } : rotation
}
