import { isNonEmptyString } from '../tokens/payload.js'
import { readBase64urlText } from '../encoding.js'
import { ConfigurationError, TokenDecodeError } from '../errors.js'
import { readJsonObject } from '../json.js'
import { type CompactJws, parseCompact } from '../tokens/compact.js'
import type { BoundKey } from '../tokens/algorithms.js'
import { createIssuer, type Issuer, type IssuerContext } from './issuer.js'
import { assertPrefixes, type IssuerOptions } from './issuer-options.js'
import { notLookedFor } from './jwk-set.js'
import { assertSeparateKeys, createLegacyIssuer, type LegacyIssuer, shareKey } from './legacy-issuer.js'
import type { LegacyIssuerOptions } from './legacy-options.js'

/** The options of any issuer. */
export type AnyIssuerOptions = IssuerOptions | LegacyIssuerOptions

/** The issuers of a manager by the text of `iss`. */
export type Issuers = ReadonlyMap<string, Issuer>

/** What a manager is configured with for its own tokens. */
export interface OwnTokens {
  /** The keys that verify them. */
  readonly keys: readonly BoundKey[]
  /** The texts of `iss` that they may have. */
  readonly issuers: readonly string[]
}

/** The issuers of a manager, or `ConfigurationError`; `now` is in epoch milliseconds. */
export function createIssuers(
  list: readonly AnyIssuerOptions[],
  context: Omit<IssuerContext, 'prefixes'>,
  own: OwnTokens,
  now: () => number,
): Issuers {
  if (!Array.isArray(list)) throw new ConfigurationError('issuers must be a list')
  const issuers = new Map<string, Issuer>()
  const legacy: LegacyIssuer[] = []
  const others: IssuerOptions[] = []
  const prefixes = (list as readonly (Partial<IssuerOptions> | null)[])
    .map((options) => options?.subjectPrefix)
    .filter(isNonEmptyString)
  for (const options of list as readonly AnyIssuerOptions[]) {
    let issuer: Issuer
    if (isLegacy(options)) {
      const added = createLegacyIssuer(options, { ...context, prefixes }, now())
      assertSeparateKeys(added, own.keys)
      assertSeparateIssuers(added, legacy)
      legacy.push(added)
      issuer = added
    } else {
      issuer = createIssuer(options, { ...context, prefixes })
      others.push(options)
    }
    if (issuers.has(issuer.issuer)) throw new ConfigurationError(`Issuer ${issuer.issuer} is listed twice`)
    if (own.issuers.includes(issuer.issuer)) {
      throw new ConfigurationError(`Issuer ${issuer.issuer} is also the issuer of this manager's own tokens`)
    }
    issuers.set(issuer.issuer, issuer)
  }
  // The users of an application that this one replaces are its own.
  assertPrefixes(others, own.keys.length > 0 || legacy.length > 0)
  return issuers
}

function isLegacy(options: AnyIssuerOptions): options is LegacyIssuerOptions {
  return (options as Partial<AnyIssuerOptions> | null)?.profile === 'legacy'
}

function assertSeparateIssuers(added: LegacyIssuer, others: readonly LegacyIssuer[]): void {
  const { issuer, isWithoutIss } = added
  if (isWithoutIss && others.some((other) => other.isWithoutIss)) {
    throw new ConfigurationError(
      `Issuer ${issuer}: another issuer has withoutIss already. Several keys can be given to one issuer`,
    )
  }
  const shared = others.find((other) => shareKey(added, other))
  if (shared === undefined) return
  throw new ConfigurationError(`Issuer ${issuer} has a key of issuer ${shared.issuer}`)
}

/** Throws `ConfigurationError` for keys of our own tokens that are those of an application that this one replaces. */
export function assertOwnKeys(issuers: Issuers, keys: readonly BoundKey[]): void {
  for (const issuer of issuers.values()) {
    if (issuer.profile === 'legacy') assertSeparateKeys(issuer as LegacyIssuer, keys)
  }
}

/**
 * Throws `TokenDecodeError` for the user of one of our own tokens who has the prefix of an issuer: the token was made before
 * the issuer was configured, or elsewhere with the same key.
 */
export function assertOwnSubject(issuers: Issuers, sub: string): void {
  for (const { subjectPrefix } of issuers.values()) {
    if (subjectPrefix === '' || !sub.startsWith(subjectPrefix)) continue
    throw new TokenDecodeError('Token subject begins with the prefix of an issuer')
  }
}

/** A JWT of which nothing is verified. */
export interface UnverifiedJwt {
  readonly jws: CompactJws
  readonly claims: Readonly<Record<string, unknown>>
}

/** A JWT that names one of the issuers; nothing about it is verified. */
export interface ForeignJwt extends UnverifiedJwt {
  readonly issuer: Issuer
}

/** A JWT with claims, or `null` for any other text. */
export function readUnverifiedJwt(token: string, maxLength: number): UnverifiedJwt | null {
  let jws: CompactJws
  try {
    jws = parseCompact(token, maxLength)
  } catch {
    return null
  }
  const text = readBase64urlText(jws.payload)
  const claims = text === null ? null : readJsonObject(text)
  return claims === null ? null : { jws, claims }
}

/**
 * A JWT with the issuer whose keys it is verified with, or `null` if that is none of them.
 *
 * A JWT without `iss` belongs to the issuer that has none if one of its keys fits the header. Our own tokens name their key,
 * and no key of ours has the same name.
 */
export function readForeignJwt(issuers: Issuers, jwt: UnverifiedJwt | null): ForeignJwt | null {
  if (jwt === null) return null
  const { iss } = jwt.claims
  const issuer = iss === undefined ? findWithoutIss(issuers, jwt.jws) : issuers.get(iss as string)
  if (issuer === undefined || issuer.isWithoutIss !== (iss === undefined)) return null
  return { ...jwt, issuer }
}

// A browser sends one token, or two. Others in the same request, such as cookies that somebody else has set, are guesses.
const MAX_LOOKUPS = 4

/**
 * Loads the key of a JWT for a caller that may not retry, or rejects with `KeysUnavailableError`. `lookups` has the
 * headers that the same request has looked up: after a few of them, no further key is looked up for it.
 */
export async function loadCertainKeys(
  { issuer, jws }: ForeignJwt,
  lookups: Set<string> = new Set(),
): Promise<void> {
  const header = issuer.readHeader(jws)
  if ((issuer.keys.find(header, true) ?? []).length > 0) return
  lookups.add(jws.header)
  if (lookups.size > MAX_LOOKUPS) throw notLookedFor(issuer.issuer)
  await issuer.keys.load(header, true)
}

function findWithoutIss(issuers: Issuers, jws: CompactJws): Issuer | undefined {
  for (const issuer of issuers.values()) {
    if (issuer.isWithoutIss && hasKeyFor(issuer, jws)) return issuer
  }
  return undefined
}

function hasKeyFor(issuer: Issuer, jws: CompactJws): boolean {
  const header = readBase64urlText(jws.header)
  const { alg, kid } = (header === null ? null : readJsonObject(header)) ?? {}
  if (typeof alg !== 'string' || (kid !== undefined && typeof kid !== 'string')) return false
  return (issuer.keys.find(kid === undefined ? { alg } : { alg, kid }) ?? []).length > 0
}
