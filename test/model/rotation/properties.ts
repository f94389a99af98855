import { type Bounds, decide, isServed, type Rule, type World } from './world.js'
import type { Step } from './steps.js'

/** What a property looks at: a step, and the world before it. */
export interface Observation {
  readonly before: World
  readonly step: Step
  readonly bounds: Bounds
  readonly rule: Rule
}

/** Something that must hold in every history. */
export interface Property {
  readonly name: string
  readonly promise: string
  /** Whether a thief tries tokens that cannot yield anything any more. */
  readonly needsDeadTokens: boolean
  /** After how many answers to the victim a thief must not be served, where that is what is promised. */
  readonly maxAnswers?: number
  /** What is wrong about a step; `null` for nothing. */
  readonly findViolation: (observation: Observation) => string | null
}

/** `slack` is how much earlier than its limit an idle session may end, in ticks. */
export function noFalseLogout({ slack = 0 } = {}): Property {
  return {
    name: 'NO_FALSE_LOGOUT',
    promise: 'No honest browser ends its session, is left with a dead token, or is taken for idle too early',
    needsDeadTokens: false,
    findViolation({ before, step, bounds, rule }) {
      const { by, outcome } = step.refresh ?? {}
      if (by === 'browser' && outcome === 'reuse') return 'An honest browser ended its own session.'
      if (by === 'browser' && outcome === 'end') {
        const { answeredAgo } = before
        // The server's time of an answer is as much earlier as the answer was under way.
        const isEarly = answeredAgo <= (bounds.idle ?? Infinity) - bounds.answerDelay - slack
        return isEarly ? `The session ended as idle, although an answer arrived ${answeredAgo} ago.` : null
      }
      const { world } = step
      if (world.messages.length > 0) return null
      const next = decide(rule, bounds, world.row, world.jar).outcome
      const isDead = next === 'superseded' || next === 'reuse'
      return isDead ? 'Nothing is under way, and the jar has a dead token.' : null
    },
  }
}

/** What is left of it when messages are slower than promised. */
export const NO_HASTY_ALARM: Property = {
  name: 'NO_HASTY_ALARM',
  promise:
    'A request that took less than the grace does not end the session, if its token was alive when it was sent',
  needsDeadTokens: false,
  findViolation({ step: { refresh }, bounds }) {
    if (!refresh?.request || refresh.outcome !== 'reuse') return null
    const { age, isDead } = refresh.request
    return age < bounds.grace && !isDead ? 'A request that was only slow ended the session.' : null
  },
}

/** Promise 2 of the documentation, in its own words. */
export const NO_RIDING_ALONG: Property = {
  name: 'NO_RIDING_ALONG',
  promise:
    'Once the victim has advanced the session with a token that was not stolen, the thief gets nothing',
  needsDeadTokens: false,
  findViolation: ({ before, step: { refresh } }) =>
    refresh?.by === 'thief' && isServed(refresh.outcome) && before.movedBy === 'browser'
      ? 'The thief gets tokens, although the victim has advanced the session.'
      : null,
}

/** The same by a count that a victim can see. */
export function fewAnswers(most: number): Property {
  return {
    name: 'FEW_ANSWERS',
    promise: `The thief gets nothing after ${most} answers to the victim since the theft`,
    needsDeadTokens: false,
    maxAnswers: most,
    findViolation: ({ before, step: { refresh } }) =>
      refresh?.by === 'thief' && isServed(refresh.outcome) && before.arrivals >= most
        ? `The thief gets tokens after ${before.arrivals} answers to the victim.`
        : null,
  }
}

export const NO_REVIVAL: Property = {
  name: 'NO_REVIVAL',
  promise: 'A token that was dead once never yields tokens again',
  needsDeadTokens: true,
  findViolation: ({ step: { refresh } }) =>
    refresh?.by === 'thief' && isServed(refresh.outcome) ? 'An old token yields tokens.' : null,
}

export const ALARM: Property = {
  name: 'ALARM',
  promise:
    'Once one side has advanced the session without the other, the other side gets nothing, and ends the session if it comes after the grace',
  needsDeadTokens: true,
  findViolation({ before, step: { refresh }, bounds }) {
    if (refresh === null || before.movedBy === null || refresh.by === before.movedBy) return null
    if (isServed(refresh.outcome)) return 'Both sides get tokens.'
    const isLate = before.advancedAgo >= bounds.grace
    return isLate && refresh.outcome !== 'reuse' ? 'A dead token raises no alarm.' : null
  },
}
