import {
  decodePayload,
  parseCompact,
  parseHeader,
  TOKEN_TYPES,
} from '../../packages/tokenlib/src/tokens/compact.js'
import type { KeyRing } from '../../packages/tokenlib/src/tokens/key-ring.js'
import { createOwnSource, findSourceSigner } from '../../packages/tokenlib/src/tokens/token-source.js'

const RULES = { leeway: 0, issuers: [], audience: [], requiredClaims: [], maxAge: null }

/** The payload of a JWS that a key of the ring has signed, as text: what a manager does before it reads the claims. */
export function verifyJws(keys: KeyRing, token: unknown, maxLength = 9999): string | null {
  const source = createOwnSource({ keys, rules: RULES, names: [], identityClaim: 'sub' })
  const jws = parseCompact(token, maxLength)
  findSourceSigner(source, parseHeader(jws.header, TOKEN_TYPES), jws, { now: 0, isLoaded: true })
  return decodePayload(jws)
}
