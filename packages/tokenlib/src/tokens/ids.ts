import { randomFillSync } from 'node:crypto'
import { toBase64url } from '../encoding.js'
import type { StandardClaims } from './payload.js'

/** A source of random bytes; every id and CSRF value comes from one of these. */
export type RandomBytes = (size: number) => Uint8Array

const POOL_SIZE = 4096
let pool: Buffer = Buffer.alloc(0)
let used = 0

/** The random source of the machine, read in large blocks: each read costs as much as a signature. */
export const systemRandom: RandomBytes = (size) => {
  if (pool.length - used < size) {
    pool = randomFillSync(Buffer.allocUnsafeSlow(Math.max(POOL_SIZE, size)))
    used = 0
  }
  const bytes = pool.subarray(used, used + size)
  // No byte is returned twice.
  used += size
  return bytes
}

/** A random id of 128 bits in base64url. */
export function createId(random: RandomBytes): string {
  return toBase64url(random(16))
}

/** An id of 128 bits: a moment in epoch milliseconds (48 bits, big-endian), then 80 random bits. */
export function createTimedId(at: number, random: RandomBytes): string {
  const bytes = random(10)
  // Fewer would leave some of the id before.
  if (bytes.length !== 10) throw new TypeError('randomBytes must return as many bytes as it is asked for')
  // Not `toTimedId`, which converts twice.
  timedId.set(bytes, 6)
  timedId.writeUIntBE(at, 0, 6)
  return timedId.toString('base64url')
}

/** The random part of a timed id: 14 characters. */
export function createNonce(random: RandomBytes): string {
  return toBase64url(random(10))
}

const moment = Buffer.alloc(6)

/** The timed id of a moment and a random part. */
export function toTimedId(at: number, nonce: string): string {
  moment.writeUIntBE(at, 0, 6)
  // Six bytes are exactly eight characters of base64url, so the two parts can be joined as texts.
  return moment.toString('base64url') + nonce
}

const timedId = Buffer.alloc(16)

/** The moment in a timed id, in epoch milliseconds, or `null` for an id of another shape. */
export function readTimedId(id: string): number | null {
  // Reused: allocating a buffer takes longer than the conversion.
  const isId =
    id.length === 22 && timedId.write(id, 'base64url') === 16 && timedId.toString('base64url') === id
  return isId ? timedId.readUIntBE(0, 6) : null
}

// How far a start may be later than `iat`, since the clocks of stores and processes differ: twice as far as a store lets
// a watermark run ahead of its own clock.
const MAX_START_LEAD_MS = 120_000

/**
 * When the session of a token started, in epoch milliseconds: what the revocation of a user is compared with.
 *
 * A refreshed token is as old as its session; otherwise a refresh that races a revocation would never be revoked. Our
 * ids contain the start in milliseconds; `iat`, in seconds, is too coarse around the moment of a revocation.
 */
export function readTokenStart({ sid, jti, iat }: Pick<StandardClaims, 'sid' | 'jti' | 'iat'>): number {
  // A token without `iat` counts as older than any revocation.
  if (iat === undefined) return 0
  const issuedAt = iat * 1000
  const latest = issuedAt + 999 + MAX_START_LEAD_MS
  // Ids of other issuers may look like ours; a `jti` that agrees with `iat` is one of ours, and so is its `sid`.
  const token = jti === undefined ? null : readTimedId(jti)
  if (token === null || token < Math.floor(issuedAt) || token > latest) return issuedAt
  return (sid === undefined ? null : readTimedId(sid)) ?? token
}
