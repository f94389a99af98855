/** What an event revokes: sessions and users, users only, or nothing. */
export type EventEffect = 'session' | 'user' | 'none'

/** The event of a logout token (OpenID Connect Back-Channel Logout 1.0 §2.4). */
export const BACKCHANNEL_LOGOUT = 'http://schemas.openid.net/event/backchannel-logout'

const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/'
const RISC = 'https://schemas.openid.net/secevent/risc/event-type/'

/** The events that revoke something unless the application says otherwise; all others revoke nothing. */
export const EVENT_EFFECTS: Readonly<Record<string, EventEffect>> = {
  [`${CAEP}session-revoked`]: 'session',
  [`${CAEP}credential-change`]: 'user',
  [`${RISC}account-disabled`]: 'user',
  [`${RISC}account-purged`]: 'user',
  [`${RISC}credential-compromise`]: 'user',
  [`${RISC}sessions-revoked`]: 'user',
}

/**
 * What one event revokes. A credential that is added does not make those in use less safe; a changed, revoked or deleted
 * one may have been stolen (CAEP 1.0 §3.3). A `change_type` that is missing or unknown counts as the latter.
 */
export function readEffect(
  type: string,
  details: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, EventEffect>>,
): EventEffect {
  if (Object.hasOwn(given, type)) return given[type] as EventEffect
  if (!Object.hasOwn(EVENT_EFFECTS, type)) return 'none'
  if (type === `${CAEP}credential-change` && details['change_type'] === 'create') return 'none'
  return EVENT_EFFECTS[type] as EventEffect
}
