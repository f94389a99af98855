import { readBase64urlText, readJsonObject } from '../encoding.js'
import { ConfigurationError, TokenDecodeError, TokenIssuerError } from '../errors.js'
import { type BoundKey, readHigherSpelling, readLowerSpelling } from './algorithms.js'
import { type CompactJws, parseCompact } from './compact.js'
import type { NodeKey } from './jose.js'
import { isNonEmptyString } from './payload.js'
import type { IssuerSource, OpaqueSource, SourceContext, TokenSource, TrustedIssuer } from './token-source.js'

/** The name of the manager's own tokens in policies and revocations. */
export const OWN = 'own'

/** All sources whose tokens a manager accepts. */
export interface TokenSources {
  readonly own: TokenSource
  /** All other sources, by name. */
  readonly issuers: Issuers
  /** The source that a JWT claims to come from, or `TokenIssuerError`. Verifies nothing. */
  find(jwt: UnverifiedJwt): TokenSource
  /**
   * The source whose issuer must be asked about a token: an opaque token, or a JWT that names this issuer. `null` for every
   * other token, and for text that is not a token. Never throws.
   */
  findOpaque(token: string, maxLength: number): OpaqueSource | null
  /** Throws `TokenDecodeError` if a user of one source has the prefix of another. */
  assertSubject(source: TokenSource, sub: string): void
  /** Throws `ConfigurationError` if our own keys include a key that an issuer must not share. */
  assertOwnKeys(keys: readonly BoundKey[]): void
}

/** The issuers of a manager by their names. */
export type Issuers = ReadonlyMap<string, IssuerSource>

/** The issuer, `null` for our own tokens, or `TypeError` for an issuer that the manager does not have. */
export function parseIssuer(issuers: Issuers, given: unknown): string | null {
  if (given === OWN) return null
  if (typeof given === 'string' && issuers.has(given)) return given
  throw new TypeError("issuer must be 'own' or one of the issuers of this manager")
}

/** An unverified JWT. */
export interface UnverifiedJwt {
  readonly jws: CompactJws
  /** `null` if the payload is not a JSON object, or was not needed. */
  readonly claims: Readonly<Record<string, unknown>> | null
}

/** The sources of a manager, or `ConfigurationError`; `ownKeys` verify its own tokens. */
export function connectSources(
  own: TokenSource,
  ownKeys: readonly BoundKey[],
  list: readonly TrustedIssuer[],
  context: SourceContext,
): TokenSources {
  const issuers = connectIssuers(own, list, context)
  const others = [...issuers.values()]
  assertPrefixes(list, ownKeys.length > 0)
  assertSeparate(others)
  const assertOwnKeys: TokenSources['assertOwnKeys'] = (keys) => {
    for (const source of others) assertSeparateKeys(source, keys)
  }
  assertOwnKeys(ownKeys)
  const opaque = parseOpaque(others)
  const nameless = others.find(({ isWithoutIss }) => isWithoutIss)
  const prefixes = others.map(({ subjectPrefix }) => subjectPrefix).filter(isNonEmptyString)

  return {
    own,
    issuers,
    find({ jws, claims }) {
      const iss = claims?.['iss']
      // Our own tokens name their key, and none of our keys has the same name.
      if (iss === undefined) return nameless !== undefined && hasKeyFor(nameless, jws) ? nameless : own
      const source = issuers.get(iss as string)
      // This is the name of an issuer whose tokens have no `iss`.
      if (source?.isWithoutIss === true) throw new TokenIssuerError()
      return source ?? own
    },
    findOpaque(token, maxLength) {
      if (opaque === null || typeof token !== 'string' || token.length > maxLength) return null
      if (!B64TOKEN.test(token)) return null
      // Our own tokens are not sent to anybody, also where they are cut off or misspelt.
      if (!looksLikeJwt(token)) return HIDDEN_JWT.test(token) ? null : opaque
      try {
        const { iss } = parseUnverifiedJwt(token, maxLength).claims ?? {}
        return iss === opaque.issuer ? opaque : null
      } catch {
        return null
      }
    },
    assertSubject({ subjectPrefix }, sub) {
      for (const prefix of prefixes) {
        if (prefix === subjectPrefix || !sub.startsWith(prefix)) continue
        // Created before the issuer was configured, or by another holder of the key.
        throw new TokenDecodeError('Token subject begins with the prefix of another issuer')
      }
    },
    assertOwnKeys,
  }
}

// With a character too many or too few in front, it is easily repaired: two segments of base64url that begin as JSON.
const HIDDEN_JWT = /eyJ[\w-]*\.eyJ/

// RFC 6750 §2.1. Nothing else is sent: it could not be a bearer token.
const B64TOKEN = /^[A-Za-z0-9._~+/-]+=*$/

// Decoded laxly: also what a strict parser refuses may be one of our tokens. What is random does not decode to UTF-8.
function looksLikeJwt(token: string): boolean {
  const dot = token.indexOf('.')
  const start = Buffer.from(dot === -1 ? token : token.slice(0, dot), 'base64url').toString('utf8')
  return start.trimStart().startsWith('{') && !start.includes('\ufffd')
}

function parseOpaque(sources: readonly IssuerSource[]): OpaqueSource | null {
  const [first = null, second] = sources.filter(
    (source): source is OpaqueSource => source.opaque !== undefined,
  )
  if (second === undefined) return first
  // Each of them would get the tokens of the other.
  throw new ConfigurationError(
    `Issuer ${second.issuer}: another issuer already has opaque tokens, which do not say whose they are. Use a manager for each`,
  )
}

function connectIssuers(own: TokenSource, list: readonly TrustedIssuer[], context: SourceContext): Issuers {
  const issuers = new Map<string, IssuerSource>()
  for (const [at, trusted] of list.entries()) {
    if (typeof trusted?.connect !== 'function' || !isNonEmptyString(trusted.issuer)) {
      throw new ConfigurationError(
        `issuers[${at}] must come from a function of @tokenlib/issuers: trustIssuer({ … }), trustLegacyIssuer({ … }) ` +
          'or a provider such as keycloak({ … })',
      )
    }
    const { issuer, subjectPrefix = '' } = trusted
    if (issuer === OWN) throw new ConfigurationError(`Issuer ${OWN}: this name is reserved for own tokens`)
    if (issuers.has(issuer)) throw new ConfigurationError(`Issuer ${issuer} is listed twice`)
    if (own.names.includes(issuer)) {
      throw new ConfigurationError(`Issuer ${issuer} is also the issuer of this manager's own tokens`)
    }
    const source = trusted.connect(context)
    // The checks of names and prefixes must apply to the source as well.
    if (source.issuer !== issuer || source.subjectPrefix !== subjectPrefix) {
      throw new ConfigurationError(`Issuer ${issuer}: connect() must return its issuer and its subjectPrefix`)
    }
    issuers.set(issuer, source)
  }
  return issuers
}

// A user of one source must not be mistaken for a user of another source with the same `sub`.
function assertPrefixes(list: readonly TrustedIssuer[], hasOwnTokens: boolean): void {
  for (const { issuer, subjectPrefix: prefix = '' } of list) {
    const shorter = list.find((other) => isBeginning(other.subjectPrefix ?? '', prefix))
    if (shorter === undefined) continue
    throw new ConfigurationError(
      `The subjectPrefix of issuer ${issuer} begins with the prefix of issuer ${shorter.issuer}: two users may get the same sub`,
    )
  }
  if (list.length + (hasOwnTokens ? 1 : 0) < 2) return
  const undecided = list.find(({ subjectPrefix }) => subjectPrefix === undefined)
  if (undecided === undefined) return
  throw new ConfigurationError(
    `Issuer ${undecided.issuer} needs a subjectPrefix, because this manager accepts tokens of several issuers: two users ` +
      "may have the same sub. Use a prefix such as 'auth0:', or '' where every issuer means the same users",
  )
}

function isBeginning(prefix: string, other: string): boolean {
  return prefix !== '' && prefix !== other && other.startsWith(prefix)
}

function assertSeparate(sources: readonly IssuerSource[]): void {
  for (const [at, source] of sources.entries()) {
    const before = sources.slice(0, at)
    if (source.isWithoutIss && before.some(({ isWithoutIss }) => isWithoutIss)) {
      throw new ConfigurationError(
        `Issuer ${source.issuer}: another issuer already has withoutIss. Pass several keys to one issuer instead`,
      )
    }
    const shared = before.find((other) =>
      source.exclusiveKeys.some(({ key }) => other.exclusiveKeys.some((bound) => isSameKey(bound.key, key))),
    )
    if (shared !== undefined) {
      throw new ConfigurationError(`Issuer ${source.issuer} has a key of issuer ${shared.issuer}`)
    }
  }
}

// With a shared key, old and new tokens could pass for each other, in this application or in the previous one.
function assertSeparateKeys({ issuer, exclusiveKeys }: IssuerSource, own: readonly BoundKey[]): void {
  for (const { key, kid } of exclusiveKeys) {
    if (own.some((other) => isSameKey(other.key, key))) {
      throw new ConfigurationError(
        `Issuer ${issuer}: its key is also a key of this manager's own tokens. Use a new key for new tokens: the old ` +
          'application would accept new refresh tokens as access tokens',
      )
    }
    if (own.some((other) => other.kid === kid)) {
      throw new ConfigurationError(
        `Issuer ${issuer}: its key has the same "kid" as a key of this manager's own tokens`,
      )
    }
  }
}

function isSameKey(one: NodeKey, other: NodeKey): boolean {
  return one.type === other.type && one.equals(other)
}

function hasKeyFor({ keys }: TokenSource, jws: CompactJws): boolean {
  const { alg, kid } = readUnverified(jws.header) ?? {}
  if (typeof alg !== 'string' || (kid !== undefined && typeof kid !== 'string')) return false
  return (keys.find(kid === undefined ? { alg } : { alg, kid }) ?? []).length > 0
}

function readUnverified(encoded: string): Record<string, unknown> | null {
  const text = readBase64urlText(encoded)
  return text === null ? null : readJsonObject(text)
}

/** Parses a JWT of at most `maxLength` characters and its claims, or throws `TokenDecodeError`. */
export function parseUnverifiedJwt(token: unknown, maxLength: number): UnverifiedJwt {
  const jws = parseCompact(token, maxLength)
  return { jws, claims: readUnverified(jws.payload) }
}

/**
 * Returns a function that normalises a token: of its two valid forms, it returns the one that is used here.
 *
 * For every ECDSA signature (r, s), the signature (r, n - s) is valid too, and other issuers send either. Everything that is
 * keyed by the text of a token uses the form with the lower s. Otherwise a revoked token could come back in its other
 * form.
 */
export function createCanonicalizer(sources: TokenSources, maxLength: number): (token: string) => string {
  if (sources.issuers.size === 0) return (token) => token
  let lastHeader = ''
  let lastAlgorithm: unknown = null

  const allowsHighS = (token: string): boolean => {
    try {
      return sources.find(parseUnverifiedJwt(token, maxLength)).allowsHighS
    } catch {
      return false
    }
  }

  return (token) => {
    if (typeof token !== 'string' || token.length > maxLength) return token
    const header = token.slice(0, Math.max(0, token.indexOf('.')))
    if (header !== lastHeader) {
      lastAlgorithm = readUnverified(header)?.['alg'] ?? null
      lastHeader = header
    }
    if (typeof lastAlgorithm !== 'string' || !lastAlgorithm.startsWith('ES')) return token
    const end = token.lastIndexOf('.') + 1
    const lower = readLowerSpelling(lastAlgorithm, token.slice(end))
    return lower === null || !allowsHighS(token) ? token : token.slice(0, end) + lower
  }
}

/** The other form of a normalised token, which its sender may have used; `null` if it has no other. */
export function readOtherForm(token: string): string | null {
  const alg = readUnverified(token.slice(0, Math.max(0, token.indexOf('.'))))?.['alg']
  const end = token.lastIndexOf('.') + 1
  const higher = typeof alg === 'string' ? readHigherSpelling(alg, token.slice(end)) : null
  return higher === null ? null : token.slice(0, end) + higher
}
