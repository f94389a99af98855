import {
  RefreshSupersededError,
  RefreshTokenReusedError,
  RevokedTokenError,
  TokenDecodeError,
  type TokenError,
} from '../errors.js'
import type { TokenPayload } from '../tokens/payload.js'
import type { CheckedToken } from './blocklist.js'
import { toStoredId } from './revocation.js'
import { type Presentation, type PresentedToken, ROOT } from './rotation.js'

/** Whether a token has no stored session: it was never rotated, so it is not used up. */
export function isWithoutSession({ sid, gen }: TokenPayload): boolean {
  return sid === undefined || gen === undefined
}

/** The place of a verified refresh token in its session, or `TokenDecodeError`. */
export function parsePresented({ jti, sid, gen, par, sat }: TokenPayload): {
  readonly sid: string
  readonly token: PresentedToken
} {
  if (sid === undefined || gen === undefined) {
    throw new TokenDecodeError(
      'Refresh token belongs to no session: only tokens of sessions.open() can be refreshed',
    )
  }
  if (jti === undefined || par === undefined || sat === undefined) {
    throw new TokenDecodeError('Refresh token does not name its parent, so the user must log in again')
  }
  const parent = par === ROOT ? ROOT : toStoredId(par)
  return { sid, token: { id: toStoredId(jti), parent, generation: gen, issuedAt: sat } }
}

/** The error for a refresh token that the store refuses. */
export function toRefusal(
  outcome: Exclude<Presentation['outcome'], 'current'>,
  { header, payload }: CheckedToken,
): TokenError {
  if (outcome === 'superseded') return new RefreshSupersededError()
  return outcome === 'reused'
    ? new RefreshTokenReusedError(payload, header)
    : new RevokedTokenError(payload, header)
}
