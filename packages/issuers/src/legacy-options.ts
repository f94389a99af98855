import { ConfigurationError, type Duration } from 'tokenlib'
import type { Algorithm, KeyMaterial, SecretMaterial } from 'tokenlib/kit'
import { ALGORITHMS, assertOptions, isHmac, isNonEmptyString, type OptionNames } from 'tokenlib/kit'
import { assertMapping, type ClaimMapping, isTextOrList } from './profile.js'

/**
 * The options for tokens of your previous application: its access tokens stay valid until they expire.
 *
 * Its keys must differ from the keys of new tokens, so that neither kind of token can pass for the other.
 */
export interface LegacyIssuerOptions {
  /** The exact `iss` of its tokens or, with `withoutIss`, a name to use in payloads and revocations. */
  readonly issuer: string
  /** Whether its tokens have no `iss`. Only one issuer of a manager may set this. */
  readonly withoutIss?: boolean | undefined
  /** The secret or secrets that its tokens are signed with. Set this or `publicKey`. */
  readonly secret?: SecretMaterial | readonly SecretMaterial[] | undefined
  /** The public key or keys that verify its tokens. Set this or `secret`. */
  readonly publicKey?: KeyMaterial | readonly KeyMaterial[] | undefined
  /** The algorithm of its tokens. Default `HS256`; required with `publicKey`. */
  readonly algorithm?: Algorithm | undefined
  /** Allows a secret that is too short for its algorithm: at least 16 bytes, and not a published one. */
  readonly allowWeakSecret?: boolean | undefined
  /** When to stop accepting its tokens: a `Date`, or ISO 8601 (`'2027-01-31'`, in UTC). */
  readonly acceptUntil: Date | string
  /** How long its access tokens live. Longer-lived tokens are not treated as access tokens. */
  readonly maxTokenAge: Duration
  /**
   * Whether its keys sign only access tokens. Needed for tokens without `iat`, unless `mapping.access` tells them apart: a
   * refresh token without `iat` that is about to expire looks like an access token.
   */
  readonly onlyAccessTokens?: boolean | undefined
  /** Who its tokens must be for. If left out, tokens must not have an `aud`. */
  readonly audience?: string | readonly string[] | undefined
  /** Maps its claims to ours. `user.id` is the member `id` of the claim `user`. */
  readonly mapping?: ClaimMapping | undefined
  /** Claims that every token must have, in addition to the user's id. */
  readonly requiredClaims?: readonly string[] | undefined
  /** The clock difference tolerated in its tokens. Default: `JWT_DECODE_LEEWAY`. */
  readonly leeway?: Duration | undefined
}

const LEGACY_OPTIONS: OptionNames<LegacyIssuerOptions> = {
  issuer: true,
  withoutIss: true,
  secret: true,
  publicKey: true,
  algorithm: true,
  allowWeakSecret: true,
  acceptUntil: true,
  maxTokenAge: true,
  onlyAccessTokens: true,
  audience: true,
  mapping: true,
  requiredClaims: true,
  leeway: true,
}
const MEANT_OPTIONS = {
  iss: 'issuer',
  aud: 'audience',
  keys: 'secret',
  secretOrKey: 'secret',
  secretOrPublicKey: 'secret',
  algorithms: 'algorithm',
  expiresIn: 'maxTokenAge',
  until: 'acceptUntil',
  scopes: 'mapping',
  sub: 'mapping',
}

/** Validated options of a legacy issuer, with defaults. */
export interface LegacySettings {
  readonly issuer: string
  readonly isWithoutIss: boolean
  readonly secrets: readonly SecretMaterial[]
  readonly publicKeys: readonly KeyMaterial[]
  readonly algorithm: Algorithm
  readonly allowWeakSecret: boolean
  /** Epoch seconds. */
  readonly acceptUntil: number
  readonly onlyAccessTokens: boolean
  readonly audience: readonly string[]
  readonly mapping: ClaimMapping
  readonly requiredClaims: readonly string[]
}

/** Validates options. Throws `TypeError` or `ConfigurationError`. */
export function parseLegacyOptions(options: LegacyIssuerOptions): LegacySettings {
  const issuer = (options as Partial<LegacyIssuerOptions> | null)?.issuer
  const owner = isNonEmptyString(issuer) ? `issuer ${issuer}` : 'trustLegacyIssuer()'
  assertOptions(owner, options, LEGACY_OPTIONS, MEANT_OPTIONS)
  const fail: (problem: string) => never = (problem) => {
    throw new ConfigurationError(`Issuer ${issuer}: ${problem}`)
  }
  if (!isNonEmptyString(issuer)) {
    throw new ConfigurationError('An issuer needs `issuer`: the text of "iss" in its tokens, or a name')
  }
  const { withoutIss = false, allowWeakSecret = false, onlyAccessTokens = false } = options
  const { audience, mapping, requiredClaims = [] } = options
  if (typeof withoutIss !== 'boolean') fail('withoutIss must be true or false')
  if (typeof allowWeakSecret !== 'boolean') fail('allowWeakSecret must be true or false')
  if (typeof onlyAccessTokens !== 'boolean') fail('onlyAccessTokens must be true or false')
  if (audience !== undefined && !isTextOrList(audience)) {
    fail('audience must be a non-empty string, or a list of at least one')
  }
  if (mapping !== undefined) assertMapping(owner, mapping, fail)
  if (!Array.isArray(requiredClaims) || !requiredClaims.every(isNonEmptyString)) {
    fail('requiredClaims must be a list of claim names')
  }
  const secrets = toMaterials(options.secret)
  const publicKeys = toMaterials(options.publicKey)
  if ((secrets.length === 0) === (publicKeys.length === 0)) fail('needs either secret or publicKey')
  // Required: there is no safe default for how long an application's tokens should be accepted.
  if (options.maxTokenAge === undefined) fail('needs maxTokenAge: how long its access tokens live')
  return {
    issuer,
    isWithoutIss: withoutIss,
    secrets,
    publicKeys,
    algorithm: parseAlgorithm(options.algorithm, secrets.length > 0, fail),
    allowWeakSecret,
    onlyAccessTokens,
    acceptUntil: parseAcceptUntil(options.acceptUntil, fail),
    audience: audience === undefined ? [] : [audience].flat(),
    // A copy: the application may still hold, and change, its own.
    mapping: structuredClone(mapping ?? {}),
    requiredClaims: [...requiredClaims],
  }
}

function toMaterials<Material>(given: Material | readonly Material[] | undefined): readonly Material[] {
  return given === undefined ? [] : Array.isArray(given) ? [...given] : [given as Material]
}

function parseAlgorithm(
  given: Algorithm | undefined,
  isSecret: boolean,
  fail: (problem: string) => never,
): Algorithm {
  const algorithm = given ?? (isSecret ? 'HS256' : fail('publicKey needs algorithm'))
  // A public key must never be used as a secret.
  if (!Object.hasOwn(ALGORITHMS, algorithm) || isHmac(algorithm) !== isSecret) {
    fail(`algorithm must be one that is verified with a ${isSecret ? 'secret' : 'public key'}`)
  }
  return algorithm
}

// A date, or a time with a time zone: without one, the meaning would depend on the machine.
const ISO_MOMENT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

// A time in the past is allowed: a process that starts the next day must not fail.
function parseAcceptUntil(given: unknown, fail: (problem: string) => never): number {
  const isMoment = given instanceof Date || (typeof given === 'string' && ISO_MOMENT.test(given))
  const moment = isMoment ? new Date(given).getTime() : Number.NaN
  // Date turns 30 February into 2 March.
  const isDay = typeof given !== 'string' || isDayOfCalendar(given.slice(0, 10))
  if (!Number.isFinite(moment) || !isDay) {
    fail("needs acceptUntil: a Date, or ISO 8601 with a time zone ('2027-01-31' or '2027-01-31T12:00:00Z')")
  }
  return moment / 1000
}

function isDayOfCalendar(day: string): boolean {
  const start = Date.parse(day)
  return Number.isFinite(start) && new Date(start).toISOString().startsWith(day)
}

// Longer than any application's tokens should live; a longer acceptance would be forgotten.
const MAX_ACCEPTANCE_DAYS = 400

/** Throws `ConfigurationError` if `acceptUntil` is too far ahead. `now` is in epoch milliseconds, 0 if the runtime has no time yet. */
export function assertNearEnd({ issuer, acceptUntil }: LegacySettings, now: number): void {
  // Workers have no time while a module is loaded.
  if (now === 0 || acceptUntil * 1000 <= now + MAX_ACCEPTANCE_DAYS * 86_400_000) return
  throw new ConfigurationError(
    `Issuer ${issuer}: acceptUntil must be at most ${MAX_ACCEPTANCE_DAYS} days ahead`,
  )
}
