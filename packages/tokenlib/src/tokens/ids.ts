import { randomFillSync } from 'node:crypto'
import { readBase64urlDigit, toBase64url } from '../encoding.js'
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
  // With fewer bytes, part of the previous id would remain.
  if (bytes.byteLength !== 10) throw new TypeError('randomBytes must return the requested number of bytes')
  // Not `toTimedId`, which encodes twice.
  idBytes.set(bytes, 6)
  idBytes.writeUIntBE(at, 0, 6)
  return idBytes.toString('base64url')
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

/** The moment in a timed id, in epoch milliseconds, or `null` for an id of another shape. */
export function readTimedId(id: string): number | null {
  if (!readIdHead(id) || !readIdTail(id)) return null
  return ((idWords[0] as number) >>> 0) * 0x1_00_00 + ((idWords[1] as number) >>> 16)
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

const LENGTH = 22

/** The words of the id that was read last, big-endian. All calls share this array: it is valid until the next call. */
export const idWords: Int32Array = new Int32Array(4)

const idBytes = Buffer.alloc(16)

/** Reads words 0 and 1 of a 128-bit id in base64url. Returns `false` for any other text. */
export function readIdHead(id: string): boolean {
  if (id.length !== LENGTH) return false
  const first = readFive(id, 0)
  const second = readFive(id, 5)
  const shared = readBase64urlDigit(id, 10)
  idWords[0] = (first << 2) | (second >> 28)
  idWords[1] = (second << 4) | (shared >> 2)
  return (first | second | shared) >= 0
}

/** Reads words 2 and 3, which are enough to tell that an id is absent. Returns `false` for any other text. */
export function readIdTail(id: string): boolean {
  if (id.length !== LENGTH) return false
  const shared = readBase64urlDigit(id, 10)
  const third = readFive(id, 11)
  const fourth = readFive(id, 16)
  const last = readBase64urlDigit(id, 21)
  idWords[2] = (shared << 30) | third
  idWords[3] = (fourth << 2) | (last >> 4)
  // RFC 4648 §3.5: the last digit has four unused bits, which must be zero.
  return (shared | third | fourth | last) >= 0 && (last & 15) === 0
}

/** Converts four words to an id. */
export function toId(w0: number, w1: number, w2: number, w3: number): string {
  idBytes.writeInt32BE(w0, 0)
  idBytes.writeInt32BE(w1, 4)
  idBytes.writeInt32BE(w2, 8)
  idBytes.writeInt32BE(w3, 12)
  return idBytes.toString('base64url')
}

// 30 bits, or a negative number if a digit is invalid: its value is -1, which stays negative in every place.
function readFive(id: string, at: number): number {
  const a = readBase64urlDigit(id, at)
  const b = readBase64urlDigit(id, at + 1)
  const c = readBase64urlDigit(id, at + 2)
  const d = readBase64urlDigit(id, at + 3)
  const e = readBase64urlDigit(id, at + 4)
  return (a << 24) | (b << 18) | (c << 12) | (d << 6) | e
}
