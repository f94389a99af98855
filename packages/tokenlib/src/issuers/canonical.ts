import { readBase64urlText } from '../encoding.js'
import { readJsonObject } from '../json.js'
import { readLowerSpelling } from '../tokens/algorithms.js'
import { type Issuers, readForeignJwt, readUnverifiedJwt } from './issuers.js'

/**
 * A function that returns the one spelling of a token under which it is known here.
 *
 * For every ECDSA signature (r, s) the signature (r, n - s) is valid too, and other issuers send either. Of their tokens
 * the spelling with the lower s is used for everything that is keyed by the text of a token: otherwise a revoked token
 * could come back in its other spelling. Our own tokens have the lower one already, and are refused in the other.
 */
export function createCanonicalizer(issuers: Issuers, maxLength: number): (token: string) => string {
  if (issuers.size === 0) return (token) => token
  let lastHeader = ''
  let lastAlgorithm: unknown = null

  return (token) => {
    if (typeof token !== 'string' || token.length > maxLength) return token
    const header = token.slice(0, Math.max(0, token.indexOf('.')))
    if (header !== lastHeader) {
      lastAlgorithm = readAlgorithm(header)
      lastHeader = header
    }
    if (typeof lastAlgorithm !== 'string' || !lastAlgorithm.startsWith('ES')) return token
    const end = token.lastIndexOf('.') + 1
    const lower = readLowerSpelling(lastAlgorithm, token.slice(end))
    if (lower === null || readForeignJwt(issuers, readUnverifiedJwt(token, maxLength)) === null) return token
    return token.slice(0, end) + lower
  }
}

function readAlgorithm(encodedHeader: string): unknown {
  const text = readBase64urlText(encodedHeader)
  return (text === null ? null : readJsonObject(text))?.['alg'] ?? null
}
