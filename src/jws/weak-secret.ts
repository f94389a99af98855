import { createHash } from 'node:crypto'
import { FINGERPRINT_BYTES, PUBLISHED_SECRETS } from './published-secrets.js'

// Random bytes, and random digits in a number of this length, practically always have more.
const LEAST_DISTINCT_BYTES = 6

/** Why a secret of an algorithm that needs `minimum` bytes can be guessed, or `null`. */
export function readWeakness(secret: Buffer, minimum: number): string | null {
  // White space around a text need not be guessed, nor zeros behind it: HMAC fills keys up with them (RFC 2104 §2).
  const text = secret.toString().replace(/\0+$/, '').trim()
  // Bytes that are no text may well begin or end like that.
  const { length } = /^[ -~]*$/.test(text) ? text : secret
  if (length < minimum) return `has ${length} bytes`
  if (new Set(secret).size < LEAST_DISTINCT_BYTES) return 'repeats a few characters'
  return isPublished(text, secret) ? 'is on a published list of secrets' : null
}

// As a text, and as what a published text decodes to.
function isPublished(text: string, secret: Buffer): boolean {
  const hex = secret.toString('hex')
  const list = Buffer.from(PUBLISHED_SECRETS, 'base64')
  return [text, hex, hex.toUpperCase(), secret.toString('base64'), secret.toString('base64url')].some(
    (spelling) => isListed(spelling, list),
  )
}

function isListed(spelling: string, list: Buffer): boolean {
  const digest = createHash('sha256').update(spelling).digest()
  for (let at = 0; at < list.length; at += FINGERPRINT_BYTES) {
    if (digest.compare(list, at, at + FINGERPRINT_BYTES, 0, FINGERPRINT_BYTES) === 0) return true
  }
  return false
}
