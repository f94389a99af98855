import { createHash } from 'node:crypto'
import { FINGERPRINT_BYTES, PUBLISHED_SECRETS } from './published-secrets.js'

// Thirty-two random bytes, or as many random hexadecimal digits, practically always have more.
const LEAST_DISTINCT_BYTES = 8

/** Why a secret that is long enough can be guessed all the same, or `null`. */
export function readWeakness(secret: Buffer): string | null {
  if (new Set(secret).size < LEAST_DISTINCT_BYTES) return 'repeats a few characters'
  return isPublished(secret) ? 'is on a published list of secrets' : null
}

// As a text, whose line end may come from a file or a variable, and as what a published text decodes to.
function isPublished(secret: Buffer): boolean {
  const list = Buffer.from(PUBLISHED_SECRETS, 'base64')
  return ENCODINGS.some((encoding) => isListed(secret.toString(encoding).trim(), list))
}

const ENCODINGS = ['utf8', 'hex', 'base64', 'base64url'] as const

function isListed(spelling: string, list: Buffer): boolean {
  const digest = createHash('sha256').update(spelling).digest()
  for (let at = 0; at < list.length; at += FINGERPRINT_BYTES) {
    if (digest.compare(list, at, at + FINGERPRINT_BYTES, 0, FINGERPRINT_BYTES) === 0) return true
  }
  return false
}
