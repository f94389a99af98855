import { isThenable } from '../revocation/deadline.js'
import { assertAnswers, isRevokedBy, revocationKeys } from '../revocation/revocation-keys.js'
import { createRevoker } from '../revocation/revoker.js'
import type { LookupAnswer } from '../revocation/store.js'
import { createStoreGuard } from '../revocation/store-guard.js'
import { createSessions } from '../sessions/sessions.js'
import type { ConnectStore } from '../sessions/token-store.js'

/** The `connect` of every store: deadlines, revoking and sessions on top of what the store itself can do. */
export const connectStore: ConnectStore = (store, options) => {
  const guard = createStoreGuard(store, options)
  return {
    isRevoked({ payload, kids, start, lifetime }) {
      const keys = revocationKeys(payload, kids)
      const check = (answer: LookupAnswer): LookupAnswer => {
        assertAnswers(answer, keys)
        return answer
      }
      const answers = guard.call(
        'lookup',
        (target) => {
          const answer = target.lookup(keys)
          return isThenable(answer) ? Promise.resolve(answer).then(check) : check(answer)
        },
        lifetime,
      )
      return isThenable(answers)
        ? answers.then((later) => isRevokedBy(later, start))
        : isRevokedBy(answers, start)
    },
    revoker: createRevoker(guard, options),
    sessions: store.sessions === undefined ? null : createSessions(guard, options),
    ready: () => guard.ready(),
    expect: (lifetime) => guard.expect(lifetime),
  }
}
