import type { PresentedToken } from '../../packages/tokenlib/src/revocation/rotation.js'
import { createRandom } from '../fuzz/random.js'
import { type Network, startBrowser } from './browser.js'
import { createDay } from './day.js'
import type { Answer, Rule } from './rules.js'
import { startThief, type ThiefKind } from './thief.js'
import { createTimeline } from './timeline.js'

/** How a server is set. */
export interface Setting {
  readonly graceMs: number
  /** How long an access token lives. */
  readonly accessMs: number
}

/** Where a session takes place. */
export interface World extends Network {
  readonly tabs: number
  /** Whether the user's machine sleeps in between. */
  readonly sleeps: boolean
}

/** Many tabs on a bad network. */
export const ROUGH: World = { tabs: 8, lostPercent: 3, doubledPercent: 2, maxDelayMs: 4000, sleeps: true }

/** One tab on a network that loses nothing, where no rule logs the user out by mistake. */
export const CALM: World = { tabs: 1, lostPercent: 0, doubledPercent: 0, maxDelayMs: 300, sleeps: false }

/** What became of a session without a thief. */
export interface HonestLife {
  readonly isLoggedOut: boolean
  /** How often the user's tabs were given tokens. */
  readonly refreshes: number
  /** How often they were told to try again. */
  readonly superseded: number
}

/** What became of a session whose refresh token was copied. */
export interface StolenLife {
  /** Whether an alarm ended the session. */
  readonly isCaught: boolean
  /** How often the victim had rotated since the theft when the thief was last given tokens. */
  readonly rotations: number
  /** From the thief's first token until he has no valid access token; milliseconds. */
  readonly accessMs: number
}

/** One session of an honest user. */
export function simulateHonest(rule: Rule, setting: Setting, world: World, seed: number): HonestLife {
  const session = openSession(rule, setting, world, seed)
  session.run()
  const { isEnded, refreshes, superseded } = session.victim
  return { isLoggedOut: isEnded, refreshes, superseded }
}

/** One session with a thief, or `null` if it was over before there was something to steal. */
export function simulateTheft(
  rule: Rule,
  setting: Setting,
  world: World,
  kind: ThiefKind,
  seed: number,
): StolenLife | null {
  const session = openSession(rule, setting, world, seed)
  const { timeline, victim, end } = session
  const random = createRandom(seed, 3)
  let [stolen, rotationsBefore, rotations] = [false, 0, 0]
  let [firstAt, lastAt] = [Infinity, -Infinity]

  // In the first half, so that there is time to notice.
  timeline.at(end / 10 + random.integer((end * 4) / 10), () => {
    const token = session.browser.readRefreshToken()
    if (token === null) return
    ;[stolen, rotationsBefore] = [true, victim.rotations]
    const present = (presented: PresentedToken): Answer | null => {
      const answer = session.present(presented)
      if (answer?.outcome === 'served') {
        firstAt = Math.min(firstAt, timeline.now())
        ;[lastAt, rotations] = [timeline.now(), victim.rotations - rotationsBefore]
      }
      return answer
    }
    const onVictimServed = (listener: () => void): void => void victim.listeners.push(listener)
    startThief(kind, { timeline, random, token, accessMs: setting.accessMs, end, present, onVictimServed })
  })
  session.run()
  if (!stolen) return null
  const over = Math.min(lastAt + setting.accessMs, session.readEndedAt() ?? end)
  return {
    isCaught: session.readEndedAt() !== null,
    rotations,
    accessMs: lastAt === -Infinity ? 0 : over - firstAt,
  }
}

function openSession(rule: Rule, { graceMs, accessMs }: Setting, world: World, seed: number) {
  const timeline = createTimeline()
  // Streams of their own: every rule meets the same user, the same network and the same thief.
  const day = createDay(createRandom(seed, 1), world)
  const session = rule.open(graceMs, 0)
  let endedAt: number | null = null
  const present = (token: PresentedToken): Answer | null => {
    if (endedAt !== null) return null
    const answer = session.present(token, timeline.now())
    if (answer.outcome === 'reuse') endedAt = timeline.now()
    return answer
  }
  const victim = {
    refreshes: 0,
    rotations: 0,
    superseded: 0,
    isEnded: false,
    listeners: [] as (() => void)[],
  }
  const browser = startBrowser({
    timeline,
    random: createRandom(seed, 2),
    day,
    network: world,
    accessMs,
    graceMs,
    firstToken: session.first,
    present(token) {
      const answer = present(token)
      if (answer === null || answer.outcome === 'reuse') victim.isEnded = true
      else if (answer.outcome === 'superseded') victim.superseded++
      else {
        victim.refreshes++
        if (answer.hasRotated) victim.rotations++
        for (const listener of victim.listeners) listener()
      }
      return answer
    },
  })
  return {
    timeline,
    browser,
    victim,
    end: day.end,
    present,
    readEndedAt: () => endedAt,
    run: () => timeline.runUntil(day.end),
  }
}
