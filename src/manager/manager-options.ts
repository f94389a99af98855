import type { RandomBytes } from '../claims/ids.js'
import type { ClaimsSchema } from '../claims/extra-claims.js'
import type { TokenPayload } from '../claims/payload.js'
import { ConfigurationError } from '../errors.js'
import type { AnyIssuerOptions } from '../issuers/issuers.js'
import type { JsonValue } from '../json.js'
import type { OwnKey } from '../jws/own-key.js'
import { assertOptions, type OptionNames } from '../options.js'
import type { RevocationStore } from '../revocation/store.js'
import type { Clock, Duration } from '../time.js'
import { assertConfig, type TokenConfig } from './config.js'

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
  clock: true,
  randomBytes: true,
}
const MEANT_OPTIONS = { store: 'revocation', issuer: 'issuers' }

/** Throws `TypeError` for options that a manager does not have, and `ConfigurationError` unless there is a configuration. */
export function assertManagerOptions(options: { readonly config?: TokenConfig } | undefined): void {
  // First what does not exist: it is often the configuration under another name.
  if (options !== undefined) assertOptions('new TokenManager()', options, MANAGER_OPTIONS, MEANT_OPTIONS)
  assertConfig(options)
}

/** Throws `ConfigurationError` for a method that needs a store. */
export function missingStore(method: string, needed: string): never {
  throw new ConfigurationError(`${method} needs ${needed}: new TokenManager({ config, revocation: store })`)
}
