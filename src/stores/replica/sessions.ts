import type { SessionStore } from '../../revocation/session-store.js'

/** The sessions of a store; `onReuse` is called before one that ends by a reuse is answered. */
export function followSessions(
  sessions: SessionStore,
  onReuse: (sid: string) => Promise<void>,
): SessionStore {
  const follow = async <Answer extends { readonly outcome: string }>(
    sid: string,
    asked: Promise<Answer>,
  ): Promise<Answer> => {
    const answer = await asked
    if (answer.outcome === 'reused') await onReuse(sid)
    return answer
  }
  return {
    open: (session) => sessions.open(session),
    rotate: (sid, ...given) => follow(sid, sessions.rotate(sid, ...given)),
    present: (sid, ...given) => follow(sid, sessions.present(sid, ...given)),
    list: (user, options) => sessions.list(user, options),
    get: (sid, options) => sessions.get(sid, options),
  }
}
