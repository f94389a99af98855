import type { StandardClaims } from '../claims/payload.js'
import { isEqualConstantTime } from '../encoding.js'
import { CsrfError, MissingCsrfTokenError } from '../errors.js'
import { isForm } from './body.js'
import { readHeader } from './limited.js'
import { type CsrfRules, needsCsrf, type ReadingRules } from './locations.js'
import type { RequestToken } from './request-token.js'
import type { RequestView } from './view.js'

/**
 * Throws unless a cookie token comes with the CSRF value that is signed into it (double submit).
 *
 * Browsers attach cookies to requests that other sites start; only a page of the application itself can read the
 * value and send it back. Tokens from other places need none. With `origins` the browser must say, too, that the
 * request comes from one of them.
 *
 * At once, unless the value may be in a form. The form is read here, and not with the token: parsing one takes far
 * longer than anything else on the way, so only who has a genuine token can ask for it.
 */
export function assertCsrf(
  view: RequestView,
  found: RequestToken,
  claims: Pick<StandardClaims, 'csrf'>,
  rules: ReadingRules,
): void | Promise<void> {
  const { csrf } = rules
  if (found.location !== 'cookies' || !needsCsrf(view, csrf)) return undefined
  if (csrf.origins.length > 0 && !isFromOrigin(view, csrf.origins)) {
    throw new CsrfError('The request comes from another origin')
  }
  if (found.csrf === null && csrf.checkForm && isForm(readHeader(view, 'content-type', rules))) {
    return assertCsrfField(view, found, claims, csrf)
  }
  assertValue(found.csrf, found, claims, csrf)
}

async function assertCsrfField(
  view: RequestView,
  found: RequestToken,
  claims: Pick<StandardClaims, 'csrf'>,
  rules: CsrfRules,
): Promise<void> {
  const body = await view.body()
  const name = rules.fieldName[found.type]
  const field =
    typeof body === 'object' && body !== null && Object.hasOwn(body, name) ? body[name as never] : null
  assertValue(typeof field === 'string' ? field : null, found, claims, rules)
}

function assertValue(
  sent: string | null,
  { type }: RequestToken,
  claims: Pick<StandardClaims, 'csrf'>,
  rules: CsrfRules,
): void {
  if (sent === null || sent === '') {
    const field = rules.checkForm ? ` or the form field ${rules.fieldName[type]}` : ''
    throw new MissingCsrfTokenError(
      `A cookie token needs its CSRF value in the ${rules.headerName[type]} header${field}`,
    )
  }
  if (claims.csrf === undefined) throw new CsrfError('The token carries no CSRF value')
  if (!isEqualConstantTime(sent, claims.csrf)) throw new CsrfError()
}

// The browser writes both headers, and no page can change them (Fetch §2.2.2). Compared to the letter: no browser sends
// another case or several values, and a request without either header is not known to come from a page of ours.
/** Whether the browser says that a request comes from one of these origins, or from the application's own. */
export function isFromOrigin(view: RequestView, origins: readonly string[]): boolean {
  return view.header('sec-fetch-site') === 'same-origin' || origins.includes(view.header('origin') ?? '')
}
