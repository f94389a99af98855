import type { StandardClaims } from '../tokens/payload.js'
import { isEqualConstantTime, isJsonObject } from '../encoding.js'
import { CsrfError, MissingCsrfTokenError } from '../errors.js'
import { isForm } from './body.js'
import { needsCsrf, readHeader, type ReadingRules, type RequestToken } from './read-token.js'
import type { RequestView } from './view.js'

/**
 * Throws unless a cookie token comes with the CSRF value that is signed into it (double submit).
 *
 * Browsers attach cookies to requests that other sites start; only a page of the application itself can read the
 * value and send it back. Tokens from other places need none. With `origins` the browser must say, too, that the
 * request comes from one of them.
 *
 * A form is read here, and not with the token: parsing one takes far longer than any other step, so only a request with
 * a genuine token can cause it.
 */
export async function assertCsrf(
  view: RequestView,
  found: RequestToken,
  claims: Pick<StandardClaims, 'csrf'>,
  rules: ReadingRules,
): Promise<void> {
  const { csrf } = rules
  if (found.location !== 'cookies' || !needsCsrf(view, csrf)) return
  if (csrf.origins.length > 0 && !isFromOrigin(view, csrf.origins)) {
    throw new CsrfError('The request comes from another origin')
  }
  const mayBeInForm = found.csrf === null && csrf.checkForm && isForm(readHeader(view, 'content-type', rules))
  const sent = mayBeInForm ? await readField(view, csrf.fieldName) : found.csrf
  if (sent === null || sent === '') {
    const field = csrf.checkForm ? ` or the form field ${csrf.fieldName}` : ''
    throw new MissingCsrfTokenError(
      `A cookie token needs its CSRF value in the ${csrf.headerName} header${field}`,
    )
  }
  if (claims.csrf === undefined) throw new CsrfError('The token carries no CSRF value')
  if (!isEqualConstantTime(sent, claims.csrf)) throw new CsrfError()
}

async function readField(view: RequestView, name: string): Promise<string | null> {
  const body = await view.body()
  const field = isJsonObject(body) && Object.hasOwn(body, name) ? body[name] : null
  return typeof field === 'string' ? field : null
}

/** Whether the browser reports that a request comes from one of these origins, or from the application's own. */
export function isFromOrigin(view: RequestView, origins: readonly string[]): boolean {
  // The browser writes both headers, and no page can change them (Fetch §2.2.2). Compared exactly: no browser sends
  // another case or several values, and a request without either header is not known to come from a page of ours.
  return view.header('sec-fetch-site') === 'same-origin' || origins.includes(view.header('origin') ?? '')
}

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
