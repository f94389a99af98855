import { ConfigurationError, type Duration } from 'tokenlib'
import { assertOptions, isNonEmptyString, type OptionNames } from 'tokenlib/kit'
import { REMOTE_OPTIONS, type RemoteKeysOptions } from './keys/key-source.js'
import { type ConfiguredIssuer, type IssuerOptions, trustIssuer } from './trust-issuer.js'

/** Options that every provider has. To change anything else, pass the `options` of the result to `trustIssuer()`. */
export interface ProviderOptions {
  /** Prepended to every `sub`. Required if a manager accepts tokens from more than one source. */
  readonly subjectPrefix?: string | undefined
  /** The maximum time after `iat` that a token is accepted. Default `24h`. */
  readonly maxTokenAge?: Duration | undefined
  /** The clock difference tolerated in its tokens. Default: `JWT_DECODE_LEEWAY`. */
  readonly leeway?: Duration | undefined
  /** How long after `auth_time` a token counts as fresh. If left out, no token is fresh. */
  readonly freshFor?: Duration | undefined
  /** How the keys of the provider are fetched. */
  readonly remoteKeys?: RemoteKeysOptions | undefined
}

/** The options of `auth0()`. */
export interface Auth0Options extends ProviderOptions {
  /** The domain of the tenant, or the custom domain that applications use to log in: `example.eu.auth0.com`. */
  readonly domain: string
  /** The identifier of the API. */
  readonly audience: string | readonly string[]
  /** The token profile of the API: `rfc9068` tokens have their own `typ` and a `jti`. Default `auth0`. */
  readonly tokenProfile?: 'auth0' | 'rfc9068' | undefined
  /**
   * The claim with the scopes: `scope` has what the application was granted, `permissions` everything that the user may
   * do. Default `scope`.
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
  /** `requestedAccessTokenVersion` in the manifest of the API; 1 if the manifest has `null`. Default 2. */
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

// One place decides how keys are requested.
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
  // The trailing slash is part of its `iss`.
  const issuer = `https://${domain}/`
  const isStandard = tokenProfile === 'rfc9068'
  return trustIssuer({
    ...toCommon('auth0()', options, issuer, `${issuer}.well-known/jwks.json`),
    audience,
    profile: isStandard ? 'at+jwt' : 'oidc-access',
    mapping: { scopes },
    // The client that requested the token; RFC 9068 requires `client_id` for the same purpose.
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
      // The same in all tokens from one refresh token, so it identifies a login.
      sid: 'origin_jti',
      scopes: 'scope',
      access: { claim: 'token_use', value: 'access' },
    },
  })
}

/** The access tokens of an API in one tenant of Microsoft Entra ID. */
export function entra(options: EntraOptions): ConfiguredIssuer {
  assertOptions('entra()', options, ENTRA, MEANT_OPTIONS)
  const { tenantId, audience, version = 2 } = options
  if (['common', 'organizations', 'consumers'].includes(tenantId)) {
    throw new ConfigurationError(
      `entra(): tenantId must be the id of one tenant, not "${tenantId}": the "iss" of a token names the tenant of its ` +
        'user. List one entra() for each tenant whose users you accept',
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
      // The same in every application of the tenant, while `sub` differs in each.
      sub: 'oid',
      jti: 'uti',
      // What a client may do on behalf of a user; without a user, what the client itself may do.
      scopes: ['scp', 'roles'],
    },
    // The client that requested the token. An ID token for the same registration has the same audience, but not this claim.
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
    // The client that requested the token; ID tokens do not have it.
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

// A name of at least two labels, with an optional port.
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

// As Keycloak writes it into `iss`: without a trailing slash.
function parseBaseUrl(name: string, value: unknown): string {
  const text = isNonEmptyString(value) ? value.replace(/\/$/, '') : ''
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url !== null && ['https:', 'http:'].includes(url.protocol) && !/[?#@\s\\]/.test(text)
  // A URL that a parser would change is not the one in the tokens.
  if (isPlain && url.href.replace(/\/$/, '') === text) return text
  throw new ConfigurationError(
    `${name} must be the URL under which clients reach Keycloak, such as "https://id.example.com", without /realms, ` +
      'query, user or spaces',
  )
}
