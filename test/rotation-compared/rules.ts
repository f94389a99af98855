import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import {
  decideRotation,
  type PresentedToken,
  ROOT,
  type RotationState,
} from '../../packages/tokenlib/src/revocation/rotation.js'

/** What a server does with a refresh token. */
export type Answer =
  | {
      readonly outcome: 'served'
      /** `null` if the client keeps the one that it has. */
      readonly refreshToken: PresentedToken | null
      /** When the access token was made; epoch milliseconds. */
      readonly accessIssuedAt: number
      /** Whether the presented token was replaced by this. */
      readonly hasRotated: boolean
    }
  /** No tokens, and no alarm. */
  | { readonly outcome: 'superseded' }
  /** An alarm: the session ends. */
  | { readonly outcome: 'reuse' }

/** One session on a server that follows a rule. */
export interface RuleSession {
  /** The refresh token of the login. */
  readonly first: PresentedToken
  present(token: PresentedToken, now: number): Answer
}

/** A way to rotate refresh tokens. */
export interface Rule {
  readonly name: string
  readonly title: string
  /** What the server keeps for each session, in the words of the documentation. */
  readonly stores: string
  open(graceMs: number, now: number): RuleSession
}

const REUSE: Answer = { outcome: 'reuse' }

/** The rules that are compared; the last one is ours. */
export const RULES: readonly Rule[] = [
  {
    name: 'none',
    title: 'No rotation',
    stores: 'nothing',
    open(_, opened) {
      return {
        first: createFirst(opened),
        present: (_token, now) => ({
          outcome: 'served',
          refreshToken: null,
          accessIssuedAt: now,
          hasRotated: false,
        }),
      }
    },
  },
  {
    name: 'noGrace',
    title: 'No grace',
    stores: 'a counter',
    open(_, opened) {
      let newest = createFirst(opened)
      return {
        first: newest,
        present(token, now) {
          if (token.generation < newest.generation) return REUSE
          newest = createChild(token, now)
          return serve(newest, now, true)
        },
      }
    },
  },
  {
    name: 'sameGeneration',
    title: 'Same generation',
    stores: 'a counter and a time',
    open(graceMs, opened) {
      const first = createFirst(opened)
      let [generation, rotatedAt] = [first.generation, -Infinity]
      return {
        first,
        present(token, now) {
          const isWithinGrace = now - rotatedAt < graceMs
          const isNewest = token.generation === generation
          if (isWithinGrace && (isNewest || token.generation === generation - 1)) {
            return serve({ ...createChild(token, now), generation }, now, false)
          }
          if (!isNewest) return REUSE
          const child = createChild(token, now)
          ;[generation, rotatedAt] = [child.generation, now]
          return serve(child, now, true)
        },
      }
    },
  },
  {
    name: 'storedAnswer',
    title: 'Stored answer',
    stores: 'all answers within the grace, with their tokens',
    open(graceMs, opened) {
      const first = createFirst(opened)
      let newest = first
      // By the token that was exchanged: the most forgiving form, which also knows what came before the last answer.
      const answers = new Map<string, PresentedToken>()
      return {
        first,
        present(token, now) {
          if (token.id === newest.id) {
            newest = createChild(token, now)
            answers.set(token.id, newest)
            return serve(newest, now, true)
          }
          const stored = answers.get(token.id)
          if (stored === undefined || now - stored.issuedAt >= graceMs) return REUSE
          return serve(stored, stored.issuedAt, false)
        },
      }
    },
  },
  {
    name: 'newestForPrevious',
    title: 'Newest token',
    stores: 'the newest token, its parent, and those used within the grace',
    open(graceMs, opened) {
      const first = createFirst(opened)
      let newest = first
      const usedAt = new Map<string, number>()
      return {
        first,
        present(token, now) {
          if (token.id === newest.id) {
            newest = createChild(token, now)
            usedAt.set(token.id, now)
            return serve(newest, now, true)
          }
          const isForgiven = token.id === newest.parent || now - (usedAt.get(token.id) ?? -Infinity) < graceMs
          return isForgiven ? serve(newest, now, false) : REUSE
        },
      }
    },
  },
  {
    name: 'successorUsed',
    title: 'Successor used',
    stores: 'two ids, a counter and two times',
    open(graceMs, opened) {
      let session: RotationState = {
        current: ROOT,
        previous: null,
        generation: 0,
        movedAt: opened,
        lastUsedAt: opened,
        until: FOREVER,
        isRevoked: false,
      }
      return {
        first: createFirst(opened),
        present(token, now) {
          const decision = decideRotation(session, token, { graceMs, idleMs: FOREVER }, now)
          if (decision.outcome === 'superseded') return { outcome: 'superseded' }
          if (!('place' in decision)) return REUSE
          session = { ...session, ...decision.place }
          const child = decision.outcome === 'keep' ? null : createChild(token, now)
          return serve(child, now, decision.outcome === 'advance')
        },
      }
    },
  },
]

/** One of the rules, by its name. */
export function findRule(name: string): Rule {
  const rule = RULES.find((rule) => rule.name === name)
  if (rule === undefined) throw new RangeError(`There is no rule ${name}`)
  return rule
}

// Ids only have to differ: all of them are made by this process.
let made = 0

function createFirst(issuedAt: number): PresentedToken {
  return { id: `t${made++}`, parent: ROOT, generation: 1, issuedAt }
}

function createChild(token: PresentedToken, issuedAt: number): PresentedToken {
  return { id: `t${made++}`, parent: token.id, generation: token.generation + 1, issuedAt }
}

function serve(refreshToken: PresentedToken | null, accessIssuedAt: number, hasRotated: boolean): Answer {
  return { outcome: 'served', refreshToken, accessIssuedAt, hasRotated }
}
