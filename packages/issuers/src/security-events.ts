export type { MountableRoutes } from 'tokenlib/kit'
export {
  type BackChannelLogoutOptions,
  createBackChannelLogout,
} from './security-events/back-channel-logout.js'
export { createEventReceiver, type EventReceiverOptions } from './security-events/event-receiver.js'
export type { EventEffect } from './security-events/event-types.js'
export {
  createGlobalTokenRevocation,
  type GlobalTokenRevocationOptions,
} from './security-events/global-token-revocation.js'
export type { ReceiverTokens } from './security-events/receiver.js'
export type { RevocationScope, SecurityEvent, UidFinder } from './security-events/revoke-subject.js'
export type { SubjectFinder, SubjectIdentifier } from './security-events/subject-identifiers.js'
export type { SubjectIssuers } from './security-events/subject-issuers.js'
