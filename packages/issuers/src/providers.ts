import { ConfigurationError, type Duration } from 'tokenlib'
import { assertOptions, isNonEmptyString, type OptionNames } from 'tokenlib/kit'
import { REMOTE_OPTIONS, type RemoteKeysOptions } from './keys/key-source.js'
import { type ConfiguredIssuer, type IssuerOptions, trustIssuer } from './trust-issuer.js'

/** What can be set for every provider. For everything else, pass the `options` of what is returned to `trustIssuer()`. */
export interface ProviderOptions {
  /** Stands before every `sub`. Required as soon as a manager accepts tokens from more than one source. */
  readonly subjectPrefix?: string | undefined
  /** How long after `iat` a token is accepted at most. Default `24h`. */
  readonly maxTokenAge?: Duration | undefined
  /** The clock difference tolerated in its tokens. Default: `JWT_DECODE_LEEWAY`. */
  readonly leeway?: Duration | undefined
  /** How long after `auth_time` a token counts as fresh. Left out, none does. */
  readonly freshFor?: Duration | undefined
  /** How the keys of the provider are fetched. */
  readonly remoteKeys?: RemoteKeysOptions | undefined
}

/** The options of `auth0()`. */
export interface Auth0Options extends ProviderOptions {
  /** The domain of the tenant, or the custom domain that the applications log in with: `example.eu.auth0.com`. */
  readonly domain: string
  /** The identifier of the API. */
  readonly audience: string | readonly string[]
  /** The token profile of the API: `rfc9068` has a `typ` of its own and a `jti`. Default `auth0`. */
  readonly tokenProfile?: 'auth0' | 'rfc9068' | undefined
  /**
   * The claim with the scopes: `scope` has those that the application was granted, `permissions` all that the user has.
   * Default `scope`.
   */
  readonly scopes?: 'scope' | 'permissions' | undefined
}

/** The options of `cognito()`. */
export interface CognitoOptions extends ProviderOptions {
  /** The region of the user pool: `eu-central-1`. */
  readonly region: string
  /** The id of the user pool: `eu-central-1_AbCdEfGhI`. */
  readonly userPoolId: string
  /** The ids of the app clients whose tokens are accepted: the access tokens of Cognito have no audience. */
  readonly clientId: string | readonly string[]
}

/** The options of `entra()`. */
export interface EntraOptions extends ProviderOptions {
  /** The id of the tenant, a GUID. */
  readonly tenantId: string
  /** The application ID of the API, a GUID; with version 1.0 its application ID URI: `api://…`. */
  readonly audience: string | readonly string[]
  /** `requestedAccessTokenVersion` in the manifest of the API; 2 is the default here, 1 where the manifest has `null`. */
  readonly version?: 1 | 2 | undefined
}

/** The options of `keycloak()`. */
export interface KeycloakOptions extends ProviderOptions {
  /** The public URL of Keycloak, without `/realms`: `https://id.example.com`. */
  readonly url: string
  readonly realm: string
  /** What an audience mapper puts into `aud`: by default, Keycloak does not name the API there. */
  readonly audience: string | readonly string[]
}

/** The options of `okta()`. */
export interface OktaOptions extends ProviderOptions {
  /** The domain of the organisation, or its custom domain: `example.okta.com`. */
  readonly domain: string
  /** The id of the custom authorization server. Default `default`. */
  readonly authorizationServer?: string | undefined
  /** The audience of the authorization server: `api://default`. */
  readonly audience: string | readonly string[]
  /**
   * The claim that names the user: `uid`, which never changes, or `sub`, the login name. Tokens of the client credentials
   * flow have no `uid`. Default `uid`.
   */
  readonly subject?: 'uid' | 'sub' | undefined
}

const COMMON: OptionNames<ProviderOptions> = {
  subjectPrefix: true,
  maxTokenAge: true,
  leeway: true,
  freshFor: true,
  remoteKeys: true,
}
const AUTH0: OptionNames<Auth0Options> = {
  ...COMMON,
  domain: true,
  audience: true,
  tokenProfile: true,
  scopes: true,
}
const COGNITO: OptionNames<CognitoOptions> = { ...COMMON, region: true, userPoolId: true, clientId: true }
const ENTRA: OptionNames<EntraOptions> = { ...COMMON, tenantId: true, audience: true, version: true }
const KEYCLOAK: OptionNames<KeycloakOptions> = { ...COMMON, url: true, realm: true, audience: true }
const OKTA: OptionNames<OktaOptions> = {
  ...COMMON,
  domain: true,
  authorizationServer: true,
  audience: true,
  subject: true,
}

// How keys are requested is set in one place.
const MEANT_OPTIONS = Object.fromEntries(Object.keys(REMOTE_OPTIONS).map((name) => [name, 'remoteKeys']))

/**
 * The access tokens of an Auth0 API.
 *
 * @example
 * new TokenManager({ config, issuers: [auth0({ domain: 'example.eu.auth0.com', audience: 'https://api.example' })] })
 */
export function auth0(options: Auth0Options): ConfiguredIssuer {
  assertOptions('auth0()', options, AUTH0, MEANT_OPTIONS)
  const { domain, audience, tokenProfile = 'auth0', scopes = 'scope' } = options
  assertDomain('auth0()', domain)
  assertOneOf('auth0(): tokenProfile', tokenProfile, ['auth0', 'rfc9068'])
  assertOneOf('auth0(): scopes', scopes, ['scope', 'permissions'])
  // The slash is a part of its `iss`.
  const issuer = `https://${domain}/`
  const isStandard = tokenProfile === 'rfc9068'
  return trustIssuer({
    ...toCommon('auth0()', options, issuer, `${issuer}.well-known/jwks.json`),
    audience,
    profile: isStandard ? 'at+jwt' : 'oidc-access',
    mapping: { scopes },
    // Which client asked for the token; RFC 9068 requires the same of its `client_id`.
    requiredClaims: isStandard ? [] : ['azp'],
  })
}

/** The access tokens of an Amazon Cognito user pool. */
export function cognito(options: CognitoOptions): ConfiguredIssuer {
  assertOptions('cognito()', options, COGNITO, { ...MEANT_OPTIONS, audience: 'clientId' })
  const { region, userPoolId, clientId } = options
  assertText('cognito(): region', region, /^[a-z]{2,8}(?:-[a-z]{1,16}){1,4}-\d{1,2}$/)
  assertText('cognito(): userPoolId', userPoolId, /^[\w-]+_[0-9A-Za-z]+$/)
  if (!userPoolId.startsWith(`${region}_`)) {
    throw new ConfigurationError(`cognito(): userPoolId must start with the region, "${region}_"`)
  }
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  const issuer = `https://cognito-idp.${region}.${suffix}/${userPoolId}`
  return trustIssuer({
    ...toCommon('cognito()', options, issuer, `${issuer}/.well-known/jwks.json`),
    audience: clientId,
    algorithms: ['RS256'],
    mapping: {
      aud: 'client_id',
      // The same in all tokens that one refresh token brought: one login.
      sid: 'origin_jti',
      scopes: 'scope',
      access: { claim: 'token_use', value: 'access' },
    },
  })
}

/** The access tokens of an API that is registered in one tenant of Microsoft Entra ID. */
export function entra(options: EntraOptions): ConfiguredIssuer {
  assertOptions('entra()', options, ENTRA, MEANT_OPTIONS)
  const { tenantId, audience, version = 2 } = options
  if (['common', 'organizations', 'consumers'].includes(tenantId)) {
    throw new ConfigurationError(
      `entra(): tenantId must be the id of one tenant, not "${tenantId}": the "iss" of a token names the tenant of its ` +
        'user. List one entra() for each tenant whose users may come',
    )
  }
  assertText('entra(): tenantId', tenantId, /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  assertOneOf('entra(): version', version, [1, 2])
  const authority = `https://login.microsoftonline.com/${tenantId}`
  const [issuer, keys, client] =
    version === 2
      ? [`${authority}/v2.0`, `${authority}/discovery/v2.0/keys`, 'azp']
      : [`https://sts.windows.net/${tenantId}/`, `${authority}/discovery/keys`, 'appid']
  return trustIssuer({
    ...toCommon('entra()', options, issuer, keys),
    audience,
    // Its keys have no `alg`.
    algorithms: ['RS256'],
    mapping: {
      // The same in every application of the tenant; `sub` differs from application to application.
      sub: 'oid',
      jti: 'uti',
      // What a client may do for a user; without one, what it may do itself.
      scopes: ['scp', 'roles'],
    },
    // Which client asked for the token. An ID token for the same registration has the same audience, and no such claim.
    requiredClaims: [client],
  })
}

/** The access tokens of a Keycloak realm. */
export function keycloak(options: KeycloakOptions): ConfiguredIssuer {
  assertOptions('keycloak()', options, KEYCLOAK, MEANT_OPTIONS)
  const { url, realm, audience } = options
  assertText('keycloak(): realm', realm, /^\w[\w.-]*$/)
  const issuer = `${parseBaseUrl('keycloak(): url', url)}/realms/${realm}`
  return trustIssuer({
    ...toCommon('keycloak()', options, issuer, `${issuer}/protocol/openid-connect/certs`),
    audience,
    mapping: { scopes: 'scope', access: { claim: 'typ', value: 'Bearer' } },
  })
}

/** The access tokens of a custom authorization server of Okta. Tokens of the organisation itself are for Okta alone. */
export function okta(options: OktaOptions): ConfiguredIssuer {
  assertOptions('okta()', options, OKTA, MEANT_OPTIONS)
  const { domain, authorizationServer = 'default', audience, subject = 'uid' } = options
  assertDomain('okta()', domain)
  assertText('okta(): authorizationServer', authorizationServer, /^[\w-]+$/)
  assertOneOf('okta(): subject', subject, ['uid', 'sub'])
  const issuer = `https://${domain}/oauth2/${authorizationServer}`
  return trustIssuer({
    ...toCommon('okta()', options, issuer, `${issuer}/v1/keys`),
    audience,
    algorithms: ['RS256'],
    mapping: { sub: subject, scopes: 'scp' },
    // Which client asked for the token; no ID token has it.
    requiredClaims: ['cid'],
  })
}

function toCommon(
  owner: string,
  { subjectPrefix, maxTokenAge, leeway, freshFor, remoteKeys = {} }: ProviderOptions,
  issuer: string,
  jwksUri: string,
): Omit<IssuerOptions, 'audience'> {
  assertOptions(`${owner} remoteKeys`, remoteKeys, REMOTE_OPTIONS)
  return { issuer, keys: { ...remoteKeys, jwksUri }, subjectPrefix, maxTokenAge, leeway, freshFor }
}

// A name of at least two labels, with a port if need be.
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,10}[a-z][a-z0-9-]{0,62}(?::\d{1,5})?$/

function assertDomain(owner: string, domain: unknown): void {
  if (isNonEmptyString(domain) && domain.length <= 260 && DOMAIN.test(domain)) return
  throw new ConfigurationError(
    `${owner}: domain must be a host name in lower case, such as "example.com", without scheme, path, user or spaces`,
  )
}

function assertText(name: string, value: unknown, pattern: RegExp): asserts value is string {
  if (isNonEmptyString(value) && value.length <= 255 && pattern.test(value)) return
  throw new ConfigurationError(`${name} is missing or invalid`)
}

function assertOneOf(name: string, value: unknown, allowed: readonly (string | number)[]): void {
  if (allowed.includes(value as string)) return
  throw new ConfigurationError(`${name} must be ${allowed.map((one) => JSON.stringify(one)).join(' or ')}`)
}

// As Keycloak writes it into `iss`: without a slash at the end.
function parseBaseUrl(name: string, value: unknown): string {
  const text = isNonEmptyString(value) ? value.replace(/\/$/, '') : ''
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url !== null && ['https:', 'http:'].includes(url.protocol) && !/[?#@\s\\]/.test(text)
  // A spelling that a URL parser would change is not the one in the tokens.
  if (isPlain && url.href.replace(/\/$/, '') === text) return text
  throw new ConfigurationError(
    `${name} must be the URL under which clients reach Keycloak, such as "https://id.example.com", without /realms, ` +
      'query, user or spaces',
  )
}
