import {
  assertClaims,
  assertUnbound,
  isNonEmptyString,
  isStringOrList,
  type StandardClaims,
} from '../tokens/payload.js'
import {
  ConfigurationError,
  isOutage,
  TokenAudienceError,
  TokenDecodeError,
  TokenIssuerError,
  TokenSignatureError,
} from '../errors.js'
import { hasNestedDuplicates } from '../encoding.js'
import { decodePayload, parseCompact, parseHeader, toShortType } from '../tokens/compact.js'
import type { JwsHeader } from '../tokens/jose.js'
import { findSourceSigner } from '../tokens/token-source.js'
import { createCanonicalizer, parseUnverifiedJwt } from '../tokens/token-sources.js'
import { assertOptions, type OptionNames } from '../options.js'
import { type RevocationKey, toRevocationKey } from '../revocation/revocation.js'
import { parseText } from '../revocation/revoker.js'
import type { Claimed, LookupOptions } from '../revocation/store.js'
import { type Duration, parseDuration } from '../time.js'
import type { Authenticator } from './authenticate.js'
import { observeCheck } from './observe-check.js'

/** What a JWT of an issuer that is no access token must be. */
export interface IssuedJwtOptions {
  /** The `typ` of its header, one of several, without `application/`. */
  readonly typ: string | readonly string[]
  /** Whether a JWT without a `typ`, or with `JWT`, passes as well. */
  readonly optionalTyp?: boolean | undefined
  /** Whom it must be for; one of several is enough. */
  readonly audience: string | readonly string[]
  /** The issuers that it may come from. Default: every issuer of the manager. */
  readonly issuer?: string | readonly string[] | undefined
  /** How old it may be; it must have an `iat` then. */
  readonly maxAge?: Duration | undefined
  /** How far the clock of the issuer may differ, if that is more than the `leeway` of the issuer. */
  readonly leeway?: Duration | undefined
  /** Resolve also while the store does not answer, with `isRevoked: null`. Default `false`: reject. */
  readonly allowUnknown?: boolean | undefined
  /** How many characters it may have. Default `JWT_MAX_TOKEN_LENGTH`. */
  readonly maxLength?: number | undefined
}

const OPTIONS: OptionNames<IssuedJwtOptions> = {
  typ: true,
  optionalTyp: true,
  audience: true,
  issuer: true,
  maxAge: true,
  leeway: true,
  allowUnknown: true,
  maxLength: true,
}

/** A JWT that an issuer has signed, and that is no access token. */
export interface IssuedJwt {
  readonly header: JwsHeader
  readonly claims: Readonly<Record<string, unknown>>
  readonly issuer: string
  /**
   * Whether its `jti` was revoked: `revoke.token({ jti, exp, iss })` remembers that it was used. `null` only with
   * `allowUnknown`: the store does not answer, and whether its key was revoked is not known either.
   */
  readonly isRevoked: boolean | null
  /** Its key and its `jti`, as the store knows them: for `deferUnless` of a revocation. */
  readonly revocationKeys: readonly RevocationKey[]
  /**
   * The same for another id of its issuer, such as one for what the JWT was used for. With `atLeast`, the `position` of a
   * revocation, the answer includes that one.
   */
  readonly isIdRevoked: (id: string, options?: LookupOptions) => Promise<boolean>
  /**
   * Remembers ids of its issuer as used until `expiresAt` (epoch seconds), if the first of them is not known yet. In one
   * step: of several calls with the same first id, in whichever processes, one is the first. Needs a store.
   */
  readonly claimIds: (ids: readonly string[], expiresAt: number) => Promise<Claimed>
}

/** Checks a JWT of an issuer: its signature, `typ`, `iss`, `aud` and dates. */
export function verifyIssuedJwt(
  authenticator: Authenticator,
  jwt: string,
  options: IssuedJwtOptions,
): Promise<IssuedJwt> {
  return observeCheck(authenticator.observers, {
    kind: 'issued_jwt',
    run: () => checkIssuedJwt(authenticator, jwt, options),
    readSubject: () => null,
  })
}

async function checkIssuedJwt(
  { settings, store, now: clock }: Authenticator,
  jwt: string,
  options: IssuedJwtOptions,
): Promise<IssuedJwt> {
  const {
    types,
    audience,
    accepted,
    maxAge,
    leeway,
    maxLength = settings.maxTokenLength,
  } = parseOptions(options)
  // What is too long or no JWT is not an unknown issuer.
  parseCompact(jwt, maxLength)
  const canonical = createCanonicalizer(settings.sources, maxLength)(jwt)
  const unverified = parseUnverifiedJwt(canonical, maxLength)
  const { jws, claims } = unverified
  const source = settings.sources.find(unverified)
  const { issuer } = source
  // We send ourselves nothing, and an application that was replaced has nothing to say about sessions.
  if (!source.sendsEvents || issuer === null || claims === null) throw new TokenIssuerError()
  if (accepted !== null && !accepted.includes(issuer)) throw new TokenIssuerError()
  const header = parseHeader(jws.header, types)
  if (header['typ'] === undefined && options.optionalTyp !== true) {
    throw new TokenDecodeError('Unexpected "typ" header')
  }
  // Its sender is not told to repeat it by any other answer than "unavailable".
  await source.keys.loader?.load(header, true)
  const signer = findSourceSigner(source, header, jws, { now: clock(), isLoaded: true })
  // Refuses what is not canonical.
  const text = decodePayload(jws)
  // RFC 7519 §4: other parsers may keep the first of the two.
  if (text === null || hasNestedDuplicates(text))
    throw new TokenDecodeError('Token has a claim or a member twice')
  assertTypes(claims)
  if (!isStringOrList(claims['aud'])) throw new TokenAudienceError()
  const rules = {
    ...source.rules,
    audience,
    requiredClaims: maxAge === null ? [] : ['iat'],
    maxAge,
    leeway: Math.max(source.rules.leeway, leeway),
  }
  assertClaims(claims as unknown as StandardClaims, rules, clock() / 1000)
  assertUnbound(claims)
  const toKeys = (kind: 'key' | 'token', ids: readonly string[]): readonly RevocationKey[] =>
    ids.map((id) => toRevocationKey(kind, id, issuer))
  const isListed = async (keys: readonly RevocationKey[], lookup?: LookupOptions): Promise<boolean> =>
    store !== null && keys.length > 0 && store.isListed(keys, lookup)
  const { jti } = claims
  const signers = toKeys('key', signer.ids)
  const ids = toKeys('token', isNonEmptyString(jti) ? [jti] : [])
  const isIdRevoked: IssuedJwt['isIdRevoked'] = async (id, lookup) =>
    isListed(toKeys('token', [parseText('id', id)]), lookup)
  // Together: what this process knows of one of them counts, also if the store does not answer about the other.
  const [revokedKey, usedId] = await Promise.allSettled([isListed(signers), isListed(ids)])
  if (revokedKey.status === 'fulfilled' && revokedKey.value) {
    throw new TokenSignatureError('Token was signed with a revoked key')
  }
  const failed = [revokedKey, usedId].find((answer) => answer.status === 'rejected')
  if (failed !== undefined && (options.allowUnknown !== true || !isOutage(failed.reason))) {
    throw failed.reason as Error
  }
  const isUsed = usedId.status === 'fulfilled' && usedId.value
  const isRevoked = failed === undefined || isUsed ? isUsed : null
  const revocationKeys = [...signers, ...ids]
  const claimIds: IssuedJwt['claimIds'] = async (ids, expiresAt) => {
    if (store === null) throw new ConfigurationError('claimIds() needs a store')
    const origin = { ...NO_CLIENT, actor: issuer, note: USED_ONCE }
    return store.revoker.claimIds(ids, expiresAt, origin, issuer)
  }
  return { header, claims, issuer, isRevoked, revocationKeys, isIdRevoked, claimIds }
}

/** The note of events about JWTs that were received. */
export const USED_ONCE = 'Received, used once'

const NO_CLIENT = { ip: null, userAgent: null }

function assertTypes(claims: Readonly<Record<string, unknown>>): void {
  for (const name of ['exp', 'nbf', 'iat']) {
    if (claims[name] !== undefined && !Number.isFinite(claims[name])) {
      throw new TokenDecodeError(`Token claim "${name}" is missing or has the wrong type`)
    }
  }
}

function parseOptions(options: IssuedJwtOptions): {
  readonly types: readonly string[]
  readonly audience: readonly string[]
  readonly accepted: readonly string[] | null
  readonly maxAge: number | null
  readonly leeway: number
  readonly maxLength: number | undefined
} {
  assertOptions('verifyIssuedJwt()', options, OPTIONS)
  const { typ, audience, issuer, maxAge, leeway = 0, maxLength } = options
  const { optionalTyp = false, allowUnknown = false } = options
  if (typeof optionalTyp !== 'boolean') throw new TypeError('optionalTyp must be true or false')
  if (typeof allowUnknown !== 'boolean') throw new TypeError('allowUnknown must be true or false')
  if (maxLength !== undefined && (!Number.isInteger(maxLength) || maxLength < 1)) {
    throw new TypeError('maxLength must be a positive whole number')
  }
  return {
    types: [...parseTexts('typ', typ).map(toShortType), ...(optionalTyp ? ['jwt'] : [])],
    // Without one, a JWT for another application would be accepted.
    audience: parseTexts('audience', audience),
    accepted: issuer === undefined ? null : parseTexts('issuer', issuer),
    maxAge: maxAge === undefined ? null : parseDuration(maxAge),
    leeway: parseDuration(leeway),
    maxLength,
  }
}

function parseTexts(name: string, value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > 0 && list.every(isNonEmptyString)) return list
  throw new TypeError(`${name} must be a non-empty string, or a list of at least one`)
}
