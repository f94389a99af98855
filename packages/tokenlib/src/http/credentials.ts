import { TokenDecodeError } from '../errors.js'

// RFC 9110 §11.4: a scheme, then spaces, then its credentials.
const CREDENTIALS_START = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ +[^ ]/

/** The scheme of a token that is bound to a key (RFC 9449 §7.1). */
export const DPOP_SCHEME = 'DPoP'

/**
 * The credential of one scheme in an `Authorization` value, or `null`.
 *
 * Returns the text after the scheme unchanged: the verifier decides whether it is a token.
 */
export function readBearer(header: string | null, scheme: string): string | null {
  if (header === null) return null
  if (scheme === '') return trimBlanks(header) || null
  // What nearly every request has: one credential of the scheme, in the usual case, and one space.
  const rest = header.startsWith(`${scheme} `) ? header.slice(scheme.length + 1) : ''
  if (rest !== '' && !rest.includes(' ') && !rest.includes('\t') && !rest.includes(',')) return rest
  const found = splitCredentials(header).flatMap((credential) => readCredential(credential, scheme) ?? [])
  if (found.length > 1) throw new TokenDecodeError(`The request carries more than one ${scheme} credential`)
  return found[0] ?? null
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
  const name = credential.slice(0, scheme.length + 1).toLowerCase()
  return name === `${scheme.toLowerCase()} ` ? trimBlanks(credential.slice(name.length)) || null : null
}

/** The value of a cookie, or `null`; two different values under one name are refused. */
export function readCookie(header: string | null, name: string): string | null {
  const [value, ...others] = readCookieValues(header, name)
  // A subdomain can set a second one and decide which comes first (RFC 6265 §8.6).
  if (others.length > 0)
    throw new TokenDecodeError(`The request carries the cookie "${name}" with different values`)
  return value || null
}

/** The different values of a cookie, in the order in which they came. */
export function readCookieValues(header: string | null, name: string): readonly string[] {
  if (header === null || !header.includes(name)) return []
  return [...new Set(header.split(';').flatMap((pair) => readPair(pair, name) ?? []))]
}

// Undecoded and unquoted: a token contains neither percent signs nor quotes.
function readPair(pair: string, name: string): string | null {
  const equals = pair.indexOf('=')
  return equals !== -1 && trimBlanks(pair.slice(0, equals)) === name
    ? trimBlanks(pair.slice(equals + 1))
    : null
}

/**
 * A text without the spaces and tabs around it, which alone may stand there (RFC 9110 §5.6.3, RFC 6265bis §5.6).
 *
 * What else `String.trim` takes away is part of a name, or of a token, and makes another one of it.
 */
export function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (isBlank(text.charCodeAt(start))) start++
  while (isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
