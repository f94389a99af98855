import { toRequestView } from '../request/request-source.js'
import type { Refresher } from '../sessions/refresh.js'
import { type Authenticator, authenticate, authenticateToken, createGuard } from './authenticate.js'
import type { TokenIssuer } from './issue.js'
import { reportRejection } from './report-rejection.js'

/** The manager's part in a refresh; the recipe comes with the store. */
export function createRefresher(authenticator: Authenticator, issuer: TokenIssuer): Refresher {
  const { settings } = authenticator
  // The rotation that follows checks the token's place in its session.
  const guard = createGuard({ type: 'refresh', present: false }, settings)
  return {
    identityClaim: settings.identityClaim,
    issuer,
    verify: (source) =>
      typeof source === 'string'
        ? authenticateToken(authenticator, source, guard.policy, null)
        : authenticate(authenticator, toRequestView(source), guard),
    reportRejection: (error, claims) => reportRejection(authenticator, error, claims),
  }
}
