import { TokenDecodeError } from '../errors.js'
import { trimBlanks } from './trim-blanks.js'

/** The value of a cookie, or `null`; two different values under one name are refused. */
export function readCookie(header: string | null, name: string): string | null {
  const [value, ...others] = readCookieValues(header, name)
  // Which of two comes first is up to whoever set the other one, a sub-domain for example (RFC 6265 §8.6).
  if (others.length > 0)
    throw new TokenDecodeError(`The request carries the cookie "${name}" with different values`)
  return value || null
}

/** The different values of a cookie, in the order in which they came. */
export function readCookieValues(header: string | null, name: string): readonly string[] {
  if (header === null || !header.includes(name)) return []
  return [...new Set(header.split(';').flatMap((pair) => readPair(pair, name) ?? []))]
}

// Undecoded and unquoted: a token is the same in every encoding, and percent signs and quotes are no part of one.
function readPair(pair: string, name: string): string | null {
  const equals = pair.indexOf('=')
  return equals !== -1 && trimBlanks(pair.slice(0, equals)) === name
    ? trimBlanks(pair.slice(equals + 1))
    : null
}
