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
  type LookupOptions,
  type LostData,
  type Position,
  type Replica,
  type ReplicaChange,
  type ReplicaState,
  type RevocationStore,
  type Revoked,
  type StoreNeeds,
} from './revocation/store.js'
export type {
  LimitedOpening,
  ListOptions,
  NewSession,
  OpenedSession,
  Presentation,
  Reuse,
  Rotation,
  RotationOptions,
  RotationRules,
  OpeningOptions,
  SessionLimit,
  SessionStore,
  StoredSession,
  WhenFull,
} from './revocation/session-store.js'
export {
  assertSessionLimit,
  createLossReporter,
  decideOpening,
  decideRotation,
  type ListPage,
  type LossReporter,
  MAX_ENDED_AT_ONCE,
  MAX_LIST_LIMIT,
  MAX_SESSION_LIMIT,
  type OpeningDecision,
  parseListOptions,
  pollFeed,
  type RotationDecision,
  type RotationState,
  toPauseMs,
} from './revocation/store-rules.js'
export type { Clock } from './time.js'
