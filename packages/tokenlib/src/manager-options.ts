import type { RandomBytes } from './tokens/ids.js'
import { assertSchema, type ClaimsSchema } from './tokens/extra-claims.js'
import type { TokenPayload } from './tokens/payload.js'
import type { OwnKey } from './tokens/own-key.js'
import type { TrustedIssuer } from './tokens/token-source.js'
import { ConfigurationError } from './errors.js'
import { callable, type Kind, kindOf, type OptionKinds, parseOptions, clockKind } from './options.js'
import type { JsonSessionData, SessionDataSchema } from './revocation/session-data.js'
import type { RevocationStore } from './revocation/store.js'
import type { ReadClientIp } from './revocation/session-client.js'
import type { Clock, Duration } from './time.js'
import { assertConfig, type TokenConfig } from './config/config.js'
import type { DescribeUser } from './sessions/describe-user.js'
import type { FormatError } from './requests/error-response.js'
import type { SubjectGetter } from './requests/check-request.js'
import type { MtlsOptions } from './proofs/certificates.js'
import type { DpopOptions } from './proofs/dpop.js'

/** The options of a `TokenManager`. */
export interface TokenManagerOptions<
  Input extends object,
  Output extends object,
  Subject,
  Data extends object = JsonSessionData,
> {
  readonly config: TokenConfig
  /** A schema for extra claims: checks them when a token is created and verified, and infers their types. */
  readonly claims?: ClaimsSchema<Input, Output>
  /** A schema for the data of sessions: checks it when it is written, and infers its type. */
  readonly sessionData?: SessionDataSchema<Data> | undefined
  /** Where revocations and sessions are kept; checked before the callback. */
  readonly store?: RevocationStore | undefined
  readonly subjectGetter?: SubjectGetter<Subject, TokenPayload<Output>>
  /** Returns what the tokens of a user contain, at login and at every refresh; `null` rejects the user. */
  readonly describeUser?: NoInfer<DescribeUser<Input>> | undefined
  /** Reads the client's address from a request; the default is what the framework or the socket knows. */
  readonly clientIp?: ReadClientIp | undefined
  /** Keys that rotate by date, instead of the keys in the configuration. */
  readonly keys?: readonly OwnKey[] | undefined
  /** How long the `sign` function of a key may take. Default `'5s'`. */
  readonly signTimeout?: Duration | undefined
  /** Other issuers whose tokens are accepted. The functions of `@tokenlib/issuers` create them. */
  readonly issuers?: readonly TrustedIssuer[] | undefined
  /** Accepts tokens that are bound to a key of the client (DPoP, RFC 9449). */
  readonly dpop?: DpopOptions | undefined
  /** Accepts tokens that are bound to a client certificate (mutual TLS, RFC 8705). */
  readonly mtls?: MtlsOptions | undefined
  /** Sets the JSON body of rejections by `TokenExceptionFilter`, the session routes and socket handshakes. */
  readonly formatError?: FormatError | undefined
  readonly clock?: Clock
  readonly randomBytes?: RandomBytes
}

// Most options are checked where they are used, with a more specific error.
const given: Kind<never> = kindOf('given', () => true)

const MANAGER_OPTIONS: Record<keyof TokenManagerOptions<object, object, unknown>, Kind<never>> = {
  config: given,
  claims: given,
  sessionData: given,
  store: given,
  subjectGetter: callable<never>(),
  describeUser: given,
  clientIp: given,
  keys: given,
  signTimeout: given,
  issuers: given,
  dpop: given,
  mtls: given,
  formatError: callable<never>(),
  clock: clockKind as Kind<never>,
  randomBytes: callable<never>(),
}
const MEANT_OPTIONS = {
  revocation: 'store',
  blocklist: 'store',
  issuer: 'issuers',
  ip: 'clientIp',
  readIp: 'clientIp',
}

/** The checked options. Throws `TypeError` or `ConfigurationError` for wrong ones. */
export function parseManagerOptions<
  Input extends object,
  Output extends object,
  Subject,
  Data extends object,
>(
  options: TokenManagerOptions<Input, Output, Subject, Data> | undefined,
): TokenManagerOptions<Input, Output, Subject, Data> {
  const kinds: OptionKinds<TokenManagerOptions<Input, Output, Subject, Data>> = MANAGER_OPTIONS
  // Unknown names first: they are often the configuration under another name.
  const parsed = options && parseOptions('new TokenManager()', options, kinds, MEANT_OPTIONS)
  assertConfig(parsed)
  // Before the keys, whose error would hide this one.
  if (parsed.issuers !== undefined && !Array.isArray(parsed.issuers)) {
    throw new ConfigurationError('issuers must be a list: new TokenManager({ config, issuers: [issuer] })')
  }
  if (parsed.claims !== undefined) assertSchema('claims', parsed.claims)
  if (parsed.sessionData !== undefined) assertSchema('sessionData', parsed.sessionData)
  return parsed
}
