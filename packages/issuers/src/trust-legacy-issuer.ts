import { ConfigurationError, type TokenPayload, type TrustedIssuer } from 'tokenlib'
import { TokenAudienceError, TokenDecodeError } from 'tokenlib/errors'
import {
  assertJwkUse,
  type BoundKey,
  deriveKid,
  importPublicKey,
  importSecret,
  invalidClaim,
  isJwk,
  isNonEmptyString,
  type IssuerSource,
  type NodeKey,
  parseJwkText,
  readKeyMismatch,
  readMissingClaim,
  readMistypedClaim,
  readSecretWeakness,
  type SourceContext,
  type SourceKeys,
  toKid,
  toTokenPayload,
} from 'tokenlib/kit'
import { listIds } from './keys/jwk-set.js'
import {
  assertNearEnd,
  type LegacyIssuerOptions,
  type LegacySettings,
  parseLegacyOptions,
} from './legacy-options.js'
import { copyOthers, readScopes, setClaim } from './profile.js'
import { createLife, toTokenId } from './trust-issuer.js'

/**
 * Accepts the tokens of your previous application until they expire. Throws `TypeError` or `ConfigurationError` for invalid
 * options.
 *
 * @example
 * const before = trustLegacyIssuer({ issuer: 'before', withoutIss: true, secret, maxTokenAge: '1h', acceptUntil: '2027-01-31' })
 * const tokens = new TokenManager({ config, issuers: [before] })
 */
export function trustLegacyIssuer(options: LegacyIssuerOptions): TrustedIssuer {
  const settings = parseLegacyOptions(options)
  const { issuer, audience, isWithoutIss, maxAge, leeway } = settings
  const exclusiveKeys = bindKeys(settings)

  return {
    issuer,
    // Its users are our users.
    subjectPrefix: '',
    connect({ now, identityClaim, ...manager }: SourceContext): IssuerSource {
      assertNearEnd(settings, now())
      const claimRules = {
        leeway: leeway ?? manager.leeway,
        issuers: [issuer],
        audience,
        requiredClaims: ['exp', 'iat'],
        maxAge,
      }
      return {
        issuer,
        names: isWithoutIss ? [] : [issuer],
        isWithoutIss,
        profile: 'legacy',
        keys: createLegacyKeys(exclusiveKeys),
        exclusiveKeys,
        rules: claimRules,
        subjectPrefix: '',
        // It no longer sends events about sessions.
        sendsEvents: false,
        allowsHighS: true,
        revokedBy: [issuer],
        sessionLifetime: SESSION_LIFETIME,
        ...createLife(claimRules),
        toPayload({ jws, claims }) {
          const payload = toLegacyPayload(claims, settings, identityClaim, () => toTokenId(jws))
          return { payload, subjects: [payload.sub] }
        },
      }
    },
  }
}

// As for every other issuer, in milliseconds.
const SESSION_LIFETIME = 400 * 86_400_000

function bindKeys({ issuer, algorithm, secrets, publicKeys, allowWeakSecret }: LegacySettings): BoundKey[] {
  const bind = (field: string, material: unknown, key: NodeKey): BoundKey => {
    assertJwkUse(field, material, algorithm, 'verify')
    const derived = deriveKid(key)
    // Tokens refer to a key only by the `kid` of its JWK.
    const kid = isJwk(material) && material.kid !== undefined ? toKid(field, material, key) : ''
    return Object.freeze({ algorithm, key, kid, ids: kid === '' ? [derived] : [...new Set([kid, derived])] })
  }
  return [
    ...secrets.map((given) => {
      const field = `Issuer ${issuer}: secret`
      const material = parseJwkText(given)
      const key = importSecret(field, material, algorithm, true)
      assertUsable(field, key, algorithm, allowWeakSecret)
      return bind(field, material, key)
    }),
    ...publicKeys.map((given) => {
      const field = `Issuer ${issuer}: publicKey`
      const material = parseJwkText(given)
      const key = importPublicKey(field, material)
      const mismatch = readKeyMismatch(algorithm, key)
      if (mismatch !== null) throw new ConfigurationError(`${field}: ${algorithm} ${mismatch}`)
      return bind(field, material, key)
    }),
  ]
}

// 128 bits, if they are random. Shorter secrets can be brute-forced.
const MIN_WEAK_SECRET_BYTES = 16

// Between the two lengths, a random secret cannot be found while its tokens are still accepted.
function assertUsable(
  field: string,
  key: NodeKey,
  algorithm: LegacySettings['algorithm'],
  allowWeakSecret: boolean,
): void {
  const weakness = readSecretWeakness(key.export() as Uint8Array, algorithm)
  if (weakness === null) return
  const isHopeless = weakness.isKnown || weakness.length < MIN_WEAK_SECRET_BYTES
  if (allowWeakSecret && !isHopeless) return
  const advice = isHopeless
    ? 'Anybody can make tokens with it, so none can be accepted: leave the issuer out, and users log in again'
    : 'Set allowWeakSecret if it was made at random; otherwise leave the issuer out, and users log in again'
  throw new ConfigurationError(`${field} ${weakness.reason}. ${advice}`)
}

function createLegacyKeys(keys: readonly BoundKey[]): SourceKeys {
  const trusted = new Set(keys)
  return {
    // A token without a `kid` may be signed with any of them.
    find: ({ alg, kid }) =>
      keys.filter((key) => key.algorithm === alg && (kid === undefined || (kid !== '' && key.kid === kid))),
    isTrusted: (key) => trusted.has(key),
    idsOf: (kid) => listIds(keys, kid),
    loader: null,
  }
}

/**
 * Turns verified claims into a payload, or throws `TokenDecodeError`.
 *
 * Every payload has `iss`, `iat` and `exp`, whatever the token has: revocations rely on them, and `exp` ends the acceptance.
 */
function toLegacyPayload(
  claims: Readonly<Record<string, unknown>>,
  settings: LegacySettings,
  identityClaim: string,
  toId: () => string,
): TokenPayload {
  const { mapping, issuer, acceptUntil, maxAge } = settings
  // Check the token itself: every payload has some of these claims.
  const missing = readMissingClaim(claims, settings.requiredClaims)
  if (missing !== null) throw new TokenDecodeError(`Token claim "${missing}" is missing`)
  assertAccess(claims, mapping.access)
  const sub = readSubject(claims, mapping.sub ?? 'sub')
  const draft = copyOthers(claims)
  draft['sub'] = sub
  draft[identityClaim] = sub
  draft['iss'] = issuer
  draft['type'] = 'access'
  setClaim(draft, 'sid', claims[mapping.sid ?? 'sid'])
  setClaim(draft, 'jti', claims[mapping.jti ?? 'jti'] ?? toId())
  setClaim(draft, 'aud', claims[mapping.aud ?? 'aud'])
  setClaim(draft, 'scopes', readScopes(toFlat(claims, mapping.scopes), mapping.scopes))
  // flask-jwt-extended and AuthX use the same double submit as we do, so pages with the old cookies keep working.
  // AuthX writes an empty value if it is not used.
  setClaim(draft, 'csrf', claims['csrf'] === '' ? undefined : claims['csrf'])
  const mistyped = readMistypedClaim(draft)
  if (mistyped !== null) throw invalidClaim(mistyped)
  // RFC 7519 §4.1.3: reject a token with an audience, because none is configured for us.
  if (settings.audience.length === 0 && draft['aud'] !== undefined) throw new TokenAudienceError()
  const { exp = acceptUntil, iat } = draft as { readonly exp?: number; readonly iat?: number }
  if (iat === undefined && mapping.access === undefined && !settings.onlyAccessTokens) {
    throw new TokenDecodeError(
      'Token has no "iat", so it may be a refresh token: set mapping.access, or onlyAccessTokens if its keys sign nothing else',
    )
  }
  // Refresh tokens of the same key live longer and often look the same. One second more: some libraries round only one of
  // the two.
  if (draft['exp'] !== undefined && iat !== undefined && exp - iat > maxAge + 1) {
    throw new TokenDecodeError('Token lives longer than maxTokenAge: it is not an access token')
  }
  draft['iat'] = iat ?? exp - maxAge
  draft['exp'] = Math.min(exp, acceptUntil, (iat ?? exp) + maxAge)
  return toTokenPayload(draft, 'sub')
}

// Claims in which applications store the kind of a token.
const KIND_CLAIMS = ['type', 'typ', 'token_type', 'tokenType', 'token_use', 'use', 'purpose', 'kind']
const ACCESS = /^(?:access|bearer)$/i

function assertAccess(
  claims: Readonly<Record<string, unknown>>,
  declared: LegacySettings['mapping']['access'],
): void {
  if (declared !== undefined) {
    if (claims[declared.claim] === declared.value) return
    throw new TokenDecodeError('Token is not an access token')
  }
  const name = KIND_CLAIMS.find((claim) => claims[claim] !== undefined && !isAccess(claims[claim]))
  if (name === undefined) return
  throw new TokenDecodeError(
    `Token may not be an access token: set mapping.access to the value that the claim "${name}" has in access tokens`,
  )
}

function isAccess(kind: unknown): boolean {
  return typeof kind === 'string' && ACCESS.test(kind)
}

// User ids are often numbers, from an auto-increment column.
function readSubject(claims: Readonly<Record<string, unknown>>, name: string): string {
  const value = readMember(claims, name)
  if (isNonEmptyString(value)) return value
  if (Number.isSafeInteger(value)) return String(value)
  throw invalidClaim(name)
}

// Reads a claim by its whole name, or by a path of members.
function readMember(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const member of name.split('.')) {
    const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, member)
    if (!isObject) return undefined
    value = (value as Readonly<Record<string, unknown>>)[member]
  }
  return value
}

function toFlat(
  claims: Readonly<Record<string, unknown>>,
  names: string | readonly string[] = [],
): Readonly<Record<string, unknown>> {
  const flat = [names].flat().map((name) => [name, readMember(claims, name)] as const)
  return flat.length === 0 ? claims : Object.fromEntries(flat)
}
