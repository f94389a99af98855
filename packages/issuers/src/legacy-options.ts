import { ConfigurationError, type Duration } from 'tokenlib'
import {
  type Algorithm,
  ALGORITHMS,
  choice,
  duration,
  flag,
  isHmac,
  type KeyMaterial,
  kindOf,
  listOf,
  oneOrMore,
  type OptionKinds,
  parseDuration,
  required,
  type SecretMaterial,
  text,
  unchecked,
} from 'tokenlib/kit'
import { type ClaimMapping, parseIssuerOptions } from './profile.js'

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

const LEGACY_OPTIONS: OptionKinds<LegacyIssuerOptions> = {
  issuer: required(text),
  withoutIss: flag,
  secret: unchecked(),
  publicKey: unchecked(),
  algorithm: choice(Object.keys(ALGORITHMS) as Algorithm[]),
  allowWeakSecret: flag,
  acceptUntil: required(
    kindOf(
      "a Date, or ISO 8601 with a time zone ('2027-01-31' or '2027-01-31T12:00:00Z')",
      (value) => readMoment(value) !== null,
    ),
  ),
  // Required: no default is safe for every application.
  maxTokenAge: required(duration()),
  onlyAccessTokens: flag,
  audience: oneOrMore(text),
  mapping: unchecked(),
  requiredClaims: listOf(text, 0),
  leeway: duration(),
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
  /** Seconds. */
  readonly maxAge: number
  /** Seconds; `null` for the manager's leeway. */
  readonly leeway: number | null
  readonly onlyAccessTokens: boolean
  readonly audience: readonly string[]
  readonly mapping: ClaimMapping
  readonly requiredClaims: readonly string[]
}

/** Validates options. Throws `TypeError` or `ConfigurationError`. */
export function parseLegacyOptions(given: LegacyIssuerOptions): LegacySettings {
  const options = parseIssuerOptions(given, LEGACY_OPTIONS, MEANT_OPTIONS)
  const { issuer, audience, leeway } = options
  const secrets = toMaterials(options.secret)
  const publicKeys = toMaterials(options.publicKey)
  const isSecret = secrets.length > 0
  const { algorithm = isSecret ? 'HS256' : undefined } = options
  const problem =
    (isSecret === publicKeys.length > 0 && 'needs either secret or publicKey') ||
    (algorithm === undefined && 'publicKey needs algorithm') ||
    // A public key must never be used as a secret.
    (isHmac(algorithm as Algorithm) !== isSecret &&
      `algorithm must be one that is verified with a ${isSecret ? 'secret' : 'public key'}`)
  if (problem !== false) throw new ConfigurationError(`Issuer ${issuer}: ${problem}`)
  return {
    issuer,
    isWithoutIss: options.withoutIss ?? false,
    secrets,
    publicKeys,
    algorithm: algorithm as Algorithm,
    allowWeakSecret: options.allowWeakSecret ?? false,
    onlyAccessTokens: options.onlyAccessTokens ?? false,
    acceptUntil: readMoment(options.acceptUntil) as number,
    maxAge: parseDuration(options.maxTokenAge),
    leeway: leeway === undefined ? null : parseDuration(leeway),
    audience: audience === undefined ? [] : [audience].flat(),
    mapping: options.mapping,
    requiredClaims: options.requiredClaims ?? [],
  }
}

function toMaterials<Material>(given: Material | readonly Material[] | undefined): readonly Material[] {
  return given === undefined ? [] : Array.isArray(given) ? [...given] : [given as Material]
}

// A date, or a time with a time zone: without one, the meaning would depend on the machine.
const ISO_MOMENT = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

// In epoch seconds. A time in the past is allowed: a process that starts the next day must not fail.
function readMoment(given: unknown): number | null {
  // Date turns 30 February into 2 March.
  const isText = typeof given === 'string' && ISO_MOMENT.test(given) && isDayOfCalendar(given.slice(0, 10))
  const moment = isText || given instanceof Date ? new Date(given).getTime() : Number.NaN
  return Number.isFinite(moment) ? moment / 1000 : null
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
