import { TokenDecodeError } from '../errors.js'
import { trimBlanks } from './trim-blanks.js'

const SPACE = 0x20

// RFC 9110 §11.4: a scheme, then spaces, then its credentials.
const CREDENTIALS_START = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ +[^ ]/

/**
 * The credential of one scheme in an `Authorization` value, or `null` when there is none of that scheme.
 *
 * What follows the scheme is returned as it is: whether it is a token is for the verifier to say.
 */
export function readBearer(header: string | null, scheme: string): string | null {
  if (header === null) return null
  if (scheme === '') return trimBlanks(header) || null
  if (isPlain(header, scheme)) return header.slice(scheme.length + 1)
  const found = splitCredentials(header).flatMap((credential) => readCredential(credential, scheme) ?? [])
  if (found.length > 1) throw new TokenDecodeError(`The request carries more than one ${scheme} credential`)
  return found[0] ?? null
}

// What nearly every request has: one credential of the scheme, in the usual case, and one space.
function isPlain(header: string, scheme: string): boolean {
  for (let at = 0; at < scheme.length; at++) {
    if (header.charCodeAt(at) !== scheme.charCodeAt(at)) return false
  }
  return (
    header.charCodeAt(scheme.length) === SPACE &&
    header.charCodeAt(scheme.length + 1) > SPACE &&
    header.charCodeAt(header.length - 1) > SPACE &&
    !header.includes(',')
  )
}

// Several credentials may share a header, or several headers a name: both arrive here joined with commas. What
// does not start a credential belongs to the one before it (`Digest a="1", b="2"`).
function splitCredentials(header: string): string[] {
  const credentials: string[] = []
  for (const part of header.split(',').map(trimBlanks)) {
    // RFC 9110 §5.6.1.2: empty elements of a list are ignored.
    if (part === '') continue
    if (credentials.length > 0 && !CREDENTIALS_START.test(part))
      credentials.push(`${credentials.pop()}, ${part}`)
    else credentials.push(part)
  }
  return credentials
}

// RFC 9110 §11.1: the scheme is case-insensitive.
function readCredential(credential: string, scheme: string): string | null {
  if (credential.charCodeAt(scheme.length) !== SPACE) return null
  if (credential.slice(0, scheme.length).toLowerCase() !== scheme.toLowerCase()) return null
  return trimBlanks(credential.slice(scheme.length)) || null
}
