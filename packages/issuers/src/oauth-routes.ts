export type { MountableRoutes } from 'tokenlib/kit'
export { clientCredentials, type ClientCredentialsOptions } from './oauth-routes/client-credentials.js'
export {
  createIntrospectionRoute,
  type IntrospectionOptions,
  type IntrospectionTokens,
} from './oauth-routes/introspection.js'
export { createMetadataRoutes, type MetadataOptions, type MetadataTokens } from './oauth-routes/metadata.js'
export type { ResourceMetadata, ServerMetadata } from './oauth-routes/metadata-members.js'
export type { OAuthErrorCode } from './oauth-routes/oauth-error.js'
export {
  createRevocationRoute,
  type RevocationRouteOptions,
  type RevocationRouteTokens,
} from './oauth-routes/revocation.js'
export type { TokenEndpointOptions } from './oauth-routes/token-endpoint.js'
