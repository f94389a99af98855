import type { SessionStore } from '../../revocation/session-store.js'

/** The sessions of a store; one that ends by a reuse is refused by this process before it answers. */
export function followSessions(sessions: SessionStore, catchUp: () => Promise<void>): SessionStore {
  const catchUpAfterReuse = async <Answer extends { readonly outcome: string }>(
    answer: Answer,
  ): Promise<Answer> => {
    if (answer.outcome === 'reused') await catchUp()
    return answer
  }
  return {
    open: (session) => sessions.open(session),
    rotate: async (...given) => catchUpAfterReuse(await sessions.rotate(...given)),
    present: async (...given) => catchUpAfterReuse(await sessions.present(...given)),
    list: (user, options) => sessions.list(user, options),
    get: (sid, options) => sessions.get(sid, options),
  }
}
