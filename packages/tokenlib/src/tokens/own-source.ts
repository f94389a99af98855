import { TokenDecodeError, TokenSignatureError } from '../errors.js'
import type { BoundKey } from './algorithms.js'
import { isAccessTokenHeader } from './compact.js'
import { readTokenStart } from './ids.js'
import type { JwsHeader } from './jose.js'
import type { KeyRing } from './key-ring.js'
import { type ClaimRules, toTokenPayload } from './payload.js'
import type { SourceKeys, TokenSource } from './token-source.js'

/** What a manager is configured with for its own tokens. */
export interface OwnTokens {
  readonly keys: KeyRing
  readonly rules: ClaimRules
  /** The `iss` that they may have, as far as the configuration says. */
  readonly names: readonly string[]
  /** The claim that names the user. */
  readonly identityClaim: string
}

/** The tokens that a manager makes itself. */
export function createOwnSource({ keys, rules, names, identityClaim }: OwnTokens): TokenSource {
  return {
    issuer: null,
    names,
    keys: createRingKeys(keys),
    rules,
    subjectPrefix: '',
    sendsEvents: false,
    // We make the lower one, and accept no other spelling.
    allowsHighS: false,
    revokedBy: [null],
    toPayload({ header, claims }) {
      const payload = toTokenPayload(claims, identityClaim)
      // We never issue such a token, but somebody else with the same key may have.
      if (payload.type !== 'access' && isAccessTokenHeader(header)) {
        throw new TokenDecodeError('Unexpected "typ" header: a refresh token must not have "at+jwt"')
      }
      return { payload, subjects: [payload.sub] }
    },
    lifeOf(payload) {
      const { exp, iat } = payload
      return {
        start: readTokenStart(payload),
        end: exp === undefined || iat === undefined ? null : exp * 1000,
      }
    },
  }
}

function createRingKeys(ring: KeyRing): SourceKeys {
  // Tokens of one key have the same header, which is one object as long as it is.
  let last: Selection | null = null

  return {
    find(header) {
      const { verifying } = ring
      // Unless the keys were replaced.
      const isKnown = last?.header === header && last.verifying === verifying
      last = last !== null && isKnown ? last : { header, verifying, keys: selectKeys(verifying, header) }
      return last.keys
    },
    isTrusted: (key, now) => ring.isTrusted(key, now),
    idsOf: () => [],
    loader: null,
  }
}

interface Selection {
  readonly header: JwsHeader
  readonly keys: readonly BoundKey[]
  /** The keys of the ring when they were selected. */
  readonly verifying: readonly BoundKey[]
}

// A header selects among keys that are bound to their algorithms; it never decides how one is used.
function selectKeys(keys: readonly BoundKey[], header: JwsHeader): readonly BoundKey[] {
  const allowed = keys.filter((key) => key.algorithm === header.alg)
  if (allowed.length === 0) throw new TokenDecodeError('Token algorithm is not allowed')
  if (header.kid === undefined) return allowed
  const named = allowed.filter((key) => key.kid === header.kid)
  if (named.length === 0) throw new TokenSignatureError('Token was signed with an unknown key')
  return named
}
