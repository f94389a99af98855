import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import { type PresentedToken, ROOT, type Rotation } from '../../packages/tokenlib/src/revocation/rotation.js'
import type { SessionStore } from '../../packages/tokenlib/src/revocation/session-store.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { findRule, type RuleSession } from '../rotation-compared/rules.js'

/** The rule of our stores, which need no wrapper. */
export const OUR_RULE = 'successorUsed'

interface RuledSession {
  readonly rule: RuleSession
  /** The tokens of the rule, by what the manager writes into the token that it makes for each. */
  readonly tokens: Map<string, PresentedToken>
}

/** A store in this process whose sessions rotate by a rule of the simulation. */
export function withRule(store: RevocationStore, name: string): RevocationStore {
  const { sessions } = store
  if (name === OUR_RULE || sessions === undefined) return store
  const ruled = new Map<string, RuledSession>()
  let lastStep = 0

  const rotate: SessionStore['rotate'] = async (sid, token, { graceMs, idleMs }): Promise<Rotation> => {
    const found = await sessions.get(sid, { idleMs })
    if (found === null) return { outcome: 'ended' }
    const { expiresAt, movedAt, ip, userAgent } = found
    const client = { ip, userAgent }
    const session = ruled.get(sid) ?? {
      rule: findRule(name).open(graceMs, found.startedAt),
      tokens: new Map<string, PresentedToken>(),
    }
    ruled.set(sid, session)

    // Two steps never have the same time: it says which answer a token came with.
    const now = (lastStep = Math.max(Date.now(), lastStep + 1))
    const presented = token.parent === ROOT ? session.rule.first : session.tokens.get(toKey(token))
    if (presented === undefined) throw new Error('Every token has an answer that it came with')
    const answer = session.rule.present(presented, now)
    if (answer.outcome === 'superseded') return answer
    if (answer.outcome === 'reuse') {
      await store.revoke([{ kind: 'session', id: sid, notBefore: FOREVER, until: expiresAt }])
      return { outcome: 'reused', generation: presented.generation, client }
    }
    const { refreshToken, hasRotated } = answer
    if (refreshToken === null) return { outcome: 'kept', now, movedAt, expiresAt, client }
    session.tokens.set(toKey({ parent: token.id, issuedAt: now }), refreshToken)
    return { outcome: hasRotated ? 'advanced' : 'repeated', now, movedAt, expiresAt, client }
  }
  return { ...store, sessions: { ...sessions, rotate } }
}

function toKey({ parent, issuedAt }: Pick<PresentedToken, 'parent' | 'issuedAt'>): string {
  return `${parent} ${issuedAt}`
}
