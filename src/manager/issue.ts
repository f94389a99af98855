import {
  type CreateTokenOptions,
  createClaims,
  type GivenClaims,
  type SessionClaims,
  TOKEN_OPTIONS,
  toExpiry,
} from '../claims/create.js'
import { createId, createTimedId, type RandomBytes } from '../claims/ids.js'
import type { TokenType } from '../claims/payload.js'
import { assertSerializable } from '../claims/serializable.js'
import { isWithinJsonLimits, toBase64url } from '../encoding.js'
import { ConfigurationError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import type { BoundKey } from '../jws/key-ring.js'
import { encodeHeader, measureCompact, signCompact } from '../jws/sign.js'
import { assertOptions } from '../options.js'
import type { PairTokenOptions, TokenPair } from '../sessions/options.js'
import { type Clock, toEpochSeconds } from '../time.js'
import type { Settings } from './settings.js'

/** Makes tokens. */
export interface TokenIssuer {
  createToken(type: TokenType, given: GivenClaims, options?: CreateTokenOptions): string
  /** Both tokens carry `csrf`; left out, they share a new CSRF value. */
  createPair(given: GivenClaims, options: PairTokenOptions, session: SessionClaims, csrf?: string): TokenPair
  /** A session that no store keeps. */
  startSession(): SessionClaims
  /** Throws for claims and options that make no pair; returns when its session would end, in epoch seconds, or `null`. */
  planPair(given: GivenClaims, options: PairTokenOptions, csrf?: string): number | null
}

/** What an issuer works with. */
export interface TokenIssuerOptions {
  readonly settings: Settings
  readonly now: Clock
  readonly random: RandomBytes
  readonly emit: TokenEmitter['emit']
  /** The start of a token made at a moment: later than every revocation before it; epoch milliseconds. */
  startToken(at: number): number
  /** Hears when a token without a kept session expires, in epoch seconds; `null` for never. */
  onExpiry(expiresAt: number | null): void
}

/** An issuer for one configuration. */
export function createIssuer(parts: TokenIssuerOptions): TokenIssuer {
  const { settings, now, random, emit } = parts
  const { creation, keys, maxTokenLength } = settings
  // The same for every token without headers of its own.
  let plainHeader: string | undefined

  const build = (
    type: TokenType,
    given: GivenClaims,
    options: CreateTokenOptions,
    session: SessionClaims | null,
  ): Record<string, unknown> => {
    const at = now()
    const context = { now: at, start: session === null ? parts.startToken(at) : at, random, session }
    for (const [name, value] of Object.entries(options.headers ?? {})) assertSerializable(name, value)
    return createClaims(type, given, options, creation[type], context)
  }

  // A token that our own verifier would refuse must not leave the house.
  const toInput = (claims: Record<string, unknown>, headers: CreateTokenOptions['headers']): string => {
    const text = JSON.stringify(claims)
    if (!isWithinJsonLimits(text)) throw new TypeError('The claims have too many members')
    const key = signingKey()
    const header = headers === undefined ? (plainHeader ??= encodeHeader(key)) : encodeHeader(key, headers)
    const input = `${header}.${toBase64url(text)}`
    const length = measureCompact(key, input)
    if (length > maxTokenLength) {
      throw new TypeError(
        `The claims make a token of ${length} characters; JWT_MAX_TOKEN_LENGTH allows ${maxTokenLength}`,
      )
    }
    return input
  }

  const signingKey = (): BoundKey => {
    if (keys.signing !== null) return keys.signing
    throw new ConfigurationError(
      'This manager only verifies tokens; JWT_PRIVATE_KEY is needed to create them',
    )
  }

  const create = (
    type: TokenType,
    given: GivenClaims,
    options: CreateTokenOptions,
    session: SessionClaims | null,
  ): string => {
    const claims = build(type, given, options, session)
    const token = signCompact(signingKey(), toInput(claims, options.headers))
    const { jti, exp: expiresAt = null } = claims as { jti: string; exp?: number }
    if (session?.limitExpiry === undefined) parts.onExpiry(expiresAt)
    emit('issued', () => ({ type, sub: given.uid, jti, sid: session?.sid ?? null, expiresAt }))
    return token
  }

  return {
    createToken(type, given, options = {}) {
      assertOptions(
        type === 'access' ? 'createAccessToken()' : 'createRefreshToken()',
        options,
        TOKEN_OPTIONS,
      )
      return create(type, given, options, null)
    },
    startSession: () => ({ sid: createTimedId(parts.startToken(now()), random) }),
    createPair(given, { access, refresh, ...shared }, opened, csrf = createId(random)) {
      const session = { ...opened, csrf }
      return {
        accessToken: create('access', given, mergeOptions(shared, access), session),
        refreshToken: create('refresh', given, mergeOptions(shared, refresh), session),
        tokenType: 'bearer',
      }
    },
    planPair(given, { access = {}, refresh = {}, ...shared }, csrf = createId(random)) {
      assertOptions('access', access, TOKEN_OPTIONS)
      assertOptions('refresh', refresh, TOKEN_OPTIONS)
      const refreshOptions = mergeOptions(shared, refresh)
      // As long as a session can get, so that what is planned can be made.
      const longest = { sid: createTimedId(now(), random), generation: Number.MAX_SAFE_INTEGER, csrf }
      const accessOptions = mergeOptions(shared, access)
      toInput(build('access', given, accessOptions, longest), accessOptions.headers)
      toInput(build('refresh', given, refreshOptions, longest), refreshOptions.headers)
      return toExpiry(toEpochSeconds(now()), refreshOptions, creation.refresh.expires)
    },
  }
}

// An own expiry replaces the shared one, whichever way the two are written.
function mergeOptions(shared: CreateTokenOptions, own: CreateTokenOptions = {}): CreateTokenOptions {
  const { expiresIn: _in, expiresAt: _at, ...rest } = shared
  const hasOwnExpiry = own.expiresIn !== undefined || own.expiresAt !== undefined
  return hasOwnExpiry ? { ...rest, ...own } : { ...shared, ...own }
}
