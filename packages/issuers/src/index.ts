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
export * from './security-events.js'
export * from './oauth-routes.js'
