import type { Issuers } from '../issuers/issuer.js'
import type { RevokedIssuers } from '../revocation/revoker.js'
import { OWN } from './policy.js'

/**
 * Whose tokens a revocation concerns: those of the given issuer, or else of the `iss` of a payload, or else of everybody.
 *
 * An id without an issuer may be that of any token. To revoke too much is a nuisance; to revoke nothing would be silent.
 */
export function toRevokedIssuers(
  issuers: Issuers,
  given: string | undefined,
  iss: string | undefined,
): RevokedIssuers {
  if (given !== undefined) return [parseIssuer(issuers, given)]
  if (iss !== undefined) return [issuers.has(iss) ? iss : null]
  return [null, ...issuers.keys()]
}

/** The issuer, `null` for our own tokens, or `TypeError` for one that this manager does not have. */
export function parseIssuer(issuers: Issuers, given: unknown): string | null {
  if (given === OWN) return null
  if (typeof given === 'string' && issuers.has(given)) return given
  throw new TypeError("issuer must be 'own' or one of the issuers of this manager")
}
