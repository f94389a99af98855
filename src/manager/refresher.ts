import { toRequestView } from '../request/request-source.js'
import type { Refresher } from '../sessions/refresh.js'
import { type Authenticator, authenticate, authenticateToken, createGuard } from './authenticate.js'
import type { TokenIssuer } from './issue.js'
import { reportRejection } from './report-rejection.js'

/** The manager's part in one refresh, whose outcome is `rotation`; the recipe comes with the store. */
export function createRefresher(
  authenticator: Authenticator,
  issuer: TokenIssuer,
  rotation: Promise<void>,
): Refresher {
  const { settings } = authenticator
  const guard = createGuard({ type: 'refresh', rotation }, settings)
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
