import { randomBytes } from 'node:crypto'
import { toBase64url } from '../encoding.js'

/** A source of random bytes; every id and CSRF value comes from one of these. */
export type RandomBytes = (size: number) => Uint8Array

/** The random source of the machine. */
export const systemRandom: RandomBytes = (size) => randomBytes(size)

/** A random id of 128 bits in base64url. */
export function createId(random: RandomBytes): string {
  return toBase64url(random(16))
}

/** A session id of 128 bits: its start in epoch milliseconds (48 bits, big-endian), then 80 random bits. */
export function createSessionId(startedAt: number, random: RandomBytes): string {
  const id = Buffer.alloc(16)
  id.writeUIntBE(startedAt, 0, 6)
  id.set(random(10), 6)
  return id.toString('base64url')
}
