import { type Check, createFinding, ok } from './findings.js'
import type { ConfigurationFacts } from './read-configuration.js'

const usesCookies = ({ config }: ConfigurationFacts): boolean => config.hasLocation('cookies')

const checkQuery: Check<ConfigurationFacts> = ({ config }) => {
  if (!config.hasLocation('query')) return ok('token-in-query', 'No token is read from URLs.')
  const isRefresh = config.hasLocation('query', 'refresh')
  return createFinding('token-in-query', isRefresh ? 'error' : 'warning', {
    title: `${isRefresh ? 'Refresh tokens' : 'Access tokens'} are accepted in the query string.`,
    detail: 'URLs are in the logs of proxies, in the history of browsers and in the Referer header.',
    fix: isRefresh
      ? 'Set JWT_REFRESH_TOKEN_LOCATION to headers, cookies or json.'
      : 'Remove query from JWT_TOKEN_LOCATION, unless a client can send nothing else.',
  })
}

const checkSecure: Check<ConfigurationFacts> = (facts) => {
  if (!usesCookies(facts)) return null
  if (facts.config.JWT_COOKIE_SECURE) return ok('cookie-secure', 'Cookies are sent over HTTPS only.')
  return createFinding('cookie-secure', facts.isProduction ? 'error' : 'warning', {
    title: 'JWT_COOKIE_SECURE is off: browsers send the tokens over plain HTTP too.',
    detail: 'Anybody on the network can read them.',
    fix: 'Remove JWT_COOKIE_SECURE=false. Chromium and Firefox accept Secure cookies on http://localhost.',
  })
}

const checkHttpOnly: Check<ConfigurationFacts> = (facts) => {
  if (!usesCookies(facts)) return null
  if (facts.config.JWT_COOKIE_HTTP_ONLY)
    return ok('cookie-http-only', 'Scripts cannot read the token cookies.')
  return createFinding('cookie-http-only', 'error', {
    title: 'JWT_COOKIE_HTTP_ONLY is off: every script of a page can read the tokens.',
    detail: 'One injected script is enough to take over a session.',
    fix: 'Remove JWT_COOKIE_HTTP_ONLY=false. Scripts need only the CSRF cookies, which are readable.',
  })
}

const checkSameSite: Check<ConfigurationFacts> = (facts) => {
  const { JWT_COOKIE_SAMESITE: sameSite, JWT_CSRF_ORIGINS: origins } = facts.config
  if (!usesCookies(facts)) return null
  if (sameSite !== 'none') return ok('cookie-samesite', `Cookies are SameSite=${sameSite}.`)
  if (!facts.config.JWT_COOKIE_CSRF_PROTECT) {
    return createFinding('cookie-samesite', 'error', {
      title: 'Cookies are SameSite=None and CSRF protection is off, so every site can act for a user.',
      fix: 'Remove JWT_COOKIE_CSRF_PROTECT=false, or set JWT_COOKIE_SAMESITE=lax.',
    })
  }
  return createFinding('cookie-samesite', origins === null ? 'warning' : 'note', {
    title: 'Cookies are SameSite=None: requests of other sites carry the tokens.',
    detail:
      'Only the CSRF value, and JWT_CSRF_ORIGINS if it is set, distinguish them from requests of your pages.',
    fix:
      origins === null
        ? 'Set JWT_CSRF_ORIGINS to the origins of your pages, or JWT_COOKIE_SAMESITE=lax.'
        : 'Set JWT_COOKIE_SAMESITE=lax if all your pages are on one site.',
  })
}

const checkDomain: Check<ConfigurationFacts> = (facts) => {
  const { JWT_COOKIE_DOMAIN: domain } = facts.config
  if (!usesCookies(facts)) return null
  if (domain === null) return ok('cookie-domain', 'Cookies belong to one host.')
  return createFinding('cookie-domain', 'warning', {
    title: `Cookies are sent to every host below ${domain.replace(/^\./, '')}.`,
    detail: 'A forgotten subdomain can read the tokens, and can plant cookies of its own.',
    fix: 'Remove JWT_COOKIE_DOMAIN and use __Host- names, unless several hosts need the cookies.',
  })
}

const checkPath: Check<ConfigurationFacts> = (facts) => {
  if (!facts.config.hasLocation('cookies', 'refresh')) return null
  if (facts.config.JWT_REFRESH_COOKIE_PATH !== '/') {
    return ok('cookie-path', `The refresh cookie is sent to ${facts.config.JWT_REFRESH_COOKIE_PATH} only.`)
  }
  return createFinding('cookie-path', 'note', {
    title: 'The refresh cookie is sent with every request, not only with those that refresh.',
    detail: 'Every server that logs its headers logs the refresh token.',
    fix: 'Set JWT_REFRESH_COOKIE_PATH to the path of the routes that read it, for example /auth.',
  })
}

const DEFAULT_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE']

const checkCsrf: Check<ConfigurationFacts> = (facts) => {
  const { JWT_COOKIE_CSRF_PROTECT: isProtected, JWT_CSRF_METHODS: methods } = facts.config
  if (!usesCookies(facts)) return null
  if (!isProtected) {
    return createFinding('csrf', 'error', {
      title: 'JWT_COOKIE_CSRF_PROTECT is off, and tokens are read from cookies.',
      detail: 'A page of another site can send requests in the name of a user who visits it.',
      fix: 'Remove JWT_COOKIE_CSRF_PROTECT=false.',
    })
  }
  const checked = new Set([methods].flat().map((method) => method.toUpperCase()))
  const open = DEFAULT_METHODS.filter((method) => !checked.has(method))
  if (open.length === 0) return ok('csrf', 'Requests with cookies need their CSRF value.')
  return createFinding('csrf', 'error', {
    title: `JWT_CSRF_METHODS leaves out ${open.join(', ')}: these requests need no CSRF value.`,
    fix: `Set JWT_CSRF_METHODS=${[...checked, ...open].join(',')}, or remove it.`,
  })
}

/** The checks of where tokens are read from, and of the cookies that carry them. */
export const COOKIE_CHECKS: readonly Check<ConfigurationFacts>[] = [
  checkQuery,
  checkSecure,
  checkHttpOnly,
  checkSameSite,
  checkDomain,
  checkPath,
  checkCsrf,
]
