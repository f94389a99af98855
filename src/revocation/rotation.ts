import type { SessionClient } from '../events.js'

/** The refresh token that a session moved on to last. */
export interface RotationPlace {
  /** Its id; `ROOT` until the token of the log-in has been used. */
  readonly current: string
  /** The id of the token it was exchanged for; `null` where that is not known. */
  readonly previous: string | null
  /** How often the session has moved on. */
  readonly generation: number
  /** When it moved on to `current`, by the store's clock; epoch milliseconds. */
  readonly movedAt: number
  /** When one of its tokens was last used, to within a minute; epoch milliseconds by the store's clock. */
  readonly lastUsedAt: number
}

/** What a rotation is decided by. */
export interface RotationState extends RotationPlace {
  /** Epoch milliseconds, or `FOREVER`. */
  readonly until: number
  readonly isRevoked: boolean
}

/** What a refresh token says of itself, vouched for by its signature. */
export interface PresentedToken {
  readonly id: string
  /** The id of the token it was exchanged for; `ROOT` for the one of the log-in. */
  readonly parent: string
  /** That of its parent, and one more. */
  readonly generation: number
  /** When it was made, by the store's clock; epoch milliseconds. */
  readonly issuedAt: number
}

/** The rules for a refresh token that is presented. */
export interface RotationRules {
  /** How long a session waits for answers that are under way before it moves on, in milliseconds. */
  readonly graceMs: number
  /** A session that was not used for longer than this has ended, in milliseconds; `FOREVER` for no limit. */
  readonly idleMs: number
}

/** The rules of a rotation, and what to remember of the request. */
export interface RotationOptions extends RotationRules, SessionClient {}

/** What a store does about a presented token. */
export type RotationDecision =
  | {
      /**
       * `repeat`: the token is `current`, and gets another child. `keep`: it is too young to move the session on, and stays
       * as it is. `advance`: it becomes `current`, and gets its first child.
       */
      readonly outcome: 'repeat' | 'keep' | 'advance'
      /** What is written; `null` for nothing. */
      readonly place: RotationPlace | null
    }
  /** `superseded`: one of its siblings was used just now. `reuse`: the session is to be revoked. */
  | { readonly outcome: 'superseded' | 'reuse' | 'end' }

/** An old token was presented: the session is revoked now. */
export interface Reuse {
  readonly outcome: 'reused'
  /** How often the session had moved on. */
  readonly generation: number
  /** Where the session was opened or last moved on from; left out by a store that does not tell. */
  readonly client?: SessionClient
}

/** What became of a refresh token that was presented. */
export type Rotation =
  | {
      /** What `decideRotation` calls `repeat`, `keep` and `advance`. */
      readonly outcome: 'repeated' | 'kept' | 'advanced'
      /** The store's time of this step, which the token's child is stamped with; epoch milliseconds. */
      readonly now: number
      /** When the session had moved on last before this step; epoch milliseconds by the store's clock. */
      readonly movedAt: number
      /** Epoch milliseconds, or `FOREVER`. */
      readonly expiresAt: number
      /** Where the session was opened or had last moved on from before this step; left out by a store that does not tell. */
      readonly client?: SessionClient
    }
  /** A sibling or the child of the token was used within the grace: no new tokens, and nothing is revoked. */
  | { readonly outcome: 'superseded' }
  | Reuse
  /** The session is not known, over, unused for too long, or revoked. */
  | { readonly outcome: 'ended' }

/** Where a presented refresh token stands, when its session does not move on. */
export type Presentation =
  /** A refresh with it would succeed. */
  { readonly outcome: 'current' } | Exclude<Rotation, { readonly outcome: 'repeated' | 'kept' | 'advanced' }>

/** The parent of the first refresh token of a session. */
export const ROOT = ''

// How old `lastUsedAt` may be before a use that does not move the session on is written down.
const COARSE_MS = 60_000

/**
 * A refresh token is used up when its successor is used. Stores that decide in JavaScript call this; those that decide
 * elsewhere follow the same table.
 */
export function decideRotation(
  session: RotationState | null,
  token: PresentedToken,
  rules: RotationRules,
  now: number,
): RotationDecision {
  // A session that is not known is over: a store that lost its memory must not accept what it cannot check.
  if (session === null || session.isRevoked || now >= session.until) return { outcome: 'end' }
  // The row may be older than the token: not every use is written down, and a store may lose a write.
  if (now - Math.max(session.lastUsedAt, token.issuedAt) > rules.idleMs) return { outcome: 'end' }
  // A clock that was set back must not forgive for as long as it lags.
  const isWithinGrace = (moment: number): boolean => Math.abs(now - moment) < rules.graceMs
  // Signed, and further ahead than the session can be: the store lost a write, and the token's parent was `current`.
  const isAhead = token.generation > session.generation + 1
  const place = isAhead ? { current: token.parent, previous: null, movedAt: 0 } : session

  // Siblings of a young token may be under way to the client; that of the log-in has none.
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

/** How old a session's `lastUsedAt` may get before a use is written down that does not move the session on; milliseconds. */
export function toCoarseMs({ idleMs }: RotationRules): number {
  return Math.min(COARSE_MS, idleMs / 4)
}

/** Where the rotation of a new session stands. */
export function toFirstPlace(startedAt: number): RotationPlace {
  return { current: ROOT, previous: null, generation: 0, movedAt: startedAt, lastUsedAt: startedAt }
}

/** The session that a rotation was decided for, as it was before. */
export interface RotatedSession extends SessionClient, Pick<RotationPlace, 'generation' | 'movedAt'> {
  /** Epoch milliseconds, or `FOREVER`. */
  readonly expiresAt: number
}

/** What a store answers once it has done what was decided at `now`; `null` for a session that is not known. */
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

/** The answer to a token that was only presented. */
export function toPresentation(rotation: Rotation): Presentation {
  return 'now' in rotation ? { outcome: 'current' } : rotation
}
