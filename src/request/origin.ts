/** Whether a text is the origin of pages as browsers write it in `Origin` (RFC 6454 §6.2): `https://app.example`. */
export function isOrigin(value: unknown): boolean {
  // Whatever a URL parser would write differently never matches; an asterisk would look as if it did.
  return (
    typeof value === 'string' &&
    /^https?:[^*]+$/.test(value) &&
    URL.canParse(value) &&
    new URL(value).origin === value
  )
}
