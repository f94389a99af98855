export { type ConfiguredIssuer, type IssuerOptions, trustIssuer } from './trust-issuer.js'
export { trustLegacyIssuer } from './trust-legacy-issuer.js'
export type { LegacyIssuerOptions } from './legacy-options.js'
export type { ClaimMapping, IssuerProfile } from './profile.js'
export type {
  DiscoverySource,
  JwksUriSource,
  KeyAnswer,
  KeyFetch,
  KeyFunction,
  KeyRequest,
  KeySource,
  RemoteKeysOptions,
  StaticSource,
} from './keys/key-source.js'
export * from './providers.js'
export type {
  IntrospectionAuthentication,
  IntrospectionFetch,
  IntrospectionRequest,
} from './opaque-tokens/endpoint.js'
export { introspect, type IntrospectOptions } from './opaque-tokens/introspect.js'
export type { MountableRoutes } from 'tokenlib/kit'
export { clientCredentials, type ClientCredentialsOptions } from './oauth-routes/client-credentials.js'
export {
  createIntrospectionRoute,
  type IntrospectionOptions,
  type IntrospectionTokens,
} from './oauth-routes/introspection.js'
export { createMetadataRoutes, type MetadataOptions, type MetadataTokens } from './oauth-routes/metadata.js'
export type { ResourceMetadata, ServerMetadata } from './oauth-routes/metadata-members.js'
export type { OAuthErrorCode } from './oauth-error.js'
export {
  createRevocationRoute,
  type RevocationRouteOptions,
  type RevocationRouteTokens,
} from './oauth-routes/revocation.js'
export type { TokenEndpointOptions } from './oauth-routes/token-endpoint.js'
export {
  type BackChannelLogoutOptions,
  createBackChannelLogout,
} from './security-events/back-channel-logout.js'
export { createEventReceiver, type EventReceiverOptions } from './security-events/event-receiver.js'
export {
  createGlobalTokenRevocation,
  type GlobalTokenRevocationOptions,
} from './security-events/global-token-revocation.js'
export type { ReceiverOptions, SubjectOptions } from './security-events/receiver.js'
export type {
  EventEffect,
  ReceiverTokens,
  RevocationScope,
  SecurityEvent,
  UidFinder,
} from './security-events/revoke-subject.js'
export type {
  SubjectFinder,
  SubjectIdentifier,
  SubjectIssuers,
} from './security-events/subject-identifiers.js'
