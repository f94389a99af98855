import type { PresentedToken } from '../../packages/tokenlib/src/revocation/rotation.js'
import type { Random } from '../fuzz/random.js'
import type { Answer } from './rules.js'
import type { Timeline } from './timeline.js'

/** When a thief presents what he has. */
export const THIEVES = {
  patient: 'now and then, on average once in one and a half access lifetimes',
  eager: 'every 5 to 25 seconds',
  follower: 'half a second after every refresh of the victim, which he can see',
} as const

/** A kind of thief. */
export type ThiefKind = keyof typeof THIEVES

/** What a thief has. His network is perfect. */
export interface ThiefOptions {
  readonly timeline: Timeline
  readonly random: Random
  /** The refresh token that he has copied. */
  readonly token: PresentedToken
  readonly accessMs: number
  readonly end: number
  readonly present: (token: PresentedToken) => Answer | null
  readonly onVictimServed: (listener: () => void) => void
}

/** Sets a thief to work: he always presents the newest token that he was given. */
export function startThief(kind: ThiefKind, options: ThiefOptions): void {
  const { timeline, random, accessMs, end, present, onVictimServed } = options
  let newest = options.token
  const attempt = (): void => {
    const answer = present(newest)
    if (answer?.outcome === 'served' && answer.refreshToken !== null) newest = answer.refreshToken
  }

  if (kind === 'follower') {
    onVictimServed(() => timeline.at(timeline.now() + 50 + random.integer(450), attempt))
    return
  }
  const toPause = (): number =>
    kind === 'eager' ? 5000 + random.integer(20_000) : random.integer(3 * accessMs)
  for (let at = timeline.now() + toPause(); at < end; at += toPause()) timeline.at(at, attempt)
}
