import { createHmac, timingSafeEqual } from 'node:crypto'
import { readBase64url, toBase64url } from '../encoding.js'

/** Nonces for DPoP proofs that no server has to remember (RFC 9449 §8). */
export interface Nonces {
  /** Creates a nonce that is valid from `now`, in epoch milliseconds. */
  create(now: number): string
  isValid(nonce: string, now: number): boolean
}

const TIME_BYTES = 6
const MAC_BYTES = 16
// The clock of the process that created the nonce may be ahead.
const MAX_CLOCK_LEAD_MS = 5000

/** Creates nonces that every process with the same secret accepts: a time, and a MAC of that time. */
export function createNonces(secret: string | Uint8Array, maxAgeMs: number): Nonces {
  const toMac = (time: Uint8Array): Buffer =>
    createHmac('sha256', secret).update('tokenlib DPoP nonce').update(time).digest().subarray(0, MAC_BYTES)

  return {
    create(now) {
      const time = Buffer.alloc(TIME_BYTES)
      time.writeUIntBE(Math.max(0, Math.floor(now)), 0, TIME_BYTES)
      return toBase64url(Buffer.concat([time, toMac(time)]))
    },
    isValid(nonce, now) {
      const bytes = readBase64url(nonce)
      if (bytes?.length !== TIME_BYTES + MAC_BYTES) return false
      const time = bytes.subarray(0, TIME_BYTES)
      if (!timingSafeEqual(toMac(time), bytes.subarray(TIME_BYTES))) return false
      const age = now - time.readUIntBE(0, TIME_BYTES)
      return age >= -MAX_CLOCK_LEAD_MS && age <= maxAgeMs
    },
  }
}
