import {
  decideRotation,
  type PresentedToken,
  type RotationDecision,
  type RotationPlace,
  type RotationState,
} from '../../../packages/tokenlib/src/revocation/rotation.js'
import type { Design } from './steps.js'
import type { Rule } from './world.js'

/** The rule and its surroundings as they are shipped. */
export const SHIPPED: Design = { rule: decideRotation, stampLags: [0], keepSends: 'nothing' }

/** Rules with one mistake each, by what they do. A store can be built with any of them. */
export const RULE_VARIANTS: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  [
    'moves on with a young token',
    correct(({ decision, token, now }) => (decision.outcome === 'keep' ? advance(token, now) : decision)),
  ],
  [
    'gives a young token a child',
    correct(({ decision }) =>
      decision.outcome === 'keep' ? { outcome: 'repeat', place: decision.place } : decision,
    ),
  ],
  [
    'never moves on',
    correct(({ decision }) =>
      decision.outcome === 'advance' ? { outcome: 'repeat', place: null } : decision,
    ),
  ],
  [
    'repeats within the grace only',
    correct(({ decision, session, grace, now }) =>
      decision.outcome === 'repeat' && now - session.movedAt >= grace ? { outcome: 'reuse' } : decision,
    ),
  ],
  [
    'gives tokens to the superseded',
    correct(({ decision }) =>
      decision.outcome === 'superseded' ? { outcome: 'repeat', place: null } : decision,
    ),
  ],
  [
    'switches to a sibling within the grace',
    correct(({ decision, session, token, now }) =>
      decision.outcome === 'superseded' && token.parent === session.previous ? advance(token, now) : decision,
    ),
  ],
  [
    'raises an alarm without a grace',
    correct(({ decision }) => (decision.outcome === 'superseded' ? { outcome: 'reuse' } : decision)),
  ],
  [
    'forgives siblings only',
    correct(({ decision, session, token }) =>
      decision.outcome === 'superseded' && token.id === session.previous ? { outcome: 'reuse' } : decision,
    ),
  ],
  [
    'forgives the token before only',
    correct(({ decision, session, token }) =>
      decision.outcome === 'superseded' && token.id !== session.previous ? { outcome: 'reuse' } : decision,
    ),
  ],
  [
    'forgives the token before for ever',
    correct(({ decision, session, token }) =>
      decision.outcome === 'reuse' && token.id === session.previous ? { outcome: 'superseded' } : decision,
    ),
  ],
  [
    'raises no alarm',
    correct(({ decision }) => (decision.outcome === 'reuse' ? { outcome: 'superseded' } : decision)),
  ],
  [
    'forgives again after every repeat',
    correct(({ decision, session, now }) =>
      decision.outcome === 'repeat'
        ? { outcome: 'repeat', place: { ...(decision.place ?? session), movedAt: now } }
        : decision,
    ),
  ],
  [
    'raises an alarm after a lost write',
    correct(({ decision, session, token }) => (isAhead(session, token) ? { outcome: 'reuse' } : decision)),
  ],
  [
    'moves on with any token after a lost write',
    correct(({ decision, session, token, now }) =>
      isAhead(session, token) ? advance(token, now) : decision,
    ),
  ],
  [
    'believes a stranger',
    (session, token, rules, now) => {
      const decision = decideRotation(session, token, rules, now)
      if (session === null || decision.outcome !== 'reuse') return decision
      // One generation less, and every child of another token is further ahead than the session can be.
      return decideRotation({ ...session, generation: session.generation - 1 }, token, rules, now)
    },
  ],
  [
    'counts generations',
    correct(({ decision, session, token, grace, now }) => {
      if (token.generation > session.generation) return advance(token, now)
      const isRecent = now - session.movedAt < grace
      if (token.generation === session.generation && isRecent) return { outcome: 'repeat', place: null }
      return decision.outcome === 'end' ? decision : { outcome: 'reuse' }
    }),
  ],
  [
    'takes a session for idle by its row',
    (session, token, rules, now) =>
      session !== null && now - session.lastUsedAt > rules.idleMs
        ? { outcome: 'end' }
        : decideRotation(session, token, rules, now),
  ],
  [
    'notes no use without moving on',
    correct(({ decision, session, token }) =>
      (decision.outcome === 'repeat' || decision.outcome === 'keep') && !isAhead(session, token)
        ? { outcome: decision.outcome, place: null }
        : decision,
    ),
  ],
  [
    'forgives as long as a clock lags',
    (session, token, rules, now) =>
      decideRotation(
        session && { ...session, movedAt: Math.min(session.movedAt, now) },
        { ...token, issuedAt: Math.min(token.issuedAt, now) },
        rules,
        now,
      ),
  ],
])

/** The rule as it is shipped, with one mistake in what is around it. */
export const SURROUNDINGS_VARIANTS: ReadonlyMap<string, Design> = new Map([
  ['stamps tokens by the clock of a process', { ...SHIPPED, stampLags: [0, 6] }],
  ['sends a sibling of a young token', { ...SHIPPED, keepSends: 'sibling' }],
  ['sends a young token again', { ...SHIPPED, keepSends: 'itself' }],
])

interface Case {
  /** What the rule decides. */
  readonly decision: RotationDecision
  readonly session: RotationState
  readonly token: PresentedToken
  readonly grace: number
  readonly now: number
}

// A rule that decides otherwise in some cases. A session that has ended stays that way.
function correct(decide: (situation: Case) => RotationDecision): Rule {
  return (session, token, rules, now) => {
    const decision = decideRotation(session, token, rules, now)
    if (session === null || decision.outcome === 'end') return decision
    return decide({ decision, session, token, grace: rules.graceMs, now })
  }
}

function advance({ id, parent, generation }: PresentedToken, now: number): RotationDecision {
  const place: RotationPlace = { current: id, previous: parent, generation, movedAt: now, lastUsedAt: now }
  return { outcome: 'advance', place }
}

function isAhead(session: RotationState, token: PresentedToken): boolean {
  return token.generation > session.generation + 1
}
