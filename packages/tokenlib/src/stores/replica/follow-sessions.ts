import type { SessionStore } from '../../revocation/session-store.js'

/** The sessions of a store; `onEnded` is called before a call is answered that has revoked sessions. */
export function followSessions(
  sessions: SessionStore,
  onEnded: (sids: readonly string[]) => Promise<void>,
): SessionStore {
  const follow = async <Answer extends { readonly outcome: string }>(
    sid: string,
    asked: Promise<Answer>,
  ): Promise<Answer> => {
    const answer = await asked
    if (answer.outcome === 'reused') await onEnded([sid])
    return answer
  }
  return {
    open: (session) => sessions.open(session),
    ...(sessions.openLimited !== undefined && {
      async openLimited(...given: Parameters<Required<SessionStore>['openLimited']>) {
        const answer = await (sessions as Required<SessionStore>).openLimited(...given)
        if (answer.outcome !== 'full' && answer.ended.length > 0) await onEnded(answer.ended)
        return answer
      },
    }),
    rotate: (sid, ...given) => follow(sid, sessions.rotate(sid, ...given)),
    present: (sid, ...given) => follow(sid, sessions.present(sid, ...given)),
    list: (user, options) => sessions.list(user, options),
    get: (sid, options) => sessions.get(sid, options),
    ...(sessions.writeData !== undefined && {
      writeData: (...given: Parameters<Required<SessionStore>['writeData']>) =>
        (sessions as Required<SessionStore>).writeData(...given),
    }),
  }
}
