import { RESERVED_CLAIMS, type StandardClaims, type TokenPayload } from './payload.js'
import { type Clock, systemClock } from '../time.js'

/** When the token expires, or `null` if it never does. */
export function expiresAt(payload: Pick<TokenPayload, 'exp'>): Date | null {
  return payload.exp === undefined ? null : new Date(payload.exp * 1000)
}

/** When the token was made, or `null` if it does not say. */
export function issuedAt(payload: Pick<TokenPayload, 'iat'>): Date | null {
  return payload.iat === undefined ? null : new Date(payload.iat * 1000)
}

/** Seconds until the token expires, negative once it has, or `null` if it never does. */
export function timeUntilExpiry(payload: Pick<TokenPayload, 'exp'>, now: Clock = systemClock): number | null {
  return payload.exp === undefined ? null : payload.exp - now() / 1000
}

/** Seconds since the token was made, or `null` if it does not say. */
export function timeSinceIssued(payload: Pick<TokenPayload, 'iat'>, now: Clock = systemClock): number | null {
  return payload.iat === undefined ? null : now() / 1000 - payload.iat
}

/** Only the claims this library does not set itself, in an object of its own. */
export function extraClaims<Payload extends object>(payload: Payload): ExtraClaims<Payload> {
  const extras = Object.create(null) as Record<string, unknown>
  for (const [name, value] of Object.entries(payload)) {
    if (!RESERVED_CLAIMS.has(name)) extras[name] = value
  }
  return extras as ExtraClaims<Payload>
}

/** The claims of `Payload` that are not standard ones. */
export type ExtraClaims<Payload> = {
  [Name in keyof Payload as Name extends keyof StandardClaims ? never : Name]: Payload[Name]
}

/**
 * Whether the token carries every required scope.
 *
 * A token's `admin:*` covers `admin` and everything below `admin:`; a required scope is always literal.
 */
export function hasScopes(payload: Pick<TokenPayload, 'scopes'>, ...required: readonly string[]): boolean {
  const provided = payload.scopes ?? []
  return required.every((scope) => provided.some((candidate) => covers(candidate, scope)))
}

function covers(provided: string, required: string): boolean {
  if (provided === required) return true
  if (!provided.endsWith(':*')) return false
  const parent = provided.slice(0, -2)
  return required === parent || required.startsWith(`${parent}:`)
}
