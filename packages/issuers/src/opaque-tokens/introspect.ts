import { ConfigurationError, type Duration, type TrustedIssuer } from 'tokenlib'
import { TokenDecodeError } from 'tokenlib/errors'
import {
  anyText,
  callable,
  choice,
  count,
  duration,
  flag,
  IS_WORKERD,
  type IssuerSource,
  kindOf,
  listOf,
  oneOrMore,
  type OptionKinds,
  parseDuration,
  parseOptions,
  required,
  type SourceContext,
  text,
  textLike,
  unchecked,
} from 'tokenlib/kit'
import { createFixedKeys } from '../keys/jwk-set.js'
import { parseKeyUrl } from '../keys/fetch-json.js'
import { NOT_IN_OTHER_TOKENS, parseIssuerOptions } from '../profile.js'
import { createLife, type IssuerOptions } from '../trust-issuer.js'
import { createAnswers } from './answers.js'
import {
  askEndpoint,
  type Endpoint,
  type IntrospectionAuthentication,
  type IntrospectionFetch,
} from './endpoint.js'
import { openAnswer } from './open-answer.js'

/** An issuer that has to be asked about its tokens. */
export interface IntrospectOptions extends Pick<
  IssuerOptions,
  'subjectPrefix' | 'requiredClaims' | 'maxTokenAge' | 'sessionLifetime' | 'leeway' | 'freshFor' | 'mapping'
> {
  /** Names the issuer in payloads, policies and revocations. An `iss` in an answer must be exactly this. */
  readonly issuer: string
  /** The URL of its introspection endpoint (RFC 7662). */
  readonly endpoint: string
  /** How this application authenticates there. */
  readonly authentication: IntrospectionAuthentication
  /** Who a token must be for: this application, as the issuer names it. If you pass a list, one match is enough. */
  readonly audience?: string | readonly string[] | undefined
  /** `true` instead of `audience`: also accept tokens that the issuer made for other applications. */
  readonly allowAnyAudience?: boolean | undefined
  /**
   * For how many seconds an active token is not asked about again: a revocation at the issuer takes that long to reach you.
   * Up to 300. Default 0: every request asks.
   */
  readonly cacheSeconds?: number | undefined
  /** How many active tokens are remembered. Default 10,000. */
  readonly maxCached?: number | undefined
  /** How many tokens that the issuer does not know are looked up per 10 seconds. Beyond it, new tokens get 503. Default 100. */
  readonly maxUnknown?: number | undefined
  /** How long an answer may take, with its body. Default `5s`. */
  readonly timeout?: Duration | undefined
  /** The largest answer in bytes, after decompression. Default 64 KiB. */
  readonly maxBytes?: number | undefined
  /** Also accept an endpoint at a private address, and there over `http:`. */
  readonly allowPrivateNetwork?: boolean | undefined
  /** Sends the requests, in place of the global `fetch`: for a proxy, or a certificate authority of your own. */
  readonly fetch?: IntrospectionFetch | undefined
}

const OPTIONS: OptionKinds<IntrospectOptions> = {
  issuer: required(text),
  endpoint: required(text),
  authentication: required(unchecked()),
  audience: oneOrMore(text),
  allowAnyAudience: flag,
  subjectPrefix: anyText,
  requiredClaims: listOf(text, 0),
  maxTokenAge: duration(),
  sessionLifetime: duration(),
  leeway: duration(),
  freshFor: duration(),
  mapping: unchecked(),
  cacheSeconds: kindOf(
    'a number of seconds from 0 to 300',
    (value) => typeof value === 'number' && value >= 0 && value <= 300,
  ),
  maxCached: count(1, 1_000_000),
  maxUnknown: count(1, 100_000),
  timeout: duration(
    'a duration between 0.001 and 60 seconds',
    (seconds) => seconds >= 0.001 && seconds <= 60,
  ),
  maxBytes: count(1, 2 ** 20),
  allowPrivateNetwork: flag,
  fetch: callable(),
}
const MEANT_OPTIONS = {
  url: 'endpoint',
  introspectionEndpoint: 'endpoint',
  clientId: 'authentication',
  clientSecret: 'authentication',
  client: 'authentication',
  iss: 'issuer',
  aud: 'audience',
  cache: 'cacheSeconds',
  maxAge: 'cacheSeconds',
}

// What every HTTP client takes in a header.
const headerText = textLike('a non-empty string of visible ASCII characters', (value) =>
  /^[\x21-\x7e]+$/.test(value),
)
const METHODS = ['client_secret_basic', 'client_secret_post', 'bearer', 'none'] as const

/**
 * Accepts the opaque tokens of an issuer: asks its introspection endpoint about them (RFC 7662). Throws `TypeError` or
 * `ConfigurationError` for invalid options. Sends no requests.
 *
 * @example
 * const ory = introspect({
 *   issuer: 'https://example.projects.oryapis.com',
 *   endpoint: 'https://example.projects.oryapis.com/admin/oauth2/introspect',
 *   authentication: { method: 'bearer', token: process.env.ORY_API_KEY },
 *   audience: 'https://api.example',
 *   cacheSeconds: 10,
 * })
 */
export function introspect(given: IntrospectOptions): TrustedIssuer {
  const options = parseIssuerOptions(given, OPTIONS, MEANT_OPTIONS)
  const { issuer, subjectPrefix = '', requiredClaims = [], cacheSeconds = 0, maxCached = 10_000 } = options
  const { maxUnknown = 100 } = options
  const audience = parseAudience(options)
  const endpoint = parseEndpoint(options)
  const mapping = structuredClone(options.mapping)
  const needed = ['exp', 'iat', ...requiredClaims]
  const maxAge = parseDuration(options.maxTokenAge ?? '24h')
  const sessionLifetime = parseDuration(options.sessionLifetime ?? '400d') * 1000
  const freshFor = options.freshFor === undefined ? null : parseDuration(options.freshFor)

  return {
    issuer,
    subjectPrefix: options.subjectPrefix,
    connect({ emit, scheduler, now, identityClaim, ...manager }: SourceContext): IssuerSource {
      assertRequirable(issuer, requiredClaims, identityClaim)
      const rules = {
        leeway: options.leeway === undefined ? manager.leeway : parseDuration(options.leeway),
        issuers: [issuer],
        audience,
        requiredClaims: [...new Set(needed)],
        maxAge,
      }
      const profile = {
        profile: 'oidc-access',
        mapping,
        subjectPrefix,
        identityClaim,
        freshFor,
        hasIds: needed.includes('jti'),
      } as const
      const opaque = createAnswers(
        {
          issuer,
          cacheMs: cacheSeconds * 1000,
          maxCached,
          maxUnknown,
          ask: (token) => askEndpoint(endpoint, scheduler, token),
          open: (claims) => openAnswer(claims, issuer, profile),
          isWorkerd: IS_WORKERD,
        },
        { emit, scheduler, now },
      )
      return {
        issuer,
        names: [issuer],
        isWithoutIss: false,
        profile: 'introspection',
        keys: createFixedKeys([], () => []),
        exclusiveKeys: [],
        rules,
        subjectPrefix,
        // Without keys, nothing that it signs can be verified.
        sendsEvents: false,
        allowsHighS: false,
        revokedBy: [issuer],
        sessionLifetime,
        ...createLife(rules),
        toPayload() {
          throw new TokenDecodeError('Tokens of this issuer are not verified here')
        },
        opaque,
      }
    },
  }
}

function parseAudience({ issuer, audience, allowAnyAudience = false }: IntrospectOptions): readonly string[] {
  // Without it, tokens that the issuer made for another application would be accepted (RFC 7662 §4).
  if ((audience === undefined) === allowAnyAudience) return audience === undefined ? [] : [audience].flat()
  throw new ConfigurationError(
    `issuer ${issuer}: pass either audience or allowAnyAudience: true, which accepts tokens for other applications too`,
  )
}

function parseEndpoint(options: IntrospectOptions): Endpoint {
  const { issuer, allowPrivateNetwork = false, maxBytes = 65_536, timeout = '5s' } = options
  let url: URL
  try {
    url = parseKeyUrl(options.endpoint, allowPrivateNetwork)
  } catch (error) {
    throw new ConfigurationError(`issuer ${issuer}: endpoint: ${(error as Error).message}`)
  }
  return {
    url: url.href,
    authentication: parseAuthentication(issuer, options.authentication),
    timeoutMs: parseDuration(timeout) * 1000,
    maxBytes,
    allowPrivateNetwork,
    fetch: options.fetch ?? null,
  }
}

function parseAuthentication(
  issuer: string,
  given: IntrospectionAuthentication,
): IntrospectionAuthentication {
  const owner = `authentication of issuer ${issuer}`
  const parse = <Options extends object>(kinds: OptionKinds<Options>): Options =>
    parseOptions(owner, given as unknown as Options, kinds, {}, (problem) => {
      return new ConfigurationError(`${owner}: ${problem}`)
    })
  const method = required(choice(METHODS))
  const { method: chosen } = (given ?? {}) as Partial<IntrospectionAuthentication>
  if (chosen === 'bearer') return parse({ method, token: required(headerText) }) as typeof given
  if (chosen === 'client_secret_basic' || chosen === 'client_secret_post') {
    return parse({ method, clientId: required(text), clientSecret: required(text) }) as typeof given
  }
  return parse({ method }) as typeof given
}

// Requiring a claim that every payload has would have no effect.
function assertRequirable(issuer: string, needed: readonly string[], identityClaim: string): void {
  const name = needed.find(
    (claim) => claim !== 'sub' && (NOT_IN_OTHER_TOKENS.includes(claim) || claim === identityClaim),
  )
  if (name === undefined) return
  throw new ConfigurationError(
    `Issuer ${issuer}: requiredClaims cannot have "${name}", which is not read from its tokens`,
  )
}
