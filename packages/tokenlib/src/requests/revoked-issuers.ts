import type { BoundKey } from '../tokens/algorithms.js'
import type { TokenPayload } from '../tokens/payload.js'
import { type Issuers, OWN, type TokenSources } from '../tokens/token-sources.js'
import type { RevokedIssuers, RevokedUser } from '../revocation/revoker.js'
import type { ParsedPolicy } from './policy.js'

/**
 * Whose tokens a revocation concerns: those of the given issuer, or else of the `iss` of a payload, or else of everybody.
 *
 * An id without an issuer may be that of any token. To revoke too much is a nuisance; to revoke nothing would be silent.
 */
export function toRevokedIssuers(
  sources: TokenSources,
  given: string | undefined,
  { iss, type }: { readonly iss?: string; readonly type?: unknown },
): RevokedIssuers {
  const { issuers } = sources
  if (given !== undefined) return [parseIssuer(issuers, given)]
  if (iss !== undefined) {
    if (issuers.has(iss)) return [iss]
    if (isOwnIssuer(sources, iss)) return [null]
    throw new TypeError(
      'The iss of the payload is neither an issuer of this manager nor in JWT_DECODE_ISSUER',
    )
  }
  // The payload of a token, which has a type: those of others have an `iss` as well.
  if (type !== undefined) return [null]
  return [null, ...issuers.keys()]
}

/**
 * Whom the id of a user stands for: the user of the given issuer, with or without its prefix; or else whoever has this `sub`
 * in a payload.
 */
export function toRevokedUsers(
  issuers: Issuers,
  given: string | undefined,
  uid: string,
): readonly RevokedUser[] {
  if (typeof uid !== 'string') return []
  const issuer = given === undefined ? undefined : parseIssuer(issuers, given)
  const users: RevokedUser[] = issuer === undefined || issuer === null ? [{ issuer: null, id: uid }] : []
  for (const { issuer: name, subjectPrefix } of issuers.values()) {
    if (issuer !== undefined && issuer !== name) continue
    if (uid.startsWith(subjectPrefix)) users.push({ issuer: name, id: uid.slice(subjectPrefix.length) })
    if (issuer === name && subjectPrefix !== '') users.push({ issuer: name, id: uid })
  }
  // An empty name would stand for every user.
  return users.filter(({ id }) => id !== '')
}

// Without JWT_DECODE_ISSUER, a token of ours may have any.
function isOwnIssuer({ own }: TokenSources, iss: string): boolean {
  return own.rules.issuers.length === 0 || own.names.includes(iss)
}

/** The claims of a genuine token, or `null` where they are ours with an `iss` that is not accepted: these have no rights. */
export function readKnown(sources: TokenSources, claims: TokenPayload | null): TokenPayload | null {
  const iss = claims?.iss
  return iss === undefined || sources.issuers.has(iss) || isOwnIssuer(sources, iss) ? claims : null
}

/** Whose key is revoked: not that of every issuer, since their keys may have the same `kid`, and this is for good. */
export function toKeyIssuers(
  issuers: Issuers,
  ownKeys: readonly BoundKey[],
  given: string | undefined,
): RevokedIssuers {
  if (given !== undefined) return [parseIssuer(issuers, given)]
  if (ownKeys.length > 0) return [null]
  throw new TypeError('This manager has no keys of its own: pass the issuer of the key as { issuer }')
}

/** Throws `TypeError` for a policy that names an issuer which the manager does not have: it would refuse every token. */
export function assertKnownIssuers(issuers: Issuers, { issuer = [] }: Pick<ParsedPolicy, 'issuer'>): void {
  for (const name of issuer) parseIssuer(issuers, name)
}

/** The issuer, `null` for our own tokens, or `TypeError` for one that this manager does not have. */
export function parseIssuer(issuers: Issuers, given: unknown): string | null {
  if (given === OWN) return null
  if (typeof given === 'string' && issuers.has(given)) return given
  throw new TypeError("issuer must be 'own' or one of the issuers of this manager")
}
