import { isTokenError } from '../errors.js'
import type { TokenPayload } from '../claims/payload.js'
import type { TokenEmitter } from '../events.js'

/** Tells those who listen that a token was refused; a fault of the program is nobody's refusal. */
export function reportRejection(
  { emit }: Pick<TokenEmitter, 'emit'>,
  error: unknown,
  known?: TokenPayload,
): void {
  if (!isTokenError(error)) return
  const { sub = null, jti = null, sid = null } = known ?? {}
  const { code, message: reason } = error
  emit('rejected', () => ({ code, reason, sub, jti, sid }))
}
