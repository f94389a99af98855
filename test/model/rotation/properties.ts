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
  /** Whether a thief tries tokens that cannot yield anything any more. */
  readonly needsDeadTokens: boolean
  /** The number that the property is stated with, if it has one. */
  readonly bound?: number
  /** What is wrong about a step; `null` for nothing. */
  readonly findViolation: (observation: Observation) => string | null
}

/**
 * No honest browser ends its own session, is left with a dead token, or is taken for idle too early. `slack` is how much
 * earlier than its limit an idle session may end, in ticks.
 */
export function noFalseLogout({ slack }: { readonly slack?: number } = {}): Property {
  return {
    name: 'NO_FALSE_LOGOUT',
    ...(slack !== undefined && { bound: slack }),
    needsDeadTokens: false,
    findViolation({ before, step, bounds, rule }) {
      const { by, outcome } = step.refresh ?? {}
      if (by === 'browser' && outcome === 'reuse') return 'An honest browser ended its own session.'
      if (by === 'browser' && outcome === 'end') {
        const { answeredAgo } = before
        // The server's time of an answer is as much earlier as the answer was under way.
        const isEarly = answeredAgo <= (bounds.idle ?? Infinity) - bounds.answerDelay - (slack ?? 0)
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

/** A request that took less than the grace does not end the session, if its token was alive when it was sent. */
export const NO_HASTY_ALARM: Property = {
  name: 'NO_HASTY_ALARM',
  needsDeadTokens: false,
  findViolation({ step: { refresh }, bounds }) {
    if (!refresh?.request || refresh.outcome !== 'reuse') return null
    const { age, isDead } = refresh.request
    return age < bounds.grace && !isDead ? 'A request that was only slow ended the session.' : null
  },
}

/** Once the victim has moved the session on with a token that was not stolen, the thief gets nothing. */
export const NO_RIDING_ALONG: Property = {
  name: 'NO_RIDING_ALONG',
  needsDeadTokens: false,
  findViolation: ({ before, step: { refresh } }) =>
    refresh?.by === 'thief' && isServed(refresh.outcome) && before.movedBy === 'browser'
      ? 'The thief gets tokens, although the victim moved the session on without him.'
      : null,
}

/** The thief gets nothing after so many answers to the victim since the theft. */
export function fewAnswers(most: number): Property {
  return {
    name: 'FEW_ANSWERS',
    needsDeadTokens: false,
    bound: most,
    findViolation: ({ before, step: { refresh } }) =>
      refresh?.by === 'thief' && isServed(refresh.outcome) && before.arrivals >= most
        ? `The thief gets tokens after ${before.arrivals} answers to the victim.`
        : null,
  }
}

/** A token that was dead once never yields tokens again. */
export const NO_REVIVAL: Property = {
  name: 'NO_REVIVAL',
  needsDeadTokens: true,
  findViolation: ({ step: { refresh } }) =>
    refresh?.by === 'thief' && isServed(refresh.outcome) ? 'An old token yields tokens.' : null,
}

/**
 * Once one side has moved the session on without the other, the other side gets nothing, and ends the session if it comes
 * after the grace.
 */
export const ALARM: Property = {
  name: 'ALARM',
  needsDeadTokens: true,
  findViolation({ before, step: { refresh }, bounds }) {
    if (refresh === null || before.movedBy === null || refresh.by === before.movedBy) return null
    if (isServed(refresh.outcome)) return 'Both sides get tokens.'
    const isLate = before.advancedAgo >= bounds.grace
    return isLate && refresh.outcome !== 'reuse' ? 'A dead token raises no alarm.' : null
  },
}
