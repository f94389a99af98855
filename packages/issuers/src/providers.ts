import { ConfigurationError } from 'tokenlib'
import {
  choice,
  type Kind,
  type OptionKinds,
  parseOptions,
  required,
  textLike,
  unchecked,
} from 'tokenlib/kit'
import { REMOTE_OPTIONS, type RemoteKeysOptions } from './keys/key-source.js'
import { type ConfiguredIssuer, ISSUER_OPTIONS, type IssuerOptions, trustIssuer } from './trust-issuer.js'

/** Options that every provider has. To change anything else, pass the `options` of the result to `trustIssuer()`. */
export interface ProviderOptions extends Pick<
  IssuerOptions,
  'subjectPrefix' | 'maxTokenAge' | 'leeway' | 'freshFor'
> {
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

const { audience, subjectPrefix, maxTokenAge, leeway, freshFor } = ISSUER_OPTIONS
const COMMON: OptionKinds<ProviderOptions> = {
  subjectPrefix,
  maxTokenAge,
  leeway,
  freshFor,
  remoteKeys: unchecked(),
}

// A name of at least two labels, with an optional port.
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,10}[a-z][a-z0-9-]{0,62}(?::\d{1,5})?$/
const domain = textLike(
  'a host name in lower case, such as "example.com", without scheme, path, user or spaces',
  (value) => value.length <= 260 && DOMAIN.test(value),
)

function idLike(example: string, pattern: RegExp): Kind<string> {
  return textLike(`an id such as "${example}"`, (value) => value.length <= 255 && pattern.test(value))
}

const AUTH0: OptionKinds<Auth0Options> = {
  ...COMMON,
  domain: required(domain),
  audience,
  tokenProfile: choice(['auth0', 'rfc9068']),
  scopes: choice(['scope', 'permissions']),
}
const COGNITO: OptionKinds<CognitoOptions> = {
  ...COMMON,
  region: required(idLike('eu-central-1', /^[a-z]{2,8}(?:-[a-z]{1,16}){1,4}-\d{1,2}$/)),
  userPoolId: required(idLike('eu-central-1_AbCdEfGhI', /^[\w-]+_[0-9A-Za-z]+$/)),
  clientId: audience,
}
const ENTRA: OptionKinds<EntraOptions> = {
  ...COMMON,
  tenantId: required(
    textLike(
      'the id of one tenant, a GUID in lower case: the "iss" of a token names the tenant of its user. List one entra() ' +
        'for each tenant whose users you accept',
      (value) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value),
    ),
  ),
  audience,
  version: choice([1, 2]),
}
const KEYCLOAK: OptionKinds<KeycloakOptions> = {
  ...COMMON,
  url: required(
    textLike(
      'the URL under which clients reach Keycloak, such as "https://id.example.com", without /realms, query, user or spaces',
      isBaseUrl,
    ),
  ),
  realm: required(idLike('my-realm', /^\w[\w.-]*$/)),
  audience,
}
const OKTA: OptionKinds<OktaOptions> = {
  ...COMMON,
  domain: required(domain),
  authorizationServer: idLike('default', /^[\w-]+$/),
  audience,
  subject: choice(['uid', 'sub']),
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
  const parsed = parseProvider('auth0()', options, AUTH0)
  // The trailing slash is part of its `iss`.
  const issuer = `https://${parsed.domain}/`
  const isStandard = parsed.tokenProfile === 'rfc9068'
  return trustIssuer({
    ...toCommon(parsed, issuer, `${issuer}.well-known/jwks.json`),
    audience: parsed.audience,
    profile: isStandard ? 'at+jwt' : 'oidc-access',
    mapping: { scopes: parsed.scopes ?? 'scope' },
    // The client that requested the token; RFC 9068 requires `client_id` for the same purpose.
    requiredClaims: isStandard ? [] : ['azp'],
  })
}

/** The access tokens of an Amazon Cognito user pool. */
export function cognito(options: CognitoOptions): ConfiguredIssuer {
  const parsed = parseProvider('cognito()', options, COGNITO, { audience: 'clientId' })
  const { region, userPoolId, clientId } = parsed
  if (!userPoolId.startsWith(`${region}_`)) {
    throw new ConfigurationError(`cognito(): userPoolId must start with the region, "${region}_"`)
  }
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  const issuer = `https://cognito-idp.${region}.${suffix}/${userPoolId}`
  return trustIssuer({
    ...toCommon(parsed, issuer, `${issuer}/.well-known/jwks.json`),
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
  const parsed = parseProvider('entra()', options, ENTRA)
  const { tenantId, version = 2 } = parsed
  const authority = `https://login.microsoftonline.com/${tenantId}`
  const [issuer, keys, client] =
    version === 2
      ? [`${authority}/v2.0`, `${authority}/discovery/v2.0/keys`, 'azp']
      : [`https://sts.windows.net/${tenantId}/`, `${authority}/discovery/keys`, 'appid']
  return trustIssuer({
    ...toCommon(parsed, issuer, keys),
    audience: parsed.audience,
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
  const parsed = parseProvider('keycloak()', options, KEYCLOAK)
  // As Keycloak writes it into `iss`: without a trailing slash.
  const issuer = `${parsed.url.replace(/\/$/, '')}/realms/${parsed.realm}`
  return trustIssuer({
    ...toCommon(parsed, issuer, `${issuer}/protocol/openid-connect/certs`),
    audience: parsed.audience,
    mapping: { scopes: 'scope', access: { claim: 'typ', value: 'Bearer' } },
  })
}

/** The access tokens of a custom authorization server of Okta. Tokens of the organisation itself are for Okta alone. */
export function okta(options: OktaOptions): ConfiguredIssuer {
  const parsed = parseProvider('okta()', options, OKTA)
  const { authorizationServer = 'default', subject = 'uid' } = parsed
  const issuer = `https://${parsed.domain}/oauth2/${authorizationServer}`
  return trustIssuer({
    ...toCommon(parsed, issuer, `${issuer}/v1/keys`),
    audience: parsed.audience,
    algorithms: ['RS256'],
    mapping: { sub: subject, scopes: 'scp' },
    // The client that requested the token; ID tokens do not have it.
    requiredClaims: ['cid'],
  })
}

function parseProvider<Options extends ProviderOptions>(
  owner: string,
  given: Options,
  kinds: OptionKinds<Options>,
  meant: Readonly<Record<string, string>> = {},
): Options {
  const toError = (problem: string): Error => new ConfigurationError(`${owner}: ${problem}`)
  const options = parseOptions(owner, given, kinds, { ...MEANT_OPTIONS, ...meant }, toError)
  // Rejects `jwksUri` and `discovery`, which would be ignored here.
  const { remoteKeys = {} } = options
  parseOptions(`${owner} remoteKeys`, remoteKeys, REMOTE_OPTIONS)
  return options
}

function toCommon(
  { remoteKeys, ...options }: ProviderOptions,
  issuer: string,
  jwksUri: string,
): Omit<IssuerOptions, 'audience'> {
  return {
    issuer,
    keys: { ...remoteKeys, jwksUri },
    subjectPrefix: options.subjectPrefix,
    maxTokenAge: options.maxTokenAge,
    leeway: options.leeway,
    freshFor: options.freshFor,
  }
}

// A URL that a parser would change is not the one in the tokens.
function isBaseUrl(value: string): boolean {
  const base = value.replace(/\/$/, '')
  const url = URL.canParse(base) ? new URL(base) : null
  const isPlain = url !== null && ['https:', 'http:'].includes(url.protocol) && !/[?#@\s\\]/.test(base)
  return isPlain && url.href.replace(/\/$/, '') === base
}
