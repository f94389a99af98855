import { randomFillSync } from 'node:crypto'
import { readBase64url, toBase64url } from '../encoding.js'

/** A source of random bytes; every id and CSRF value comes from one of these. */
export type RandomBytes = (size: number) => Uint8Array

const POOL = 4096
let pool: Buffer = Buffer.alloc(0)

/** The random source of the machine, asked for many bytes at a time: each question costs as much as a signature. */
export const systemRandom: RandomBytes = (size) => {
  if (pool.length < size) pool = randomFillSync(Buffer.allocUnsafeSlow(Math.max(POOL, size)))
  const bytes = pool.subarray(0, size)
  // Never given out twice.
  pool = pool.subarray(size)
  return bytes
}

/** A random id of 128 bits in base64url. */
export function createId(random: RandomBytes): string {
  return toBase64url(random(16))
}

/** An id of 128 bits: a moment in epoch milliseconds (48 bits, big-endian), then 80 random bits. */
export function createTimedId(at: number, random: RandomBytes): string {
  return toTimedId(at, createNonce(random))
}

/** The random part of a timed id: 14 characters. */
export function createNonce(random: RandomBytes): string {
  return toBase64url(random(10))
}

const moment = Buffer.alloc(6)

/** The timed id of a moment and a random part. */
export function toTimedId(at: number, nonce: string): string {
  moment.writeUIntBE(at, 0, 6)
  // Six bytes are exactly eight characters, so the two parts can be joined as texts.
  return moment.toString('base64url') + nonce
}

/** The moment in a timed id, in epoch milliseconds, or `null` for an id of another shape. */
export function readTimedId(id: string): number | null {
  const bytes = id.length === 22 ? readBase64url(id) : null
  return bytes === null ? null : bytes.readUIntBE(0, 6)
}
