import { parse } from 'cookie-es'
import { TokenDecodeError } from '../errors.js'

/** The value of a cookie, or `null`; two different values under one name are refused. */
export function readCookie(header: string | null, name: string): string | null {
  if (header === null || !header.includes(name)) return null
  // Undecoded: a token is the same in every encoding, and percent signs are no part of one.
  const cookies = parse(header, {
    allowMultiple: true,
    filter: (key) => key === name,
    decode: (value) => value,
  })
  const values = new Set([cookies[name] ?? []].flat())
  // Which of two comes first is up to whoever set the other one, a sub-domain for example (RFC 6265 §8.6).
  if (values.size > 1)
    throw new TokenDecodeError(`The request carries the cookie "${name}" with different values`)
  const [value] = values
  return value || null
}
