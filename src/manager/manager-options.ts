import type { RandomBytes } from '../claims/ids.js'
import { assertSchema, type ClaimsSchema } from '../claims/extra-claims.js'
import type { TokenPayload } from '../claims/payload.js'
import type { AnyIssuerOptions } from '../issuers/issuers.js'
import type { JsonValue } from '../json.js'
import type { OwnKey } from '../jws/own-key.js'
import { ConfigurationError, SubjectNotFoundError } from '../errors.js'
import { assertOptions, type OptionNames } from '../options.js'
import type { RevocationStore } from '../revocation/store.js'
import type { Clock, Duration } from '../time.js'
import { assertConfig, type TokenConfig } from './config.js'
import { assertFormatError, type FormatError } from './format-error.js'

/** Extra claims of a new token, for a manager without a schema. */
export type JsonClaims = { readonly [claim: string]: JsonValue }

/** Finds what a token's subject stands for, a user record for example; `null` or `undefined` means there is none. */
export type SubjectGetter<Subject, Payload = TokenPayload> = (
  uid: string,
  payload: Payload,
) => Subject | null | undefined | Promise<Subject | null | undefined>

/** What a `TokenManager` is built from. */
export interface TokenManagerOptions<Input extends object, Output extends object, Subject> {
  readonly config: TokenConfig
  /** Checks extra claims when a token is made and when it is verified, and gives them their types. */
  readonly claims?: ClaimsSchema<Input, Output>
  /** Where revocations and sessions are kept; checked before the callback. */
  readonly revocation?: RevocationStore | undefined
  readonly subjectGetter?: SubjectGetter<Subject, TokenPayload<Output>>
  /** Own keys that take turns by the clock, instead of those in the configuration. */
  readonly keys?: readonly OwnKey[] | undefined
  /** How long the `sign` of a key may take; default `'5s'`. */
  readonly signTimeout?: Duration | undefined
  /** Others whose tokens are accepted: identity providers, other applications, and the one that this application replaces. */
  readonly issuers?: readonly AnyIssuerOptions[] | undefined
  /** The JSON body of every refusal: by `TokenExceptionFilter`, the session routes, and refused handshakes. */
  readonly formatError?: FormatError | undefined
  readonly clock?: Clock
  readonly randomBytes?: RandomBytes
}

const MANAGER_OPTIONS: OptionNames<TokenManagerOptions<object, object, unknown>> = {
  config: true,
  claims: true,
  revocation: true,
  subjectGetter: true,
  keys: true,
  signTimeout: true,
  issuers: true,
  formatError: true,
  clock: true,
  randomBytes: true,
}
const MEANT_OPTIONS = { store: 'revocation', issuer: 'issuers' }

/** Throws `TypeError` for unknown options, and `ConfigurationError` for what no manager can be built with. */
export function assertManagerOptions(
  options:
    | {
        readonly config?: TokenConfig
        readonly claims?: unknown
        readonly formatError?: FormatError | undefined
      }
    | undefined,
): void {
  // First what does not exist: it is often the configuration under another name.
  if (options !== undefined) assertOptions('new TokenManager()', options, MANAGER_OPTIONS, MEANT_OPTIONS)
  assertConfig(options)
  if (options?.claims !== undefined) assertSchema(options.claims)
  assertFormatError(options?.formatError)
}

/** What the subject getter of a manager finds for a payload. */
export async function findSubject<Subject, Payload extends TokenPayload<object>>(
  getter: SubjectGetter<Subject, Payload> | null,
  payload: Payload,
): Promise<NonNullable<Subject>> {
  if (getter === null) {
    throw new ConfigurationError(
      'getCurrentSubject needs a subject getter: register one with setSubjectGetter()',
    )
  }
  const subject = await getter(payload.sub, payload)
  if (subject === null || subject === undefined) throw new SubjectNotFoundError()
  return subject
}
