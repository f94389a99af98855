import type { TokenConfig } from '../manager/config.js'

/** A security scheme object of OpenAPI 3, of the two kinds that tokens need. */
export type SecurityScheme =
  | { readonly type: 'http'; readonly scheme: string; readonly bearerFormat: 'JWT' }
  | { readonly type: 'apiKey'; readonly in: 'header' | 'cookie' | 'query'; readonly name: string }

/** The OpenAPI security schemes of a configuration, for `components.securitySchemes`; a JSON body has none. */
export function securitySchemes(config: TokenConfig): Record<string, SecurityScheme> {
  return {
    ...(config.hasLocation('headers', 'access') && { bearerAuth: headerScheme(config) }),
    ...(config.hasLocation('cookies', 'access') && {
      cookieAuth: { type: 'apiKey', in: 'cookie', name: config.JWT_ACCESS_COOKIE_NAME },
      ...(config.JWT_COOKIE_CSRF_PROTECT && {
        csrfToken: { type: 'apiKey', in: 'header', name: config.JWT_ACCESS_CSRF_HEADER_NAME },
      }),
    }),
    ...(config.hasLocation('query', 'access') && {
      queryAuth: { type: 'apiKey', in: 'query', name: config.JWT_QUERY_STRING_NAME },
    }),
  }
}

/** The alternatives a guarded route accepts, for `security`; a `method` that needs one brings the CSRF value in. */
export function securityRequirements(config: TokenConfig, method = 'GET'): Record<string, string[]>[] {
  const schemes = securitySchemes(config)
  const needsCsrf = [config.JWT_CSRF_METHODS]
    .flat()
    .some((name) => name.toUpperCase() === method.toUpperCase())
  return Object.keys(schemes)
    .filter((name) => name !== 'csrfToken')
    .map((name) =>
      name === 'cookieAuth' && 'csrfToken' in schemes && needsCsrf
        ? { [name]: [], csrfToken: [] }
        : { [name]: [] },
    )
}

function headerScheme(config: TokenConfig): SecurityScheme {
  const { JWT_HEADER_NAME: name, JWT_HEADER_TYPE: scheme } = config
  return name.toLowerCase() === 'authorization' && scheme !== ''
    ? { type: 'http', scheme: scheme.toLowerCase(), bearerFormat: 'JWT' }
    : { type: 'apiKey', in: 'header', name }
}
