import type { Issuers } from '../issuers/issuer.js'
import type { RevokedIssuers, RevokedUser } from '../revocation/revoker.js'
import { OWN, type TokenPolicy } from './policy.js'

/**
 * Whose tokens a revocation concerns: those of the given issuer, or else of the `iss` of a payload, or else of everybody.
 *
 * An id without an issuer may be that of any token. To revoke too much is a nuisance; to revoke nothing would be silent.
 */
export function toRevokedIssuers(
  issuers: Issuers,
  given: string | undefined,
  { iss, type }: { readonly iss?: string; readonly type?: unknown },
): RevokedIssuers {
  if (given !== undefined) return [parseIssuer(issuers, given)]
  if (iss !== undefined) return [issuers.has(iss) ? iss : null]
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

/** Throws `TypeError` for a policy that names an issuer which the manager does not have: it would refuse every token. */
export function assertKnownIssuers(issuers: Issuers, { issuer = [] }: Pick<TokenPolicy, 'issuer'>): void {
  for (const name of [issuer].flat()) parseIssuer(issuers, name)
}

/** The issuer, `null` for our own tokens, or `TypeError` for one that this manager does not have. */
export function parseIssuer(issuers: Issuers, given: unknown): string | null {
  if (given === OWN) return null
  if (typeof given === 'string' && issuers.has(given)) return given
  throw new TypeError("issuer must be 'own' or one of the issuers of this manager")
}
