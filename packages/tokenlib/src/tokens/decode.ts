import { EMPTY_PROTOTYPE, type StandardClaims, toPayload } from './payload.js'
import { TokenDecodeError } from '../errors.js'
import { readJsonObject } from '../json.js'
import {
  assertCanonical,
  decodeHeader,
  decodePayload,
  DEFAULT_MAX_TOKEN_LENGTH,
  parseCompact,
} from './compact.js'

/** What anybody may have written into a token. Nothing of it is verified. */
export interface DecodedToken {
  readonly header: Readonly<Record<string, unknown>>
  readonly payload: UnverifiedClaims
}

/** Claims of unknown types: the compiler takes them neither for a payload nor for a part of one. */
export type UnverifiedClaims = Readonly<Record<string, unknown>> & {
  readonly [Name in keyof StandardClaims]?: unknown
}

/**
 * The header and the claims of a JWT whose signature is NOT verified, for logs and tools. Never use them to decide what
 * a request may do: anybody can write such a token.
 *
 * Throws `TokenDecodeError` for what is no signed JWT in compact form, and for what is larger or nested deeper than a
 * verifier accepts.
 */
export function decodeWithoutVerifying(token: string): DecodedToken {
  const jws = parseCompact(token, DEFAULT_MAX_TOKEN_LENGTH)
  const header = decodeHeader(jws.header)
  if (typeof header['alg'] !== 'string') throw new TokenDecodeError('Token header has no "alg"')
  assertCanonical(jws.signature)
  const text = decodePayload(jws)
  const claims = text === null ? null : readJsonObject(text)
  if (claims === null) throw new TokenDecodeError('Token claims must be a JSON object')
  // Hides the CSRF value, as in a verified payload.
  const payload = toPayload({ __proto__: EMPTY_PROTOTYPE, ...claims }) as UnverifiedClaims
  return Object.freeze({ header: Object.freeze({ __proto__: EMPTY_PROTOTYPE, ...header }), payload })
}
