import { ConfigurationError, type Duration, type TokenConfig } from 'tokenlib'
import { isConfigurationError } from 'tokenlib/errors'
import {
  createRoute,
  createRouter,
  duration,
  flag,
  type MountableRoutes,
  type OptionKinds,
  parseDuration,
  parseOptions,
  readInternals,
  toErrorAnswer,
  unchecked,
} from 'tokenlib/kit'
import { toOAuthBody } from '../oauth-error.js'
import {
  identifier,
  RESOURCE_MEMBERS,
  type ResourceMetadata,
  SERVER_MEMBERS,
  type ServerMetadata,
} from './metadata-members.js'

/** What is published below `/.well-known`. */
export interface MetadataOptions {
  /** The issuer of the tokens: an https URL without query and fragment. Needed for `server`. */
  readonly issuer?: string
  /** Metadata of an authorization server (RFC 8414). */
  readonly server?: ServerMetadata
  /** Metadata of a protected resource (RFC 9728). */
  readonly resource?: ResourceMetadata
  /** Whether the public keys are published. Default: if none of the manager's keys is a secret. */
  readonly jwks?: boolean
  /** How long others may keep a response. Default 5 minutes. */
  readonly maxAge?: Duration
}

const OPTIONS: OptionKinds<MetadataOptions> = {
  issuer: identifier,
  server: unchecked(),
  resource: unchecked(),
  jwks: flag,
  maxAge: duration('a duration of whole seconds', Number.isSafeInteger),
}

/** What the routes of metadata use of a manager. */
export interface MetadataTokens {
  readonly config: TokenConfig
  readonly keys: {
    /** The public keys; `ConfigurationError` for a manager whose keys are secrets. */
    jwks(): { readonly keys: readonly object[] }
  }
}

const PATH = '/.well-known'

/**
 * Routes for the public keys and for metadata: `jwks.json`, `oauth-authorization-server` and `oauth-protected-resource`
 * below `/.well-known`, followed by the path of the issuer or the resource. Mount them with the `mount` of an adapter.
 *
 * @example
 * const metadata = createMetadataRoutes(tokens, { issuer: 'https://id.example' })
 */
export function createMetadataRoutes(tokens: MetadataTokens, options: MetadataOptions): MountableRoutes {
  const {
    issuer,
    server,
    resource,
    jwks,
    maxAge = '5m',
  } = parseOptions('createMetadataRoutes()', options, OPTIONS)
  if (server !== undefined && issuer === undefined) throw new TypeError('server needs issuer')
  if (issuer !== undefined) assertIssuer(issuer, tokens.config)
  const hasKeys = publishesKeys(tokens, jwks)
  const documents = new Map<string, () => object>()
  // With the path of the issuer: several issuers on one host have different keys.
  const keysPath = issuer === undefined ? `${PATH}/jwks.json` : toIssuerPath('jwks.json', issuer)
  if (hasKeys) documents.set(keysPath, () => tokens.keys.jwks())
  if (server !== undefined && issuer !== undefined) {
    const keys = hasKeys ? { jwks_uri: new URL(issuer).origin + keysPath } : {}
    const members = parseOptions('server', server, SERVER_MEMBERS)
    const document = { issuer, ...keys, ...toServerProofs(tokens), ...members }
    documents.set(toIssuerPath('oauth-authorization-server', issuer), () => document)
  }
  if (resource !== undefined) {
    const servers = issuer === undefined ? {} : { authorization_servers: [issuer] }
    const members = parseOptions('resource', resource, RESOURCE_MEMBERS)
    const document = { ...servers, ...toResourceProofs(tokens), ...members }
    documents.set(toWellKnownPath('oauth-protected-resource', members.resource), () => document)
  }
  if (documents.size === 0) {
    throw new ConfigurationError(
      'createMetadataRoutes has nothing to publish: the keys of the manager are secrets; pass server or resource',
    )
  }
  const headers = {
    'cache-control': `public, max-age=${parseDuration(maxAge)}`,
    // Everything here is public, and clients in browsers need it.
    'access-control-allow-origin': '*',
  }

  const routes = [...documents].map(([path, read]) => {
    const answer = (): Response => Response.json(read(), { headers })
    const route = createRoute({ GET: answer }, (error) => toErrorAnswer(error, toOAuthBody))
    return [path.slice(PATH.length), route] as const
  })
  return createRouter({ path: PATH, routes: Object.fromEntries(routes), isPathShared: true })
}

// RFC 8414 §3.3: clients compare the two, and refuse the metadata of another issuer.
function assertIssuer(issuer: string, { JWT_ENCODE_ISSUER: encoded }: TokenConfig): void {
  if (encoded === null || encoded === issuer) return
  throw new ConfigurationError('issuer of createMetadataRoutes must be the same as JWT_ENCODE_ISSUER')
}

function publishesKeys(tokens: MetadataTokens, jwks: boolean | undefined): boolean {
  if (jwks === false) return false
  try {
    // Asked once now: that there is nothing to publish must not be found out by clients.
    return tokens.keys.jwks().keys.length > 0 || jwks === true
  } catch (error) {
    if (jwks === true || !isConfigurationError(error)) throw error
    return false
  }
}

// RFC 9449 §5.1, RFC 8705 §3.3. An absent flag is `false`.
function toServerProofs(tokens: MetadataTokens): Partial<ServerMetadata> {
  const { dpopAlgorithms = null, acceptsCertificates = false } = readInternals(tokens)?.proofs ?? {}
  return {
    ...(dpopAlgorithms !== null && { dpop_signing_alg_values_supported: dpopAlgorithms }),
    ...(acceptsCertificates && { tls_client_certificate_bound_access_tokens: true }),
  }
}

// RFC 9728 §2
function toResourceProofs(tokens: MetadataTokens): Partial<ResourceMetadata> {
  const isDpopRequired = readInternals(tokens)?.proofs.required === 'dpop'
  return {
    ...toServerProofs(tokens),
    ...(isDpopRequired && { dpop_bound_access_tokens_required: true }),
  }
}

// RFC 8414 §3.1, RFC 9728 §3.1: the well-known path comes before the path of the identifier.
function toWellKnownPath(name: string, identifier: string): string {
  const { pathname } = new URL(identifier)
  return `${PATH}/${name}${pathname === '/' ? '' : pathname}`
}

// RFC 8414 §3.1: without a slash at its end.
function toIssuerPath(name: string, issuer: string): string {
  return toWellKnownPath(name, issuer.replace(/\/$/, ''))
}
