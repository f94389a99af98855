import { type CreateTokenOptions, createClaims, type GivenClaims } from '../claims/create.js'
import { createSessionId, type RandomBytes } from '../claims/ids.js'
import type { TokenType } from '../claims/payload.js'
import { assertSerializable } from '../claims/serializable.js'
import { isWithinJsonLimits } from '../encoding.js'
import { ConfigurationError } from '../errors.js'
import { signCompact } from '../jws/sign.js'
import type { Clock } from '../time.js'
import type { Settings } from './settings.js'

/** Options for both tokens of a pair; those under `access` and `refresh` win for that one. */
export interface CreateTokenPairOptions extends CreateTokenOptions {
  readonly access?: CreateTokenOptions
  readonly refresh?: CreateTokenOptions
}

/** An access and a refresh token of one log-in; both carry the same `sid`. */
export interface TokenPair {
  readonly accessToken: string
  readonly refreshToken: string
  readonly tokenType: 'bearer'
}

/** Makes tokens. */
export interface TokenIssuer {
  createToken(type: TokenType, given: GivenClaims, options?: CreateTokenOptions, sid?: string): string
  createPair(given: GivenClaims, options?: CreateTokenPairOptions): TokenPair
}

/** An issuer for one configuration. */
export function createIssuer(settings: Settings, now: Clock, random: RandomBytes): TokenIssuer {
  const { creation, keys, maxTokenLength } = settings

  const createToken: TokenIssuer['createToken'] = (type, given, options = {}, sid) => {
    if (keys.signing === null) {
      throw new ConfigurationError(
        'This manager only verifies tokens; JWT_PRIVATE_KEY is needed to create them',
      )
    }
    const context = { now: now(), random, sid: sid ?? null }
    const claims = JSON.stringify(createClaims(type, given, options, creation[type], context))
    for (const [name, value] of Object.entries(options.headers ?? {})) assertSerializable(name, value)
    const token = signCompact(keys.signing, claims, options.headers)
    // A token that our own verifier would refuse must not leave the house.
    if (!isWithinJsonLimits(claims)) throw new TypeError('The claims have too many members')
    if (token.length > maxTokenLength) {
      throw new TypeError(
        `The claims make a token of ${token.length} characters; JWT_MAX_TOKEN_LENGTH allows ${maxTokenLength}`,
      )
    }
    return token
  }

  return {
    createToken,
    createPair(given, { access, refresh, ...shared } = {}) {
      const sid = createSessionId(now(), random)
      return {
        accessToken: createToken('access', given, mergeOptions(shared, access), sid),
        refreshToken: createToken('refresh', given, mergeOptions(shared, refresh), sid),
        tokenType: 'bearer',
      }
    },
  }
}

// An own expiry replaces the shared one, whichever way the two are written.
function mergeOptions(shared: CreateTokenOptions, own: CreateTokenOptions = {}): CreateTokenOptions {
  const { expiresIn: _in, expiresAt: _at, ...rest } = shared
  const hasOwnExpiry = own.expiresIn !== undefined || own.expiresAt !== undefined
  return hasOwnExpiry ? { ...rest, ...own } : { ...shared, ...own }
}
