import type { RotationOptions } from './session-store.js'

/** What a rotation is judged by. */
export interface RotationState {
  /** The generation of the newest refresh token. */
  readonly generation: number
  /** When the session was opened or last rotated; epoch milliseconds. */
  readonly lastUsedAt: number
  /** Epoch milliseconds, or `FOREVER`. */
  readonly until: number
  readonly isRevoked: boolean
}

/** What a store does about a presented generation. */
export type RotationVerdict = 'rotate' | 'replay' | 'reuse' | 'end'

/** The rules of rotation, for stores that decide in JavaScript; those that decide elsewhere follow the same table. */
export function judgeRotation(
  session: RotationState | null,
  presented: number,
  { graceMs, idleMs }: Pick<RotationOptions, 'graceMs' | 'idleMs'>,
  now: number,
): RotationVerdict {
  // A session that is not known is over: a store that lost its memory must not accept what it cannot judge.
  if (session === null || session.isRevoked || now >= session.until) return 'end'
  const unusedFor = now - session.lastUsedAt
  if (unusedFor > idleMs) return 'end'
  // A generation ahead of ours is signed all the same: the store lost a rotation, and catches up.
  if (presented >= session.generation) return 'rotate'
  // A clock that was set back must not forgive for as long as it lags.
  const isSoon = Math.abs(unusedFor) < graceMs
  return presented === session.generation - 1 && isSoon ? 'replay' : 'reuse'
}
