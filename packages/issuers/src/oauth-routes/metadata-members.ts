import {
  flag,
  isEndpointUrl,
  isIdentifierUrl,
  type Kind,
  kindOf,
  listOf,
  type OptionKinds,
  required,
  text,
} from 'tokenlib/kit'

/** The metadata of an authorization server (RFC 8414 §2), except `issuer`. */
export interface ServerMetadata {
  /** Required by RFC 8414; `['none']` for a server without an authorization endpoint. */
  readonly response_types_supported: readonly string[]
  readonly authorization_endpoint?: string
  readonly token_endpoint?: string
  /** Default: the `jwks.json` of these routes, at the origin of the issuer and with its path. */
  readonly jwks_uri?: string
  readonly registration_endpoint?: string
  readonly introspection_endpoint?: string
  readonly revocation_endpoint?: string
  readonly device_authorization_endpoint?: string
  readonly pushed_authorization_request_endpoint?: string
  readonly service_documentation?: string
  readonly op_policy_uri?: string
  readonly op_tos_uri?: string
  readonly scopes_supported?: readonly string[]
  readonly response_modes_supported?: readonly string[]
  /** Clients take a missing list for `authorization_code` and `implicit`. */
  readonly grant_types_supported?: readonly string[]
  readonly token_endpoint_auth_methods_supported?: readonly string[]
  readonly token_endpoint_auth_signing_alg_values_supported?: readonly string[]
  readonly introspection_endpoint_auth_methods_supported?: readonly string[]
  readonly introspection_endpoint_auth_signing_alg_values_supported?: readonly string[]
  readonly revocation_endpoint_auth_methods_supported?: readonly string[]
  readonly revocation_endpoint_auth_signing_alg_values_supported?: readonly string[]
  readonly code_challenge_methods_supported?: readonly string[]
  /** Default: the algorithms of the manager, if it accepts DPoP. */
  readonly dpop_signing_alg_values_supported?: readonly string[]
  /** Default: `true` if the manager accepts tokens that are bound to a client certificate. */
  readonly tls_client_certificate_bound_access_tokens?: boolean
  readonly client_id_metadata_document_supported?: boolean
  readonly ui_locales_supported?: readonly string[]
  readonly authorization_response_iss_parameter_supported?: boolean
  readonly require_pushed_authorization_requests?: boolean
}

/** The metadata of a protected resource (RFC 9728 §2). */
export interface ResourceMetadata {
  /** The resource: an https URL without query and fragment. */
  readonly resource: string
  /** The issuers whose tokens it accepts. Default: the `issuer` of the options, if set. */
  readonly authorization_servers?: readonly string[]
  readonly jwks_uri?: string
  readonly scopes_supported?: readonly string[]
  /** Any of `header`, `body` and `query`. */
  readonly bearer_methods_supported?: readonly string[]
  readonly resource_signing_alg_values_supported?: readonly string[]
  readonly resource_name?: string
  readonly resource_documentation?: string
  readonly resource_policy_uri?: string
  readonly resource_tos_uri?: string
  readonly authorization_details_types_supported?: readonly string[]
  /** Default: the algorithms of the manager, if it accepts DPoP. */
  readonly dpop_signing_alg_values_supported?: readonly string[]
  /** Default: `true` if the manager has `dpop: { required: true }`. */
  readonly dpop_bound_access_tokens_required?: boolean
  /** Default: `true` if the manager accepts tokens that are bound to a client certificate. */
  readonly tls_client_certificate_bound_access_tokens?: boolean
}

const url: Kind<string> = kindOf('an https URL without a fragment', isEndpointUrl)
/** An identifier of RFC 8414 or RFC 9728. */
export const identifier: Kind<string> = kindOf('an https URL without query and fragment', isIdentifierUrl)
// RFC 8414 §3.2: a list without elements must be omitted.
const texts: Kind<readonly string[]> = listOf(text)

/** The members of `ServerMetadata`. */
export const SERVER_MEMBERS: OptionKinds<ServerMetadata> = {
  response_types_supported: required(texts),
  authorization_endpoint: url,
  token_endpoint: url,
  jwks_uri: url,
  registration_endpoint: url,
  introspection_endpoint: url,
  revocation_endpoint: url,
  device_authorization_endpoint: url,
  pushed_authorization_request_endpoint: url,
  service_documentation: url,
  op_policy_uri: url,
  op_tos_uri: url,
  scopes_supported: texts,
  response_modes_supported: texts,
  grant_types_supported: texts,
  token_endpoint_auth_methods_supported: texts,
  token_endpoint_auth_signing_alg_values_supported: texts,
  introspection_endpoint_auth_methods_supported: texts,
  introspection_endpoint_auth_signing_alg_values_supported: texts,
  revocation_endpoint_auth_methods_supported: texts,
  revocation_endpoint_auth_signing_alg_values_supported: texts,
  code_challenge_methods_supported: texts,
  dpop_signing_alg_values_supported: texts,
  tls_client_certificate_bound_access_tokens: flag,
  client_id_metadata_document_supported: flag,
  ui_locales_supported: texts,
  authorization_response_iss_parameter_supported: flag,
  require_pushed_authorization_requests: flag,
}

/** The members of `ResourceMetadata`. */
export const RESOURCE_MEMBERS: OptionKinds<ResourceMetadata> = {
  resource: required(identifier),
  authorization_servers: listOf(identifier),
  jwks_uri: url,
  scopes_supported: texts,
  bearer_methods_supported: texts,
  resource_signing_alg_values_supported: texts,
  resource_name: text,
  resource_documentation: url,
  resource_policy_uri: url,
  resource_tos_uri: url,
  authorization_details_types_supported: texts,
  dpop_signing_alg_values_supported: texts,
  dpop_bound_access_tokens_required: flag,
  tls_client_certificate_bound_access_tokens: flag,
}
