import { type AnyTokenError, isOutage } from 'tokenlib/errors'

/** What stands in the way of scripts, frames and caches, in every response of the console. */
const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    // The empty icon of the page: without one, browsers ask the application for /favicon.ico.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // No script can turn text into markup, not even by mistake.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // Not `no-referrer`: with it, browsers send `Origin: null` with the page's own requests (Fetch §4.6).
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** A response with the headers of the console, which replace headers of the same name. */
export function secure(response: Response): Response {
  const { status, statusText, body } = response
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value)
  return new Response(body, { status, statusText, headers })
}

/** A text of some media type. */
export function createText(mediaType: string, text: string, init: ResponseInit = {}): Response {
  const headers = new Headers(init.headers)
  headers.set('content-type', `${mediaType}; charset=utf-8`)
  return new Response(text, { ...init, headers })
}

/** A small page in place of the console, with the status and headers of a refusal. */
export function createRefusalPage({ status, headers }: Response, error: AnyTokenError): Response {
  const { code, message } = error
  const heading = isOutage(error) ? 'Not available' : 'Not allowed'
  const advice = isOutage(error)
    ? 'It cannot be checked who you are. Try again in a moment.'
    : code === 'TOKEN_EXPIRED'
      ? 'Your access has expired. Open a page of the application, which renews it, and load this page again.'
      : 'Log in to the application as somebody who may use this console, and load this page again.'
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${heading}</title>
<h1>${heading}</h1>
<p>${advice}</p>
<p>${escapeHtml(message)} (<code>${escapeHtml(code)}</code>)</p>
</html>
`
  return createText('text/html', html, { status, headers })
}

/** A text as the content of an element, or as the value of an attribute in quotes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
