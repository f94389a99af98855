import { hasNestedDuplicates } from '../encoding.js'
import {
  ConfigurationError,
  isOutage,
  ProofRequiredError,
  TokenAudienceError,
  TokenDecodeError,
  TokenIssuerError,
  TokenSignatureError,
} from '../errors.js'
import {
  count,
  duration,
  flag,
  oneOrMore,
  type OptionKinds,
  parseOptions,
  required,
  text,
} from '../options.js'
import { parseText, type RevocationKey, toRevocationKey } from '../revocation/revocation.js'
import type { Claimed, LookupOptions } from '../revocation/store.js'
import type { AnswerOptions } from '../revocation/store-client.js'
import { type Duration, parseDuration } from '../time.js'
import { decodePayload, parseCompact, parseHeader, toShortType } from '../tokens/compact.js'
import type { JwsHeader } from '../tokens/jose.js'
import { assertClaims, isNonEmptyString, isStringOrList, type StandardClaims } from '../tokens/payload.js'
import { findSourceSigner } from '../tokens/token-source.js'
import { createCanonicalizer, parseUnverifiedJwt } from '../tokens/token-sources.js'
import type { Authenticator } from './authenticate.js'
import { observeCheck } from './observe-check.js'

/** What is required of an issuer's JWT that is not an access token. */
export interface IssuedJwtOptions {
  /** The `typ` of its header, one of several, without `application/`. */
  readonly typ: string | readonly string[]
  /** Whether a JWT without a `typ`, or with `JWT`, passes as well. */
  readonly optionalTyp?: boolean | undefined
  /** The required audience; one of several is enough. */
  readonly audience: string | readonly string[]
  /** The issuers that it may come from. Default: every issuer of the manager. */
  readonly issuer?: string | readonly string[] | undefined
  /** How old it may be; it must have an `iat` then. */
  readonly maxAge?: Duration | undefined
  /** How far the issuer's clock may differ, if that is more than the `leeway` of the issuer. */
  readonly leeway?: Duration | undefined
  /** Resolve also while the store does not answer, with `isRevoked: null`. Default `false`: reject. */
  readonly allowUnknown?: boolean | undefined
  /** How many characters it may have. Default `JWT_MAX_TOKEN_LENGTH`. */
  readonly maxLength?: number | undefined
}

const OPTIONS: OptionKinds<IssuedJwtOptions> = {
  typ: required(oneOrMore(text)),
  optionalTyp: flag,
  // Without one, a JWT for another application would be accepted.
  audience: required(oneOrMore(text)),
  issuer: oneOrMore(text),
  maxAge: duration(),
  leeway: duration(),
  allowUnknown: flag,
  maxLength: count(1),
}

/** A verified JWT of an issuer that is not an access token. */
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
  /** Whether another id of its issuer was revoked. With the `position` of a revocation as `atLeast`, includes that one. */
  readonly isIdRevoked: (id: string, options?: LookupOptions) => Promise<boolean>
  /**
   * Remembers ids of its issuer as used until `expiresAt` (epoch seconds), if the first of them is not known yet. In one
   * step: of several calls with the same first id, in whichever processes, one is the first. Needs a store.
   */
  readonly claimIds: (ids: readonly string[], expiresAt: number) => Promise<Claimed>
}

/** The note of events about JWTs that were received. */
export const USED_ONCE = 'Received, used once'

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
  { settings, store, now, emit }: Authenticator,
  jwt: string,
  given: IssuedJwtOptions,
): Promise<IssuedJwt> {
  const options = parseOptions('verifyIssuedJwt()', given, OPTIONS)
  const { maxAge, leeway = 0, maxLength = settings.maxTokenLength, optionalTyp, allowUnknown } = options
  // Checked first, so that a text that is too long, or not a JWT, is not reported as an unknown issuer.
  parseCompact(jwt, maxLength)
  const unverified = parseUnverifiedJwt(createCanonicalizer(settings.sources, maxLength)(jwt), maxLength)
  const { jws, claims } = unverified
  const source = settings.sources.find(unverified)
  const { issuer } = source
  // Our own manager sends none, and a legacy application has no authority over sessions.
  if (!source.sendsEvents || issuer === null || claims === null) throw new TokenIssuerError()
  if (options.issuer !== undefined && ![options.issuer].flat().includes(issuer)) throw new TokenIssuerError()
  const types = [options.typ].flat().map(toShortType)
  const header = parseHeader(jws.header, optionalTyp === true ? [...types, 'jwt'] : types)
  if (header['typ'] === undefined && optionalTyp !== true) {
    throw new TokenDecodeError('Unexpected "typ" header')
  }
  // The sender repeats the JWT only after "unavailable", so be certain before rejecting it for a missing key.
  await source.keys.loader?.load(header, true)
  const signer = findSourceSigner(source, header, jws, { now: now(), isLoaded: true })
  // Rejects non-canonical encodings.
  const decoded = decodePayload(jws)
  // RFC 7519 §4: other parsers may keep the first of the two.
  if (decoded === null || hasNestedDuplicates(decoded))
    throw new TokenDecodeError('Token has a claim or a member twice')
  for (const name of ['exp', 'nbf', 'iat']) {
    if (claims[name] !== undefined && !Number.isFinite(claims[name])) {
      throw new TokenDecodeError(`Token claim "${name}" is missing or has the wrong type`)
    }
  }
  if (!isStringOrList(claims['aud'])) throw new TokenAudienceError()
  const rules = {
    ...source.rules,
    audience: [options.audience].flat(),
    requiredClaims: [],
    maxAge: maxAge === undefined ? null : parseDuration(maxAge),
    leeway: Math.max(source.rules.leeway, parseDuration(leeway)),
  }
  assertClaims(claims as unknown as StandardClaims, rules, now() / 1000)
  // RFC 7800 §3.1: the sender must prove possession of a key, which cannot be checked here.
  if (claims['cnf'] !== undefined) throw new ProofRequiredError()

  const toIdKey = (id: string): RevocationKey => toRevocationKey('token', parseText('id', id), issuer)
  const isListed = async (keys: readonly RevocationKey[], lookup?: AnswerOptions): Promise<boolean> =>
    store !== null && keys.length > 0 && store.isListed(keys, lookup)
  const { jti } = claims
  const signers = signer.ids.map((id) => toRevocationKey('key', id, issuer))
  const ids = isNonEmptyString(jti) ? [toIdKey(jti)] : []
  // Another process may have received the JWT a moment ago, which only the store knows for certain.
  const isUsedId = async (): Promise<boolean> =>
    (await isListed(ids)) || (store?.readReplica() != null && isListed(ids, { fromStore: true }))
  // Waits for both: a known revocation of one counts, even if the store cannot answer for the other.
  const [revokedKey, usedId] = await Promise.allSettled([isListed(signers), isUsedId()])
  if (revokedKey.status === 'fulfilled' && revokedKey.value) {
    throw new TokenSignatureError('Token was signed with a revoked key')
  }
  const failed = [revokedKey, usedId].find((answer) => answer.status === 'rejected')
  if (failed !== undefined && (allowUnknown !== true || !isOutage(failed.reason))) {
    throw failed.reason as Error
  }
  const isUsed = usedId.status === 'fulfilled' && usedId.value
  return {
    header,
    claims,
    issuer,
    isRevoked: failed === undefined || isUsed ? isUsed : null,
    revocationKeys: [...signers, ...ids],
    isIdRevoked: async (id, lookup) => isListed([toIdKey(id)], lookup),
    async claimIds(claimed, expiresAt) {
      if (store === null) throw new ConfigurationError('claimIds() needs a store')
      const keys = claimed.map((id) => ({ ...toIdKey(id), expiresAt: expiresAt * 1000 }))
      const answer = await store.revoker.claim(keys)
      const origin = { actor: issuer, note: USED_ONCE, ip: null, userAgent: null }
      const facts = { kind: 'token', reason: 'requested', sub: null, issuer, ...origin } as const
      if (answer.isFirst) for (const id of claimed) emit('revoked', () => ({ id, ...facts }))
      return answer
    },
  }
}
