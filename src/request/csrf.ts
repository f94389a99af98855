import type { StandardClaims } from '../claims/payload.js'
import { isEqualConstantTime } from '../encoding.js'
import { CsrfError, MissingCsrfTokenError } from '../errors.js'
import { type CsrfRules, needsCsrf } from './locations.js'
import type { RequestToken } from './request-token.js'
import type { RequestView } from './view.js'

/**
 * Throws unless a cookie token comes with the CSRF value that is signed into it (double submit).
 *
 * Browsers attach cookies to requests that other sites start; only a page of the application itself can read the
 * value and send it back. Tokens from other places need none. With `origins` the browser must say, too, that the
 * request comes from one of them.
 */
export function assertCsrf(
  view: RequestView,
  found: RequestToken,
  claims: Pick<StandardClaims, 'csrf'>,
  rules: CsrfRules,
): void {
  if (found.location !== 'cookies' || !needsCsrf(view, rules)) return
  if (rules.origins.length > 0 && !isFromOrigin(view, rules.origins)) {
    throw new CsrfError('The request comes from another origin')
  }
  if (found.csrf === null || found.csrf === '') {
    const field = rules.checkForm ? ` or the form field ${rules.fieldName[found.type]}` : ''
    throw new MissingCsrfTokenError(
      `A cookie token needs its CSRF value in the ${rules.headerName[found.type]} header${field}`,
    )
  }
  if (claims.csrf === undefined) throw new CsrfError('The token carries no CSRF value')
  if (!isEqualConstantTime(found.csrf, claims.csrf)) throw new CsrfError()
}

// The browser writes both headers, and no page can change them (Fetch §2.2.2). Compared to the letter: no browser sends
// another case or several values, and a request without either header is not known to come from a page of ours.
function isFromOrigin(view: RequestView, origins: readonly string[]): boolean {
  return view.header('sec-fetch-site') === 'same-origin' || origins.includes(view.header('origin') ?? '')
}
