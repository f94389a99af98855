export { toTimedId } from './claims/ids.js'
export { ConfigurationError } from './errors.js'
export type { SessionClient } from './events.js'
export {
  addDuration,
  FOREVER,
  isRevokedBy,
  isWatermark,
  type LookupAnswer,
  MAX_SESSION_LEAD_MS,
  MAX_WATERMARK_LEAD_MS,
  raiseWatermark,
  type Revocation,
  type RevocationKey,
  type RevocationKind,
} from './revocation/revocation.js'
export {
  defineStore,
  type FeedOptions,
  type FeedPage,
  type ListOptions,
  type LookupOptions,
  type LostData,
  type NewSession,
  type OpenedSession,
  type Position,
  type Presentation,
  type Replica,
  type ReplicaChange,
  type ReplicaState,
  type RevocationStore,
  type Revoked,
  type Rotation,
  type RotationOptions,
  type RotationRules,
  type SessionStore,
  type StoredSession,
  type StoreNeeds,
} from './revocation/store.js'
export {
  createLossReporter,
  decideRotation,
  type ListPage,
  type LossReporter,
  MAX_LIST_LIMIT,
  parseListOptions,
  pollFeed,
  type RotationDecision,
  type RotationState,
} from './revocation/store-rules.js'
export type { Clock } from './time.js'
