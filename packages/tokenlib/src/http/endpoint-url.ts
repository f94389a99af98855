// RFC 3986 §2: what is left out has to be percent-encoded, quotes and backslashes among them.
const URI = /^[\w.~:/?[\]@!$&'()*+,;=%-]+$/
const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/

/**
 * Whether a value is the URL of an endpoint that clients are told of: `https`, or `http` on this machine, without user
 * information and fragment.
 */
export function isEndpointUrl(value: unknown): value is string {
  if (typeof value !== 'string' || !URI.test(value) || !URL.canParse(value)) return false
  const { protocol, hostname, username, password } = new URL(value)
  const isSecure = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname))
  return isSecure && username === '' && password === ''
}

/** Whether a value is an identifier (RFC 8414 §2, RFC 9728 §1.2): such a URL, without a query too. */
export function isIdentifierUrl(value: unknown): value is string {
  return isEndpointUrl(value) && !value.includes('?')
}
